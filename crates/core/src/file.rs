//! The policy file: YAML in, a [`PolicySet`] out, or every mistake at once with its place and a hint.
//!
//! ```text
//! text ── tree ──▶ spanned nodes ── shape ──▶ the right fields and types ── read ──▶ policies
//!                                     │  table of fields (fields.rs)          │  checks over the whole
//!                                     └─▶ JSON Schema (schema.rs)             └─▶ PolicySet, warnings
//! ```
//!
//! Syntax errors end the reading at the first; all others are reported in one run.

mod checks;
mod conditions;
mod fields;
mod policies;
mod postures;
mod quotas;
mod read;
mod replaces;
mod report;
mod scalar;
mod schema;
mod shape;
mod tree;
mod warnings;

pub use report::{Problem, Report, Severity};
pub use schema::json_schema;

use std::sync::Arc;

use crate::key::KeySecret;
use crate::policy::PolicySet;
use crate::precision::Precision;

/// A policy file is at most this many bytes.
pub const SIZE_MAX: usize = 1 << 20;

/// What a policy file's meaning depends on beside its text.
#[derive(Clone, Debug)]
pub struct Options {
    /// What keys are hashed with.
    pub secret: KeySecret,
    /// The largest limit of a `sliding_log`, in units: a log takes sixteen bytes for each that is used.
    pub log_limit_max: u64,
    /// The arithmetic of the store that counts.
    pub precision: Precision,
}

impl Options {
    /// The largest limit of a `sliding_log` unless it is raised.
    pub const LOG_LIMIT_MAX: u64 = 10_000;

    /// With everything else as it is unless said otherwise.
    pub const fn new(secret: KeySecret) -> Self {
        Self { secret, log_limit_max: Self::LOG_LIMIT_MAX, precision: Precision::Integer }
    }
}

/// A policy file that was accepted.
#[derive(Debug)]
pub struct Loaded {
    /// The policies, ready for a [`crate::Limiter`].
    pub policies: Arc<PolicySet>,
    /// What is allowed but looks like a mistake.
    pub warnings: Report,
}

/// Reads a policy file. `name` is how messages call it.
///
/// # Errors
///
/// The file has mistakes: all of them, or the first if it is not even YAML.
pub fn load(name: &str, bytes: &[u8], options: &Options) -> Result<Loaded, Report> {
    let text = report::decode(name, bytes)?;
    let tree = tree::parse(text).map_err(|problem| Report::new(name, text, vec![problem]))?;
    let mut problems = Vec::new();
    shape::check(&tree, &fields::FILE, &mut problems);
    let (draft, warnings) = read::policy_file(&tree, options, &mut problems);
    if problems.is_empty() {
        let warnings = Report::new(name, text, warnings);
        Ok(Loaded { policies: Arc::new(PolicySet::new(draft, &options.secret, options.precision)), warnings })
    } else {
        Err(Report::new(name, text, problems))
    }
}
