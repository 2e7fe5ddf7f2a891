//! Every property over the seeds, and over what is a cut or a changed byte away from them.

use std::panic::catch_unwind;
use std::path::Path;

/// In so many places a seed is cut, and a byte of it changed.
const PLACES: usize = 48;

/// What a byte is changed by: to a neighbour, to the other case, and to what is no longer UTF-8.
const CHANGES: [u8; 3] = [0x01, 0x20, 0x80];

/// A target has at least so many seeds.
const SEEDS_MIN: usize = 10;

#[test]
fn policy_files() {
    holds("policy_file", weir_fuzz::policy_file::check);
}

#[test]
fn http_bodies() {
    holds("http_body", weir_fuzz::http_body::check);
}

#[test]
fn paths() {
    holds("path", weir_fuzz::path::check);
}

#[test]
fn addresses() {
    holds("address", weir_fuzz::address::check);
}

#[test]
fn keys() {
    holds("key", weir_fuzz::key::check);
}

#[test]
fn what_redis_clients_send() {
    holds("resp", weir_fuzz::resp::check);
}

fn holds(target: &str, check: fn(&[u8])) {
    let seeds = seeds(target);
    assert!(seeds.len() >= SEEDS_MIN, "{target} has {} seeds", seeds.len());
    for (name, bytes) in seeds {
        // What the check itself says of the failure is printed before this.
        let run = |input: &[u8], how: &str| {
            let outcome = catch_unwind(|| check(input));
            assert!(outcome.is_ok(), "{target} fails on {name} {how}: {:?}", String::from_utf8_lossy(input));
        };
        run(&bytes, "as it stands");
        let step = bytes.len().div_ceil(PLACES).max(1);
        for place in (0..bytes.len()).step_by(step) {
            run(&bytes[..place], &format!("cut at byte {place}"));
            for change in CHANGES {
                let mut changed = bytes.clone();
                changed[place] ^= change;
                run(&changed, &format!("with byte {place} changed by {change:#04x}"));
            }
        }
    }
}

/// The seeds of a target by name. What a run of the fuzzer added is left to its next run.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut seeds = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_hash = name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            seeds.push((name, std::fs::read(path).unwrap()));
        }
    }
    seeds.sort();
    seeds
}
