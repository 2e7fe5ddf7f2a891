//! The promises of the design, held over random histories. Every run prints its seed; set `WEIR_SEED` to
//! repeat one.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints its seed"
)]

mod exact;
mod extremes;
mod groups;
mod keys;
mod oracle;
mod shares;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::num::NonZeroU64;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use weir_core::{Algorithm, PolicyId, Precision, Quota, Rule, Span};

/// The length of a window that is no calendar's, in nanoseconds.
fn length(quota: &Quota) -> u64 {
    quota.window().length().unwrap().nanos()
}

fn rule(algorithm: Algorithm, quota: Quota) -> Rule {
    Rule::new(PolicyId(1), algorithm, quota)
}

/// Runs a property from a seed that is printed.
fn hold<S: Strategy>(cases: u32, inputs: S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let seed = match std::env::var("WEIR_SEED") {
        Ok(text) => text.parse().expect("WEIR_SEED is a whole number"),
        // A fresh hasher is keyed at random; this crate reads no clock, not even here.
        Err(_) => RandomState::new().build_hasher().finish(),
    };
    println!("WEIR_SEED={seed}");
    let config =
        Config { cases, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() };
    if let Err(failure) = TestRunner::new(config).run(&inputs, property) {
        panic!("with WEIR_SEED={seed}: {failure}");
    }
}

/// Rules whose products fit 64 bits only at a tick of more than a nanosecond.
fn coarse_rules() -> impl Strategy<Value = Rule> {
    let month = 30 * 86_400_000_000_000;
    (1_000_000_007..9_000_000_000_u64, 1_u64..5).prop_filter_map(
        "a fraction that reduces too well",
        move |(limit, months)| {
            let quota =
                Quota::settle(Algorithm::TokenBucket, limit, Span::from_nanos(month * months), None).ok()?;
            (quota.tick() > Span::from_nanos(1)).then_some(rule(Algorithm::TokenBucket, quota))
        },
    )
}

/// Rules as a store has them that counts in doubles, where the tick of a sliding window is coarse as well.
fn rules_in_doubles(algorithm: Algorithm) -> impl Strategy<Value = Rule> {
    let windows = [1_000_000, 7_001_000, 1_000_000_000, 60_000_000_000, 86_400_000_000_000];
    (1..3_000_000_u64, prop::sample::select(windows.to_vec())).prop_map(move |(limit, window)| {
        let quota = Quota::settle_for(
            Precision::Double,
            algorithm,
            limit.min(1 << 20),
            Span::from_nanos(window),
            None,
        );
        rule(algorithm, quota.unwrap())
    })
}

const WINDOWS: [u64; 6] =
    [1_000_000, 7_000_001, 1_000_000_000, 60_000_000_000, 86_400_000_000_000, 999_999_937];

/// Rules with small figures, so that histories meet their limits often, at a tick of a nanosecond.
fn rules(algorithm: Algorithm) -> impl Strategy<Value = Rule> {
    (1..50_u64, 0..WINDOWS.len(), 1..60_u64).prop_map(move |(limit, window, burst)| {
        let burst = NonZeroU64::new(burst).filter(|_| algorithm.has_burst());
        let quota = Quota::settle(algorithm, limit, Span::from_nanos(WINDOWS[window]), burst).unwrap();
        assert_eq!(quota.tick(), Span::from_nanos(1));
        rule(algorithm, quota)
    })
}
