//! Where policies come from.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use weir_core::file::{self, Loaded, Options, Report};

/// The policies that a node runs with where none are named: `examples/credit-bureau`.
const EXAMPLE: &str = include_str!("../../../examples/credit-bureau/policy.yaml");

/// A place that policies are read from.
#[derive(Clone, Debug)]
pub enum PolicySource {
    /// A file.
    File(PathBuf),
    /// The example that comes with Weir.
    Example,
}

/// Why policies could not be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("cannot read {path}: {reason}", path = path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why not.
        reason: std::io::Error,
    },
    /// The file was read and has mistakes.
    #[error("{0}")]
    Broken(Report),
}

impl PolicySource {
    /// What messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Example => "the built-in example".into(),
        }
    }

    /// Reads what is written there.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read(&self) -> Result<Content, LoadError> {
        let bytes = match self {
            Self::File(path) => {
                read(path).map_err(|reason| LoadError::Unreadable { path: path.clone(), reason })?
            }
            Self::Example => EXAMPLE.as_bytes().to_vec(),
        };
        Ok(Content(bytes.into()))
    }

    /// Reads what is written there now; `None` for a pipe, which gives its content once and no second time.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read_again(&self) -> Result<Option<Content>, LoadError> {
        let is_pipe = |path: &PathBuf| path.metadata().is_ok_and(|found| found.file_type().is_fifo());
        if matches!(self, Self::File(path) if is_pipe(path)) { Ok(None) } else { self.read().map(Some) }
    }

    /// What is told of a file that cannot be read in time.
    pub fn takes_too_long(&self) -> LoadError {
        LoadError::Unreadable { path: self.name().into(), reason: std::io::ErrorKind::TimedOut.into() }
    }

    /// Settles what was read.
    ///
    /// # Errors
    ///
    /// It has mistakes.
    pub fn settle(&self, Content(bytes): &Content, options: &Options) -> Result<Loaded, LoadError> {
        file::load(&self.name(), bytes, options).map_err(LoadError::Broken)
    }
}

/// What is written at a source, to be settled, and to be compared with what is written there later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content(Arc<[u8]>);

impl LoadError {
    /// What is wrong, in one line.
    pub fn brief(&self) -> String {
        match self {
            Self::Unreadable { .. } => self.to_string(),
            Self::Broken(report) => report.brief(),
        }
    }
}

/// Logs what is allowed but looks like a mistake.
pub fn log_warnings(loaded: &Loaded, source: &str) {
    for problem in loaded.warnings.problems() {
        let (line, column) = loaded.warnings.place(problem);
        tracing::warn!(source, line, column, hint = problem.hint, "{}", problem.message);
    }
}

/// Reads one byte more than a policy file may have, and no further: the reader of the file refuses it then.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(file::SIZE_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use weir_core::KeySecret;

    use super::*;

    fn error(path: &str) -> String {
        let source = PolicySource::File(path.into());
        let options = Options::new(KeySecret::new([1; 16]));
        source.read().and_then(|content| source.settle(&content, &options)).unwrap_err().to_string()
    }

    #[test]
    fn the_example_loads() {
        let (source, options) = (PolicySource::Example, Options::new(KeySecret::new([1; 16])));
        let loaded = source.settle(&source.read().unwrap(), &options).unwrap();
        assert_eq!(loaded.policies.domain(), "credit-api");
    }

    #[test]
    fn what_is_no_file_is_told_by_its_path() {
        assert!(error("/nonexistent/policy.yaml").starts_with("cannot read /nonexistent/policy.yaml: "));
        assert!(error("/").starts_with("cannot read /: "));
    }

    #[test]
    fn an_endless_file_is_refused_without_reading_it_all() {
        assert!(error("/dev/zero").contains("more than the"));
    }
}
