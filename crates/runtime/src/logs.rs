//! Structured logs, on standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use crate::settings::LogFormat;

/// Starts logging for the whole process. Call it once.
///
/// # Errors
///
/// The directives cannot be read.
pub fn start(format: LogFormat, directives: &str) -> Result<(), ParseError> {
    // What the file watcher and the store's client tell of themselves is for those who look for it.
    let filter = EnvFilter::builder().parse(format!("notify=off,redis=off,{directives}"))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let text = match format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        LogFormat::Auto => std::io::stderr().is_terminal(),
    };
    // A second start, as tests may make, changes nothing.
    let _ = if text {
        subscriber.with_ansi(std::io::stderr().is_terminal()).try_init().is_ok()
    } else {
        subscriber.json().flatten_event(true).try_init().is_ok()
    };
    Ok(())
}
