//! `weir`: the command line.
//!
//! Exit status: 0 good, 1 the answer is no (a policy file with mistakes), 2 could not do it.

mod args;
mod serve;
mod validate;

use std::process::ExitCode;

use clap::Parser as _;

/// The answer is no.
const NO: u8 = 1;
/// It could not be done.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let done = match args::Args::parse().command {
        args::Command::Serve(args) => serve::run(*args),
        args::Command::Validate(args) => Ok(validate::run(&args)),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("weir: {error:#}"));
            ExitCode::from(FAILED)
        }
    }
}

/// Writes to standard output. That a reader has gone away is no reason to fail.
fn say(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Writes to standard error.
fn complain(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
