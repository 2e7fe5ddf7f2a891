//! Promise 12: policies are replaced while traffic flows, and usage is kept.

use weir_core::Usage;

use super::*;

const DRAINED: &str = "  - { name: drained, key: [user], quota: 1/minute, burst: 10 }\n";

async fn drained() -> Bench {
    let b = bench(&format!("policies:\n{DRAINED}"));
    assert_eq!(b.admitted(12, &[("user", "u")]).await, 10);
    b
}

#[tokio::test]
async fn g01_no_reload_refills_what_is_drained() {
    let b = drained().await;
    let other = |quota: &str| format!("  - {{ name: other, quota: {quota} }}\n");
    let files = [
        DRAINED.to_owned(),
        DRAINED.to_owned(),
        DRAINED.to_owned() + &other("100/minute"),
        DRAINED.to_owned() + &other("200/minute"),
        other("200/minute") + DRAINED,
        // What is no part of a counter's identity.
        "  - { name: drained, key: [user], quota: 1/minute, burst: 10, when: { user: u }, owner: me }\n"
            .into(),
    ];
    for file in files {
        b.limiter.replace(policies(&format!("policies:\n{file}")));
        let verdict = b.check(&[("user", "u")]).await;
        assert!(!verdict.is_admitted(), "{file}");
        assert_eq!(verdict.retry_after(), Some(Span::from_secs(60)));
    }
}

#[tokio::test]
async fn promise_12_a_changed_quota_keeps_usage_and_a_changed_key_begins_anew() {
    for (changed, admitted) in [
        ("name: drained, key: [user], quota: 1/minute, burst: 15", 5),
        ("name: drained, key: [user], quota: 1/hour, burst: 10", 0),
        ("name: drained, key: [user, path], quota: 1/minute, burst: 10, on_missing: shared", 10),
        ("name: drained, key: [user], quota: 10/minute, algorithm: fixed_window", 10),
        ("name: renamed, key: [user], quota: 1/minute, burst: 10", 10),
    ] {
        let b = drained().await;
        b.limiter.replace(policies(&format!("policies:\n  - {{ {changed} }}\n")));
        assert_eq!(b.admitted(20, &[("user", "u")]).await, admitted, "{changed}");
    }
}

#[tokio::test]
async fn a_verdict_stays_with_the_policies_that_it_was_decided_by() {
    let b = drained().await;
    let verdict = b.check(&[("user", "u")]).await;
    b.limiter.replace(policies("policies:\n  - { name: other, quota: 5/minute }\n"));
    assert_eq!(&*verdict.governing().unwrap().0.name, "drained");
    assert_eq!(&*b.check(&[]).await.governing().unwrap().0.name, "other");
}

#[test]
fn promise_12_it_can_be_told_beforehand_whose_usage_is_kept() {
    let old = policies(
        "policies:\n  - { name: same, quota: 1/minute }\n  - { name: quota, quota: 1/minute }\n  - { name: key, quota: 1/minute }\n  \
         - { name: window, quota: 1/minute, algorithm: fixed_window }\n  - { name: algorithm, quota: 1/minute }\n  \
         - { name: gone, quota: 1/minute }\n  - { name: free, quota: unlimited }\n",
    );
    let new = policies(
        "policies:\n  - { name: same, quota: 1/minute, owner: me }\n  - { name: quota, quota: 9/hour }\n  \
         - { name: key, key: [user], quota: 1/minute }\n  \
         - { name: window, quota: 1/month, algorithm: fixed_window, time_zone: Asia/Tokyo }\n  \
         - { name: algorithm, quota: 1/minute, algorithm: leaky_bucket }\n  - { name: new, quota: 1/minute }\n",
    );
    let told: Vec<String> = (new.changes_from(&old).into_iter())
        .map(|usage| match usage {
            Usage::Kept(policy) => format!("{} kept", policy.name),
            Usage::Anew { policy, because: None } => format!("{} new", policy.name),
            Usage::Anew { policy, because: Some((what, was, is)) } => {
                format!("{} {what}: {was}, {is}", policy.name)
            }
            Usage::Gone(policy) => format!("{} gone", policy.name),
        })
        .collect();
    assert_eq!(
        told,
        [
            "same kept",
            "quota kept",
            "key key: [], [user]",
            "window window: 1min, month in Asia/Tokyo",
            "algorithm algorithm: token_bucket, leaky_bucket",
            "new new",
            "gone gone",
        ]
    );
}
