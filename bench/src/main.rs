//! `weir-bench`: measures Weir and its peers side by side and prints a page of Markdown.
//!
//! Ratios within one run are what to trust: a machine drifts by more than many a difference from hour to
//! hour. So all are measured in turns, each time in a fresh process, and nothing is compared with a figure
//! of another day. The page goes to standard output, the progress to standard error.

mod allocations;
mod flood;
mod machine;
mod measure;
mod name;
mod outage;
mod page;
mod random;
mod results;
mod run;
mod scenario;
mod shared;
mod subject;
mod targets;

use std::io::Write as _;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};

use measure::Job;
use run::Plan;
use scenario::{Keys, Scenario};
use subject::Kind;

/// Measures Weir and its peers side by side and prints a page of Markdown.
#[derive(Debug, Parser)]
#[command(name = "weir-bench", version)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Fewer repeats, and shorter ones: to see that it runs, not to quote
    #[arg(long)]
    quick: bool,
    /// Only these subjects; ratios need `weir-store`
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Only these numbers of keys
    #[arg(long, value_name = "KEYS", value_enum, value_delimiter = ',')]
    keys: Vec<Keys>,
    /// How often everything is measured [default: 5, or 2 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    repeats: Option<u32>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// An attack on the memory store, told apart
    Flood,
    /// An outage of the store: a picture as SVG, and its figures on standard error
    Outage,
    /// What the guard of a store on a redis-server costs while the server is well
    Guard,
    /// Counting together on a redis-server
    Redis,
    /// One measurement, in a process of its own; prints a line of JSON
    #[command(hide = true)]
    One {
        #[arg(long, value_enum)]
        subject: Kind,
        #[arg(long, value_enum)]
        scenario: Scenario,
        #[arg(long)]
        threads: usize,
        #[arg(long)]
        millis: u64,
    },
}

fn main() -> Result<()> {
    let args = Args::parse();
    let text = match args.command {
        Some(Command::One { subject, scenario, threads, millis }) => {
            serde_json::to_string(&measure::one(Job { subject, scenario, threads, millis })?)?
        }
        Some(Command::Flood) => flood::flood()?,
        Some(Command::Outage) => outage::outage()?,
        Some(Command::Guard) => shared::guard(args.repeats)?,
        Some(Command::Redis) => shared::shared(args.repeats.unwrap_or(3))?,
        None => {
            let plan = args.plan();
            page::page(&plan, &run::run(&plan)?) + "\n" + &flood::flood()?
        }
    };
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}

impl Args {
    fn plan(&self) -> Plan {
        let (repeats, millis) = if self.quick { (2, 300) } else { (5, 1_000) };
        let is_asked = |scenario: &Scenario| self.keys.is_empty() || self.keys.contains(&scenario.group());
        let is_measured = |subject: &Kind| self.only.is_empty() || self.only.contains(subject);
        Plan {
            subjects: Kind::value_variants().iter().copied().filter(is_measured).collect(),
            scenarios: Scenario::value_variants().iter().copied().filter(is_asked).collect(),
            repeats: self.repeats.unwrap_or(repeats),
            millis,
        }
    }
}
