//! A running node, whatever doors it has: settings, policy sources, telemetry, listeners and the admin port.
//!
//! Protocols of decision live in `weir-server`; this crate knows none of them.

pub mod admin;
pub mod logs;

mod listener;
mod node;
mod reload;
mod settings;
mod shutdown;
mod source;
mod telemetry;

pub use listener::Listener;
pub use node::Node;
pub use reload::Reloader;
pub use settings::{Address, LogFormat, RawSettings, Settings, SettingsError, StoreSetting};
pub use shutdown::Shutdown;
pub use source::{Content, LoadError, PolicySource, log_warnings};
pub use telemetry::Telemetry;
