//! The figures of a run, in Markdown.

use std::time::Duration;

use weir_store::RedisSettings;

use super::answers::{Answered, Course, Figures};
use super::run::Run;
use super::{END, LIMIT, NODES, OFFERED};

/// What waited longer waited for the store that was away; all else is answered far sooner.
const LONG: Duration = Duration::from_millis(9);
/// Every answer is to be there by then, since the deadline is 10 ms.
const TOO_LONG: Duration = Duration::from_millis(15);

pub(super) fn table(run: &Run) -> String {
    let [p50, p99, max] = run.late.map(millis);
    let phases: String = run.courses.iter().map(|course| phases(course, run)).collect();
    let turns: String = run.courses.iter().map(|course| turns(course, run)).collect();
    format!(
        "{OFFERED} requests a second, a limit of {LIMIT} a second, {NODES} nodes of each posture. The store was stopped at {:.3} s and \
         went on at {:.3} s.\n\n\
         | `on_store_failure` | | admitted by the store, a second | admitted, degraded | 429 | 503 | p50 ms | p99 ms | \
         slowest ms |\n|---|---|---|---|---|---|---|---|---|\n{phases}\n\
         | `on_store_failure` | requests that waited over 9 ms | the last of them came after the stop, ms | over 15 ms | \
         counted by the store again after its return, ms | admitted in the second from then |\n\
         |---|---|---|---|---|---|\n{turns}\n\
         Of each wait, so much was the load's own lateness: p50 {p50} ms, p99 {p99} ms, most {max} ms.",
        run.stopped.as_secs_f64(),
        run.went_on.as_secs_f64(),
    )
}

fn phases(course: &Course, run: &Run) -> String {
    let phases = [
        // Who came within a deadline of the stop may have waited for the store that was no more.
        ("before", Duration::ZERO, run.stopped - RedisSettings::DEADLINE),
        ("away", run.stopped, run.went_on),
        ("back", run.went_on, END),
    ];
    let line = |(name, from, to)| {
        let Figures { rates: [admitted, degraded, refused, unavailable], p50, p99, max } =
            course.figures(from, to);
        format!(
            "| `{}` | {name} | {admitted:.0} | {degraded:.0} | {refused:.0} | {unavailable:.0} | {} | {} | {} |\n",
            course.posture,
            millis(p50),
            millis(p99),
            millis(max),
        )
    };
    phases.map(line).concat()
}

/// How it turned to its posture, and back to the store.
fn turns(course: &Course, run: &Run) -> String {
    let away = course.between(run.stopped - RedisSettings::DEADLINE, run.went_on);
    let long: Vec<&Answered> = away.iter().filter(|answered| answered.wait > LONG).collect();
    let last = long.last().map_or("–".into(), |last| millis(last.came.saturating_sub(run.stopped)));
    let too_long = course.answers.iter().filter(|answered| answered.wait > TOO_LONG).count();
    let back = course.between(run.went_on, END).iter().find(|answered| !answered.is_degraded);
    let counting = back.map_or("–".into(), |back| millis(back.came - run.went_on));
    let second = |from| {
        let figures = course.figures(from, from + Duration::from_secs(1));
        let [admitted, degraded, ..] = figures.rates;
        format!("{:.0}", admitted + degraded)
    };
    format!(
        "| `{}` | {} | {last} | {too_long} | {counting} | {} |\n",
        course.posture,
        long.len(),
        back.map_or("–".into(), |back| second(back.came)),
    )
}

fn millis(span: Duration) -> String {
    format!("{:.2}", span.as_secs_f64() * 1e3)
}
