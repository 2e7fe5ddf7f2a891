//! Where policies come from.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

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

    /// Reads and settles the policies.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has mistakes.
    pub fn load(&self, options: &Options) -> Result<Loaded, LoadError> {
        let bytes = match self {
            Self::File(path) => {
                read(path).map_err(|reason| LoadError::Unreadable { path: path.clone(), reason })?
            }
            Self::Example => EXAMPLE.as_bytes().to_vec(),
        };
        file::load(&self.name(), &bytes, options).map_err(LoadError::Broken)
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
        PolicySource::File(path.into()).load(&Options::new(KeySecret::new([1; 16]))).unwrap_err().to_string()
    }

    #[test]
    fn the_example_loads() {
        let loaded = PolicySource::Example.load(&Options::new(KeySecret::new([1; 16]))).unwrap();
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
