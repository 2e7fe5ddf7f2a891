//! `weir-bench outage`: what policies of each posture answer, and how soon, while the store that they count on is
//! stopped for ten seconds and goes on again.
//!
//! A real redis-server, nodes for each posture, and requests that come when they come: each is asked at its own
//! instant, whether those before were answered or not, and its wait counts from that instant. So whatever keeps
//! requests waiting is seen by all that come meanwhile. The picture goes to standard output, the figures to
//! standard error.

mod answers;
mod plot;
mod run;
mod table;

use std::time::Duration;

use anyhow::Result;

/// Requests a second to the nodes of a posture: twice what its policy admits.
const OFFERED: u32 = 1_000;
/// The limit of each policy, a second, and its burst.
const LIMIT: u32 = 500;
/// Of each posture, asked in turn. They count each other, so the share of each is half of the limit.
const NODES: u32 = 2;

/// Until the bursts are used up: not shown.
const WARM_UP: Duration = Duration::from_secs(2);
/// The store is stopped so long after the beginning of the picture, and goes on again after so much more.
const STOP: Duration = Duration::from_secs(5);
const GO_ON: Duration = Duration::from_secs(15);
/// The picture's end.
const END: Duration = Duration::from_secs(20);

/// Makes the run, tells its figures to standard error, and returns the picture.
pub(crate) fn outage() -> Result<String> {
    let run = run::run()?;
    eprintln!("{}", table::table(&run));
    Ok(plot::plot(&run)?)
}
