//! Quotas by the calendar, and those of logs.

use weir_core::{Allowance, Window};

use super::*;

fn window_of(text: &str) -> Window {
    let loaded = accepted(text);
    let Allowance::Limited(rule) = loaded.policies.policies()[0].allowance else { panic!() };
    rule.quota.window()
}

#[test]
fn calendar_windows_are_those_of_a_zone_from_an_anchor() {
    for (fields, window) in [
        ("quota: 5/month", "month in UTC"),
        ("quota: 5/week\ntime_zone: America/Sao_Paulo", "week in America/Sao_Paulo"),
        ("quota: 5/year\nanchor: 2026-01-31", "year in UTC from 2026-01-31"),
        ("quota: 5/day\ntime_zone: America/New_York", "day in America/New_York"),
        // Without a zone, a day is 24 hours; lengths of time are the same in every zone.
        ("quota: 5/day", "1d"),
        ("quota: 5/minute", "1min"),
    ] {
        let text = with_policy(&format!("algorithm: fixed_window\n{fields}"));
        assert_eq!(window_of(&text).to_string(), window, "{fields}");
    }
}

#[test]
fn a_zone_may_be_the_default_and_places_calendar_windows_only() {
    let with_default = |policy: &str| {
        format!(
            "domain: shop\ndefaults: {{ time_zone: Asia/Tokyo }}\npolicies:\n  - {{ name: p, {policy} }}\n"
        )
    };
    for (policy, window) in [
        ("quota: 5/day, algorithm: fixed_window", "day in Asia/Tokyo"),
        ("quota: 5/day", "1d"),
        ("quota: 5/hour, algorithm: fixed_window", "1h"),
    ] {
        assert_eq!(window_of(&with_default(policy)).to_string(), window, "{policy}");
    }
}

#[test]
fn policies_of_a_list_are_named_by_their_calendar_unit() {
    let text =
        with_policy("algorithm: fixed_window\nquota: [5/second, 90/day, 900/month]\ntime_zone: Asia/Tokyo");
    let names: Vec<String> = accepted(&text).policies.policies().iter().map(|p| p.name.to_string()).collect();
    assert_eq!(names, ["p.1s", "p.day", "p.month"]);
}

#[test]
fn g08_unknown_zones_and_impossible_dates_are_refused_at_load() {
    let fixed = |fields: &str| with_policy(&format!("algorithm: fixed_window\nquota: 5/month\n{fields}"));
    refused(&fixed("time_zone: America/Sao_Paolo"), "6:16 there is no time zone `America/Sao_Paolo`");
    refused(&fixed("anchor: 2026-02-30"), "6:13 `2026-02-30` is not a date of the calendar");
    refused(&fixed("anchor: 31"), "6:13 `31` is not a date of the calendar");
    let report = load(&fixed("time_zone: America/Sao_Paolo")).unwrap_err();
    assert_eq!(report.problems()[0].hint.as_deref(), Some("did you mean `America/Sao_Paulo`?"));
    let day = with_policy("algorithm: fixed_window\nquota: 5/day\ntime_zone: UTC\nanchor: 2026-01-01");
    refused(&day, "7:13 a day has no anchor: it starts at midnight");
}

#[test]
fn what_places_no_window_is_refused() {
    let message = "there is no calendar window here for it to place";
    for fields in [
        "quota: 5/minute\ntime_zone: UTC",
        "quota: 5/day\ntime_zone: UTC",
        "quota: 5/day\nanchor: 2026-01-01",
    ] {
        let column = if fields.contains("anchor") { 13 } else { 16 };
        refused(&with_policy(fields), &format!("5:{column} {message}"));
    }
}

#[test]
fn only_fixed_windows_are_the_calendars() {
    for algorithm in ["token_bucket", "leaky_bucket", "sliding_window", "sliding_log"] {
        let text = with_policy(&format!("quota: 5/month\nalgorithm: {algorithm}"));
        refused(&text, &format!("4:12 `{algorithm}` has no calendar windows"));
        let hint = load(&text).unwrap_err().problems()[0].hint.clone().unwrap();
        assert!(hint.contains("`30d`"), "{hint}");
    }
}

#[test]
fn a_log_keeps_no_more_than_it_may() {
    let log = |limit: u64| with_policy(&format!("quota: {limit}/minute\nalgorithm: sliding_log"));
    accepted(&log(10_000));
    refused(&log(10_001), "4:12 out of range: a log keeps 10000 units at most");
    let mut options = file::Options::new(KeySecret::new([1; 16]));
    options.log_limit_max = 1 << 30;
    let load = |limit| file::load("p", log(limit).as_bytes(), &options);
    assert!(load(10_001).is_ok());
    assert!(load(1 << 24).is_ok());
    assert!(load((1 << 24) + 1).unwrap_err().to_string().contains("16777216"));
}

#[test]
fn quotas_at_the_edges_of_the_arithmetic_are_exact_or_refused_with_the_highest() {
    let edges = ["1/3650d", "1000000000/second", "1/1ms", "9223372036854775808/minute"];
    for algorithm in ["token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"] {
        for quota in edges {
            let text = with_policy(&format!("quota: {quota}\nalgorithm: {algorithm}"));
            if let Err(report) = load(&text) {
                let message = &report.problems()[0].message;
                assert!(message.starts_with("out of range: "), "{algorithm} {quota}: {message}");
                let highest = message.rsplit_once(|c: char| !c.is_ascii_digit()).unwrap().1;
                let highest = if highest.is_empty() { "10000" } else { highest };
                let window = quota.split_once('/').unwrap().1;
                accepted(&with_policy(&format!("quota: {highest}/{window}\nalgorithm: {algorithm}")));
            }
        }
    }
}
