//! What Weir set out to reach, and whether this run reached it.

use crate::page::{number, table};
use crate::results::{Results, Spread};
use crate::run::{THREADS, threads_text};
use crate::scenario::Scenario;
use crate::subject::Kind;

/// How many times as fast as the fastest peer the store step is to be with one thread.
const AT_100K: f64 = 1.7;
const AT_10M: f64 = 2.0;

/// Not slower, that is.
const AT_ONE_KEY: f64 = 1.0;

/// Resident, each.
const BYTES_A_KEY: f64 = 64.0;

/// The section on targets, one line for each.
pub(crate) fn section(results: &Results) -> String {
    let mut lines = vec![
        faster(results, Scenario::HundredThousand, 1, AT_100K),
        faster(results, Scenario::TenMillion, 1, AT_10M),
    ];
    for scenario in [Scenario::HotDenied, Scenario::HotAdmitted] {
        lines.extend(THREADS.map(|threads| faster(results, scenario, threads, AT_ONE_KEY)));
    }
    lines.extend(Kind::CHECKS.map(|check| without_allocations(results, check)));
    lines.push(small(results));
    let head = ["target", "measured", ""].map(str::to_owned);
    format!("## Targets\n\n{}", table(&head, &lines))
}

/// The store step against the fastest peer of this run.
fn faster(results: &Results, scenario: Scenario, threads: usize, at_least: f64) -> Vec<String> {
    let target = format!(
        "store step at least {at_least:.1} × as fast as the fastest peer: {}, {}",
        scenario.title(),
        threads_text(threads)
    );
    let fastest = results.fastest_peer(scenario, threads);
    let ratio = |peer| Some((peer, results.ratio(peer, Kind::WeirStore, scenario, threads)?));
    let measured = fastest.and_then(ratio);
    let text = |(peer, ratio): (Kind, f64)| (format!("{ratio:.2} × ({})", peer.label()), ratio >= at_least);
    line(target, measured.map(text))
}

/// None at all, in no round and under no load.
fn without_allocations(results: &Results, check: Kind) -> Vec<String> {
    let loads = [Scenario::HotDenied, Scenario::HotAdmitted, Scenario::HundredThousand, Scenario::TenMillion];
    let figures = loads.into_iter().flat_map(|scenario| results.figures(check, scenario));
    let most = Spread::of(figures.map(|figures| figures.allocations)).map(|spread| spread.max);
    // Rounding must not make a few into none.
    let text = |most: f64| (if most == 0.0 { "0".to_owned() } else { format!("{most:e}") }, most == 0.0);
    line(format!("no allocations in {}", check.label()), most.map(text))
}

fn small(results: &Results) -> Vec<String> {
    let figures = results.figures(Kind::WeirStore, Scenario::TenMillion);
    let bytes = Spread::of(figures.filter_map(|figures| figures.bytes_a_key)).map(|spread| spread.median);
    let text = |bytes: f64| (format!("{} bytes", number(bytes)), bytes <= BYTES_A_KEY);
    let target = format!("at most {BYTES_A_KEY:.0} resident bytes a key: {}", Scenario::TenMillion.title());
    line(target, bytes.map(text))
}

fn line(target: String, measured: Option<(String, bool)>) -> Vec<String> {
    let (text, verdict) = match measured {
        Some((text, true)) => (text, "met"),
        Some((text, false)) => (text, "**missed**"),
        None => ("–".to_owned(), "not measured"),
    };
    vec![target, text, verdict.to_owned()]
}
