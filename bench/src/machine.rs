//! Where and of what a page of figures is: the machine, the compiler, the peers' versions.

use std::process::Command;

/// What this program was built with; so versions are those that were measured.
const LOCK: &str = include_str!("../Cargo.lock");

/// The processor's model, the cores, the memory and the compiler, as far as they can be told.
pub(crate) fn description() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = proc_field("/proc/meminfo", "MemTotal").and_then(|size| gibibytes(&size));
    [
        proc_field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned()),
        format!("{cores} cores"),
        memory.unwrap_or_else(|| "unknown memory".to_owned()),
        compiler().unwrap_or_else(|| "unknown compiler".to_owned()),
    ]
    .join(", ")
}

/// The version of a crate that this program was built with.
pub(crate) fn version(name: &str) -> &'static str {
    let is_it = |package: &&str| lock_field(package, "name") == Some(name);
    let package = LOCK.split("[[package]]").find(is_it);
    package.and_then(|package| lock_field(package, "version")).unwrap_or("unknown")
}

/// The value of a line such as `version = "1.0.0"`.
fn lock_field<'a>(package: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"');
    package.lines().find_map(value)
}

/// The value of the first line such as `model name : …`.
fn proc_field(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(field, _)| field.trim() == name).map(|(_, value)| value.trim().to_owned())
}

/// `24576000 kB` in larger units.
fn gibibytes(size: &str) -> Option<String> {
    let kibibytes: f64 = size.strip_suffix(" kB")?.parse().ok()?;
    Some(format!("{:.1} GiB of memory", kibibytes / f64::from(1 << 20)))
}

/// The compiler that answers here; the one that cargo calls, unless it was told otherwise.
fn compiler() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| version.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        assert_eq!(version("weir-bench"), env!("CARGO_PKG_VERSION"));
        assert_eq!(version("no-such-crate"), "unknown");
    }
}
