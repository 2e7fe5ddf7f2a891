//! Counting together on a server: Weir beside a lean script called one by one and in pipelines, on one
//! redis-server and the rest of the machine.
//!
//! Every subject decides the same: half of all requests ask for one unit of a large bucket and get it, half ask
//! for all of it and do not.

mod load;
mod server;
mod subject;

use anyhow::Result;

use load::{Keys, Load, Measured, measure};
use server::Server;
use subject::{OneByOne, Pipelined, Weir};

const SECONDS: u64 = 2;

/// Measures all of it and tells of it in Markdown.
pub(crate) fn shared(repeats: u32) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut page = String::from("## Several nodes on one server\n");
    for keys in [Keys::One, Keys::Zipf, Keys::Even] {
        let load = Load::of(keys);
        let mut rows: Vec<(&str, Vec<Measured>)> = Vec::new();
        for round in 0..repeats {
            eprintln!("{}, round {}", keys.title(), round + 1);
            let measured = runtime.block_on(async {
                let full = measure::<Weir>(&Server::start()?, &load, SECONDS, None).await?;
                let half = Some(full.per_second / 2.0);
                anyhow::Ok([
                    ("weir, full load", full),
                    ("weir, half load", measure::<Weir>(&Server::start()?, &load, SECONDS, half).await?),
                    ("one by one", measure::<OneByOne>(&Server::start()?, &load, SECONDS, None).await?),
                    ("pipelines of 16", measure::<Pipelined>(&Server::start()?, &load, SECONDS, None).await?),
                ])
            })?;
            for (name, measured) in measured {
                match rows.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, all)) => all.push(measured),
                    None => rows.push((name, vec![measured])),
                }
            }
        }
        page += &section(keys, &rows);
    }
    Ok(page)
}

fn section(keys: Keys, rows: &[(&str, Vec<Measured>)]) -> String {
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
        "\n### {}\n\n| subject | thousand decisions a second | ÷ into weir's | p50 µs | p99 µs | calls a decision | \
         server µs a decision | bytes a decision |\n|---|---|---|---|---|---|---|---|\n{lines}",
        keys.title()
    )
}
