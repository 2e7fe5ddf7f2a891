//! Counting together on a server: Weir beside a lean script called one by one and in pipelines, on one
//! redis-server and the rest of the machine.
//!
//! Every subject decides the same: half of all requests ask for one unit of a large bucket and get it, half ask
//! for all of it and do not.

mod guard;
#[cfg(feature = "limitador-redis")]
mod limitador;
mod load;
mod server;
mod subject;

use anyhow::Result;

pub(crate) use guard::guard;
use load::{Keys, Load, Measured, measure};
use subject::{GUARDED, OneByOne, Pipelined, Subject, Weir, WeirAsking};
use weir_servers::{Kind, Server};

const SECONDS: u64 = 2;

/// Measures all of it and tells of it in Markdown.
pub(crate) fn shared(repeats: u32) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut page = String::from("## Several nodes on one server\n");
    for (keys, sliding) in [(Keys::One, false), (Keys::Zipf, false), (Keys::Even, false), (Keys::Zipf, true)]
    {
        let load = Load::of(keys);
        let mut rows: Vec<(&str, Vec<Measured>)> = Vec::new();
        for round in 0..repeats {
            eprintln!("{}, round {}", keys.title(), round + 1);
            let measured = if sliding {
                runtime.block_on(sliding_windows(&load))?
            } else {
                runtime.block_on(all_subjects(&load))?
            };
            for (name, measured) in measured {
                match rows.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, all)) => all.push(measured),
                    None => rows.push((name, vec![measured])),
                }
            }
        }
        let how = if sliding { ", sliding windows" } else { "" };
        page += &section(&format!("{}{how}", keys.title()), &rows);
    }
    Ok(page)
}

/// Each on a server of its own.
async fn all_subjects(load: &Load) -> Result<Vec<(&'static str, Measured)>> {
    let full = at::<Weir<false>>(load, None).await?;
    // What the machine lets the simplest thing do, as far below its limits.
    let lean = at::<OneByOne>(load, None).await?;
    let half = |of: &Measured| Some(of.per_second / 2.0);
    Ok(vec![
        ("weir, full load", full),
        ("weir, half load", at::<Weir<false>>(load, half(&full)).await?),
        ("weir, all asked there", at::<WeirAsking<GUARDED>>(load, None).await?),
        ("one by one", lean),
        ("one by one, half load", at::<OneByOne>(load, half(&lean)).await?),
        ("pipelines of 16", at::<Pipelined>(load, None).await?),
        #[cfg(feature = "limitador-redis")]
        ("limitador", at::<limitador::LimitadorRedis>(load, None).await?),
    ])
}

/// The worked example of a limiter for 200 thousand requests a second.
async fn sliding_windows(load: &Load) -> Result<Vec<(&'static str, Measured)>> {
    let full = at::<Weir<true>>(load, None).await?;
    let half = at::<Weir<true>>(load, Some(full.per_second / 2.0)).await?;
    Ok(vec![("weir, full load", full), ("weir, half load", half)])
}

async fn at<S: Subject>(load: &Load, rate: Option<f64>) -> Result<Measured> {
    measure::<S>(&Server::start(Kind::Redis, &[]), load, SECONDS, rate).await
}

fn section(title: &str, rows: &[(&str, Vec<Measured>)]) -> String {
    let median = |all: &[Measured], figure: fn(&Measured) -> f64| {
        let mut figures: Vec<f64> = all.iter().map(figure).collect();
        figures.sort_unstable_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied().unwrap_or_default()
    };
    let rate = |all: &[Measured]| median(all, |measured| measured.per_second);
    let weir = rows.first().map_or(0.0, |(_, all)| rate(all));
    let line = |(name, all): &(&str, Vec<Measured>)| {
        format!(
            "| {name} | {:.0} | {:.2} | {:.0} | {:.0} | {:.3} | {:.2} | {:.0} |\n",
            rate(all) / 1e3,
            weir / rate(all),
            median(all, |measured| measured.p50_micros),
            median(all, |measured| measured.p99_micros),
            median(all, |measured| measured.calls),
            median(all, |measured| measured.server_micros),
            median(all, |measured| measured.bytes),
        )
    };
    let lines: String = rows.iter().map(line).collect();
    format!(
        "\n### {title}\n\n| subject | thousand decisions a second | ÷ into weir's | p50 µs | p99 µs | calls a decision | \
         server µs a decision | bytes a decision |\n|---|---|---|---|---|---|---|---|\n{lines}"
    )
}
