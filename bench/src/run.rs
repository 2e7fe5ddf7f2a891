//! The whole run: every measurement in a process of its own, the subjects in turns.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::measure::{Figures, Job};
use crate::results::{Results, Row};
use crate::scenario::{Scenario, word};
use crate::subject::Kind;

/// Alone, and with one to share with.
pub(crate) const THREADS: [usize; 2] = [1, 2];

/// `1 thread`, `2 threads`.
pub(crate) fn threads_text(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// What is to be measured, and how long.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) subjects: Vec<Kind>,
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) repeats: u32,
    pub(crate) millis: u64,
}

impl Plan {
    fn subjects_of(&self, scenario: Scenario) -> impl Iterator<Item = Kind> {
        self.subjects.iter().copied().filter(move |subject| scenario.keys() <= subject.keys_max())
    }
}

/// Measures everything. A measurement that fails is told and left out: the others took their time.
pub(crate) fn run(plan: &Plan) -> Result<Results> {
    let loads: Vec<(Scenario, usize)> =
        plan.scenarios.iter().flat_map(|scenario| THREADS.map(|threads| (*scenario, threads))).collect();
    let mut results = Results::default();
    for (number, (scenario, threads)) in (1..).zip(&loads) {
        let load = format!("{}, {}", scenario.title(), threads_text(*threads));
        let title = format!("[{number}/{}] {load}", loads.len());
        results.add(plan, *scenario, *threads, &title);
    }
    ensure!(results.rows.iter().any(|row| row.rounds.iter().any(Option::is_some)), "nothing was measured");
    Ok(results)
}

impl Results {
    /// One load: in each round every subject once, so that what drifts over time hits all alike.
    fn add(&mut self, plan: &Plan, scenario: Scenario, threads: usize, title: &str) {
        let row = |subject| Row { subject, scenario, threads, rounds: Vec::new() };
        let mut rows: Vec<Row> = plan.subjects_of(scenario).map(row).collect();
        for round in 1..=plan.repeats {
            for row in &mut rows {
                let what = format!("{title}, round {round}, {}", row.subject.label());
                let figures = child(Job { subject: row.subject, scenario, threads, millis: plan.millis });
                match &figures {
                    Ok(figures) => eprintln!("{what}: {:.1} ns", figures.nanos),
                    Err(error) => {
                        let failure = format!("{what}: {error:#}");
                        eprintln!("{failure}");
                        self.failures.push(failure);
                    }
                }
                row.rounds.push(figures.ok());
            }
        }
        self.rows.extend(rows);
    }
}

/// Makes one measurement in a process of its own.
fn child(job: Job) -> Result<Figures> {
    let this = std::env::current_exe().context("cannot find this program")?;
    let output = Command::new(this)
        .arg("one")
        .arg("--subject")
        .arg(word(&job.subject))
        .arg("--scenario")
        .arg(word(&job.scenario))
        .arg("--threads")
        .arg(job.threads.to_string())
        .arg("--millis")
        .arg(job.millis.to_string())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start a measurement")?;
    ensure!(output.status.success(), "the measurement ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("the measurement's answer is no JSON")
}
