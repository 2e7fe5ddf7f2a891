//! The house rules that neither compiler nor clippy can check.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

const FILE_MAX: usize = 400;
const FUNCTION_MAX: usize = 70;
const MEDIAN_MAX: usize = 200;

/// What each crate may depend on of our own: the arrows of the design.
const ARROWS: [(&str, &[&str]); 6] = [
    ("core", &[]),
    ("store", &["core"]),
    ("runtime", &["core", "store"]),
    ("server", &["core", "runtime"]),
    ("cli", &["core", "store", "runtime", "server"]),
    // For tests alone.
    ("servers", &[]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file below `folder` with one of these endings, with its text.
fn files(folder: &Path, endings: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && name != ".git" {
                open.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let relative = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.push((relative, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<(String, String)> {
    let folders = ["crates", "fuzz", "bench"];
    folders.iter().flat_map(|folder| files(&root().join(folder), &[".rs"])).collect()
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let sources = sources();
    for (path, text) in &sources {
        let lines = text.lines().count();
        assert!(lines <= FILE_MAX, "{path} has {lines} lines; look for a second room in it");
        assert!(text.starts_with("//! "), "{path} does not open by saying what it is for");
    }
    let mut lengths: Vec<usize> = sources.iter().map(|(_, text)| text.lines().count()).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median <= MEDIAN_MAX, "the median file has {median} lines");
}

#[test]
fn functions_are_short() {
    for (path, text) in sources() {
        // The formatter puts the closing brace of a function under its first column.
        let lines: Vec<&str> = text.lines().collect();
        for (start, line) in lines.iter().enumerate() {
            let trimmed = line.trim_start();
            let words = ["pub(crate) ", "pub(super) ", "pub ", "const ", "async "];
            let bare = words.iter().fold(trimmed, |text, word| text.strip_prefix(word).unwrap_or(text));
            if !bare.starts_with("fn ") {
                continue;
            }
            let end = format!("{}}}", &line[..line.len() - trimmed.len()]);
            let length = lines[start..].iter().position(|line| *line == end).map_or(1, |offset| offset + 1);
            assert!(length <= FUNCTION_MAX, "{path}:{} is a function of {length} lines", start + 1);
        }
    }
}

#[test]
fn arrows_between_crates_point_one_way() {
    for (name, allowed) in ARROWS {
        let manifest = std::fs::read_to_string(root().join(format!("crates/{name}/Cargo.toml"))).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
        for line in dependencies.lines().filter(|line| line.starts_with("weir-")) {
            let other = line.trim_start_matches("weir-").split('.').next().unwrap();
            assert!(allowed.contains(&other), "{name} must not depend on {other}");
        }
        if name == "core" {
            for stranger in ["tokio", "hyper", "axum", "tracing", "rand", "getrandom"] {
                assert!(!dependencies.contains(stranger), "core must not know {stranger}");
            }
        }
    }
    let crates = std::fs::read_dir(root().join("crates")).unwrap().count();
    assert_eq!(crates, ARROWS.len(), "a crate has no arrows yet");
}

#[test]
fn nothing_is_left_unfinished_and_nothing_sleeps_in_a_test() {
    // Written apart, so that this file does not find itself.
    let unfinished =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), concat!("unimpl", "emented!(")];
    for (path, text) in sources() {
        for word in unfinished {
            assert!(!text.contains(word), "{path} contains {word}");
        }
        let tests = if path.contains("/tests/") {
            &text[..]
        } else {
            text.split("#[cfg(test)]").nth(1).unwrap_or("")
        };
        assert!(!tests.contains(concat!("sl", "eep(")), "{path}: a test is given a clock, it does not wait");
    }
}

#[test]
fn what_the_documents_point_at_exists() {
    for (path, text) in files(&root(), &[".md"]) {
        let folder = root().join(&path).parent().unwrap().to_path_buf();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap();
            if !target.is_empty() && !target.contains("://") {
                assert!(folder.join(target).exists(), "{path} links to {link}, which is not there");
            }
        }
        // `x` stands for a name that is yours to choose.
        let codes = text.split('`').skip(1).step_by(2);
        for code in codes.filter(|code| code.starts_with("crates/") && !code.contains("/x.")) {
            assert!(root().join(code).exists(), "{path} speaks of {code}, which is not there");
        }
    }
}
