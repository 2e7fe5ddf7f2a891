//! What one of several nodes may admit on its own.

use std::num::NonZeroU64;

use weir_core::{Algorithm, Quota, Span};

#[test]
fn promise_14_a_share_is_at_least_one_unit_and_nothing_of_nothing() {
    let share = |limit, nodes| {
        let quota =
            Quota::settle(Algorithm::TokenBucket, limit, Span::from_secs(60), NonZeroU64::new(3 * limit))
                .unwrap();
        let share = quota.share(Algorithm::TokenBucket, NonZeroU64::new(nodes).unwrap()).unwrap();
        (share.limit(), share.capacity(), share.window() == quota.window())
    };
    assert_eq!(share(100, 1), (100, 300, true));
    assert_eq!(share(100, 3), (33, 100, true));
    assert_eq!(share(2, 100), (1, 1, true));
    assert_eq!(share(0, 3), (0, 0, true));
    let day = Quota::settle(Algorithm::SlidingLog, 10, Span::from_secs(60), None).unwrap();
    assert_eq!(day.share(Algorithm::SlidingLog, NonZeroU64::new(4).unwrap()).unwrap().limit(), 2);
}
