//! Limits that callers bring along, and that there cannot be more and more of them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use weir_core::{KeySecret, Span, Throttle, ThrottleError, file};

#[test]
fn callers_cannot_make_up_rules_without_end() {
    let text = "domain: d\npolicies:\n  - { name: p, quota: 1/minute }\n";
    let options = file::Options::new(KeySecret::new([7; 16]));
    let policies = file::load("p", text.as_bytes(), &options).unwrap().policies;
    let ask = |count: u64| {
        let period = Span::from_secs(60);
        policies.throttle(&Throttle { key: b"k", burst: 10, count, period, quantity: 1 })
    };
    let refused = (1..100_000).find(|count| ask(*count).is_err()).unwrap();
    assert!((60_000..70_000).contains(&refused), "{refused}");
    assert_eq!(ask(refused).unwrap_err(), ThrottleError::TooMany);
    assert!(ask(1).is_ok(), "those that are known go on");
    // A policy's rule is always made.
    let reloaded = text.replace("1/minute", "12345/minute");
    assert!(file::load("p", reloaded.as_bytes(), &options).is_ok());
}
