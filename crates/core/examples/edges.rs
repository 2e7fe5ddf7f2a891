//! Draws `docs/algorithms.svg`: what each algorithm admits of the same traffic around a window's edge.
//!
//! ```sh
//! cargo run -p weir-core --example edges > docs/algorithms.svg
//! ```
//!
//! The engine decides; nothing here knows what it should say.
#![allow(clippy::print_stdout, reason = "the picture is what it is for")]

use std::fmt::Write as _;

use weir_core::{Algorithm, Held, KeyBuilder, KeySecret, Op, Quota, Rule, Span, Timestamp};

const LIMIT: u64 = 60;
const SECOND: u64 = 1_000_000_000;
const WINDOW: Span = Span::from_secs(60);
/// The picture begins in a window that nobody has used yet.
const SECONDS: u64 = 180;

/// Requests in each second: a quiet start, a burst at each side of the edge at 60 s, then a steady stream a
/// little above the limit.
const fn offered(second: u64) -> u64 {
    match second {
        50..70 => 6,
        90.. => 2,
        _ => 0,
    }
}

/// How many of them are admitted, second by second.
fn admitted(algorithm: Algorithm) -> Option<Vec<u64>> {
    let quota = Quota::settle(algorithm, LIMIT, WINDOW, None).ok()?;
    let rule = Rule::new(KeyBuilder::new(&KeySecret::new([0; 16])).policy_id(), algorithm, quota);
    let mut held: Option<Held> = None;
    let second = |second: u64| {
        let spread = (0..offered(second)).map(|i| second * SECOND + i * SECOND / offered(second));
        spread
            .filter(|at| {
                let step = rule.decide(Held::as_ref(held.as_ref()), Op::Take(1), Timestamp::from_nanos(*at));
                step.change.apply_to(&mut held);
                step.charged_at.is_some()
            })
            .count() as u64
    };
    Some((0..SECONDS).map(second).collect())
}

const LEFT: u64 = 20;
const BAR: u64 = 4;
const UNIT: u64 = 7;
const PANEL: u64 = 78;
const TOP: u64 = 50;

fn panel(out: &mut String, row: u64, algorithm: Algorithm, admitted: &[u64]) -> std::fmt::Result {
    let base = TOP + row * PANEL + 62;
    let busiest = admitted.windows(60).map(|minute| minute.iter().sum::<u64>()).max().unwrap_or_default();
    writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{}\">{algorithm}: {busiest} in the busiest 60 s</text>",
        base - 49
    )?;
    for (second, admitted) in (0..).zip(admitted) {
        let x = LEFT + second * BAR;
        for (class, count) in [("offered", offered(second)), ("admitted", *admitted)] {
            if count > 0 {
                let (y, height) = (base - count * UNIT, count * UNIT);
                writeln!(
                    out,
                    "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{height}\"/>",
                    BAR - 1
                )?;
            }
        }
    }
    for edge in (0..=SECONDS).step_by(60) {
        let x = LEFT + edge * BAR;
        writeln!(out, "<path d=\"M{x} {base}v-46\"/><text x=\"{x}\" y=\"{}\">{edge} s</text>", base + 11)?;
    }
    writeln!(out, "<path d=\"M{LEFT} {base}h{}\"/>", SECONDS * BAR)
}

pub(crate) fn picture() -> Result<String, std::fmt::Error> {
    let (width, height) = (LEFT * 3 + SECONDS * BAR, TOP + 10 + PANEL * Algorithm::ALL.len() as u64);
    let mut out = String::new();
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>Requests offered and admitted by each algorithm under {LIMIT} a minute</title>\n\
         <style>text{{font:11px sans-serif;fill:#222}}path{{stroke:#888;fill:none}}.offered{{fill:#d8d8d8}}\
         .admitted{{fill:#2a6fb0}}</style>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"16\">{LIMIT} a minute. Grey: requests offered in each second. Blue: admitted.</text>\n\
         <text x=\"{LEFT}\" y=\"31\">A burst of 60 on each side of the edge at 60 s; from 90 s on, two a second.</text>"
    )?;
    for (row, algorithm) in (0..).zip(Algorithm::ALL) {
        panel(&mut out, row, algorithm, &admitted(algorithm).unwrap_or_default())?;
    }
    writeln!(out, "</svg>")?;
    Ok(out)
}

fn main() -> Result<(), std::fmt::Error> {
    print!("{}", picture()?);
    Ok(())
}
