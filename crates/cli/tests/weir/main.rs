//! The `weir` binary, run as a user runs it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it left out"
)]

mod documents;
mod late;
mod node;
mod reload;
mod resp;
mod serve;
mod shared;
mod validate;

use std::path::PathBuf;
use std::process::{Command, Output};

const WEIR: &str = env!("CARGO_BIN_EXE_weir");
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/credit-bureau/policy.yaml");

/// The project's folder.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `weir` without the settings that the caller's environment may hold.
fn weir(args: &[&str]) -> Command {
    let mut command = Command::new(WEIR);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WEIR_")) {
        command.env_remove(name);
    }
    command.args(args);
    command
}

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = weir(args).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// A file that lives as long as the test's process folder.
fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}
