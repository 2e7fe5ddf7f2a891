//! A redis-server for one measurement, and what it says of itself.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

pub(crate) struct Server {
    child: Child,
    port: u16,
}

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

impl Server {
    pub(crate) fn start() -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--dir", "/tmp"])
            .stdout(Stdio::piped())
            .spawn()
            .context("redis-server is not installed")?;
        let output = child.stdout.take().context("its output")?;
        let is_ready =
            BufReader::new(output).lines().map_while(Result::ok).any(|line| line.contains("Ready to"));
        ensure!(is_ready, "redis-server did not start");
        Ok(Self { child, port })
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) async fn work(&self) -> Result<Work> {
        let mut connection = redis::Client::open(self.url())?.get_multiplexed_async_connection().await?;
        let info: String = redis::cmd("INFO").arg("everything").query_async(&mut connection).await?;
        let number = |name: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|value| value.trim().parse::<f64>().ok()).unwrap_or_default()
        };
        let calls = |command: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
            line.and_then(|rest| rest.split(',').next()?.parse::<f64>().ok()).unwrap_or_default()
        };
        Ok(Work {
            calls: calls("evalsha") + calls("eval"),
            seconds: number("used_cpu_user") + number("used_cpu_sys"),
            bytes: number("total_net_input_bytes") + number("total_net_output_bytes"),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It holds nothing that anyone wants.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
