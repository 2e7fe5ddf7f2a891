//! Keys that find no room share partitions, which are never more permissive than a key of their own.

use super::*;

async fn full() -> Small {
    let small = Small::new(limits(1_000));
    small.flood("first", bucket(1), 3_000).await;
    assert_eq!(small.store.stats().keys, 1_000);
    small
}

/// A key that has no place in the store.
async fn homeless(small: &Small) -> String {
    let before = small.store.stats();
    small.take("homeless", bucket(1), 5).await;
    assert!(small.store.stats().overflowed > before.overflowed);
    "homeless".into()
}

#[tokio::test]
async fn promise_11_a_key_without_a_place_is_limited_all_the_same() {
    let small = full().await;
    let name = homeless(&small).await;
    let used = 10 - small.take(&name, bucket(1), 0).await.remaining;
    assert!(used >= 5, "its own charge counts, and perhaps others'");
    small.take(&name, bucket(1), 10 - used).await;
    assert!(small.is_denied(&name, bucket(1)).await);
}

#[tokio::test]
async fn promise_11_a_key_that_gets_a_place_starts_where_its_partition_stands() {
    let small = full().await;
    let name = homeless(&small).await;
    small.clock.advance(secs(7));
    small.store.sweep();
    let partition = small.take(&name, bucket(1), 0).await.remaining;
    let before = small.store.stats();
    assert!(before.keys < 1_000, "there is room again");
    assert_eq!(small.take(&name, bucket(1), 1).await.remaining, partition - 1);
    assert_eq!(small.store.stats().keys, before.keys + 1, "and it has a place of its own");
}

#[tokio::test]
async fn promise_5_what_a_partition_was_charged_is_given_back_to_it() {
    let small = full().await;
    let before = small.take("homeless", bucket(1), 0).await.remaining;
    let (_, receipt) = small.charge(key("homeless"), bucket(1), Op::Take(before)).await;
    assert!(small.is_denied("homeless", bucket(1)).await);
    let given = small.apply(&[receipt.unwrap().give_back()]).await[0].0;
    assert_eq!(given.remaining, before);
}

#[tokio::test]
async fn promise_11_lowering_a_key_without_a_place_forgives_no_other_keys_debt() {
    let small = full().await;
    homeless(&small).await;
    let before = small.take("homeless", bucket(1), 0).await.remaining;
    for op in [Op::Reset, Op::Adjust(-10), Op::Adjust(-1)] {
        small.charge(key("homeless"), bucket(1), op).await;
        assert_eq!(small.take("homeless", bucket(1), 0).await.remaining, before);
    }
}

#[tokio::test]
async fn partitions_of_different_policies_are_apart() {
    let small = full().await;
    let (a, b) = (key("homeless"), rule(2, Algorithm::FixedWindow, 10, secs(3_600)));
    let op = |rule| Operation::new(a, rule, Op::Take(3));
    let decisions = small.apply(&[op(bucket(1)), op(b)]).await;
    assert_eq!(decisions[1].0.remaining, 7, "nobody else of its policy has no place");
    assert!(small.store.stats().partitions > 1);
}
