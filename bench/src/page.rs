//! The page of Markdown: where it was measured, what, the figures, and what they say about the targets.

use crate::machine;
use crate::measure::Figures;
use crate::results::{Results, Row, Spread};
use crate::run::{Plan, THREADS, threads_text};
use crate::scenario::{Bucket, Scenario};
use crate::subject::{FLOOR_BYTES_A_KEY, Kind};
use crate::targets;

/// The whole page.
pub(crate) fn page(plan: &Plan, results: &Results) -> String {
    let mut sections = vec![heading(plan), subjects()];
    for scenario in &plan.scenarios {
        sections.push(format!("## {}\n\n{}", capitalised(scenario.title()), bucket_text(scenario.bucket())));
        sections.extend(THREADS.map(|threads| times(plan, results, *scenario, threads)));
    }
    sections.push(memory(plan, results));
    sections.push(targets::section(results));
    sections.extend(failures(results));
    sections.join("\n\n")
}

fn heading(plan: &Plan) -> String {
    let peers = Kind::PEERS.map(|peer| format!("{0} {1}", peer.label(), machine::version(&peer.label())));
    format!(
        "# A decision of Weir, and of its peers\n\n\
         Measured on: {}.\n\
         Peers: {}. Weir {}.\n\n\
         Medians of {} rounds of {} ms each (lowest to highest), every measurement in a fresh process, the \
         subjects in turns. Ratios are medians of the ratios of each round: how many times as long as that \
         part of Weir the subject of the row takes; above 1, Weir is faster. Trust ratios of one run, and no \
         absolute figure of another day.\n\n\
         Keys are names of 16 bytes, drawn evenly and made anew for each decision; no subject is told in \
         advance how many will come. Before it is measured, each decides about every key once. In each \
         measurement all decisions were alike, admitted or refused as its title says.",
        machine::description(),
        peers.join(", "),
        machine::version("weir-core"),
        plan.repeats,
        plan.millis,
    )
}

fn subjects() -> String {
    format!(
        "- `floor`: two dependent reads of random cache lines in a table of {FLOOR_BYTES_A_KEY} bytes a key; \
         on one key, the cost of making a name.\n\
         - `weir store`: the key's hash, one operation, the memory store. What the peers do as well.\n\
         - `weir check N`: a whole check with N matching policies, keyed by user, tenant (100 users) and \
         device (4 users) in turn.\n\
         - `governor`: keyed by `String` in a `DashMap`, on its default clock.\n\
         - `throttlecrab`: its library with the periodic store. The library leaves sharing to its user: two \
         threads share it behind a standard mutex, one needs none.\n\
         - `limitador`: its library in memory, one limit with one variable. It counts fixed windows, where \
         all others keep a bucket. At most {} keys, since each takes about a kilobyte.\n\n\
         All allocate from the system's allocator, with one thread-local counter in front of it.",
        Kind::Limitador.keys_max(),
    )
}

fn bucket_text(Bucket { limit, seconds, burst }: Bucket) -> String {
    format!("Each key has a bucket of {burst}, refilled by {limit} in {seconds} s.")
}

/// The table of one load.
fn times(plan: &Plan, results: &Results, scenario: Scenario, threads: usize) -> String {
    let ratio_heads = Kind::WEIR.map(|weir| format!("÷ {}", weir.label()));
    let first = [threads_text(threads), "ns a decision".to_owned(), "million/s".to_owned()];
    let head: Vec<String> = first.into_iter().chain(ratio_heads).collect();
    let line = |row: &Row| {
        let ratio = |weir| results.ratio(row.subject, weir, scenario, threads);
        let ratios = Kind::WEIR.map(|weir| ratio(weir).map_or_else(none, |ratio| format!("{ratio:.2}")));
        let cells = [
            row.subject.label(),
            spread_text(row.spread(|figures| figures.nanos)),
            row.spread(|figures| figures.millions)
                .map_or_else(none, |spread| format!("{:.2}", spread.median)),
        ];
        cells.into_iter().chain(ratios).collect::<Vec<String>>()
    };
    let rows = plan.subjects.iter().filter_map(|subject| results.row(*subject, scenario, threads));
    table(&head, &rows.map(line).collect::<Vec<_>>())
}

/// The table of memory and allocations.
fn memory(plan: &Plan, results: &Results) -> String {
    let many: Vec<Scenario> = plan.scenarios.iter().copied().filter(|load| load.keys() > 1).collect();
    let bytes_heads = many.iter().map(|load| format!("bytes a key, {}", load.title()));
    let allocations_heads = plan.scenarios.iter().map(|load| format!("allocations, {}", load.title()));
    let head: Vec<String> =
        std::iter::once("subject".to_owned()).chain(bytes_heads).chain(allocations_heads).collect();
    let line = |subject: &Kind| {
        let bytes = many.iter().map(|load| {
            let figures = results.figures(*subject, *load).filter_map(|figures| figures.bytes_a_key);
            Spread::of(figures).map_or_else(none, |spread| number(spread.median))
        });
        let allocations = plan.scenarios.iter().map(|load| {
            let figures = results.figures(*subject, *load).map(|figures: &Figures| figures.allocations);
            Spread::of(figures).map_or_else(none, |spread| format!("{:.2}", spread.median))
        });
        std::iter::once(subject.label()).chain(bytes).chain(allocations).collect::<Vec<String>>()
    };
    let lines: Vec<Vec<String>> = plan.subjects.iter().map(line).collect();
    format!(
        "## Memory\n\nResident memory that came with the keys, for each user's key (a check of several \
         policies holds several counters for it), and allocations for each decision about a known key.\n\n{}",
        table(&head, &lines)
    )
}

fn failures(results: &Results) -> Option<String> {
    let lines: Vec<String> = results.failures.iter().map(|failure| format!("- {failure}")).collect();
    (!lines.is_empty()).then(|| format!("## Not measured\n\n{}", lines.join("\n")))
}

/// A table of Markdown.
pub(crate) fn table(head: &[String], lines: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let rule = format!("|{}", "---|".repeat(head.len()));
    let lines = lines.iter().map(|cells| line(cells));
    [line(head), rule].into_iter().chain(lines).collect::<Vec<String>>().join("\n")
}

fn spread_text(spread: Option<Spread>) -> String {
    let text = |Spread { median, min, max }| format!("{} ({}–{})", number(median), number(min), number(max));
    spread.map_or_else(none, text)
}

/// With as many digits as mean something.
pub(crate) fn number(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn none() -> String {
    "–".to_owned()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
