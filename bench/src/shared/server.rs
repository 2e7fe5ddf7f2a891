//! What a server says of its work, and what ours took.

use anyhow::{Context as _, Result};
use weir_servers::Server;

/// What a server did so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    /// Calls of scripts.
    pub(crate) calls: f64,
    /// Seconds of a processor.
    pub(crate) seconds: f64,
    /// Bytes in and out.
    pub(crate) bytes: f64,
}

impl Work {
    pub(crate) async fn of(server: &Server) -> Result<Self> {
        let mut connection = redis::Client::open(server.url())?.get_multiplexed_async_connection().await?;
        let info: String = redis::cmd("INFO").arg("everything").query_async(&mut connection).await?;
        let number = |name: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|value| value.trim().parse::<f64>().ok()).unwrap_or_default()
        };
        let calls = |command: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
            line.and_then(|rest| rest.split(',').next()?.parse::<f64>().ok()).unwrap_or_default()
        };
        Ok(Self {
            calls: calls("evalsha") + calls("eval"),
            seconds: number("used_cpu_user") + number("used_cpu_sys"),
            bytes: number("total_net_input_bytes") + number("total_net_output_bytes"),
        })
    }
}

/// The seconds of a processor that this process took so far, by the scheduler's count of each thread.
pub(crate) fn own_seconds() -> Result<f64> {
    let mut nanos = 0_u64;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        nanos += text.split(' ').next().context("the time of a thread")?.parse::<u64>()?;
    }
    Ok(nanos as f64 / 1e9)
}
