//! Several keys in one request, and several requests in one call.

use weir_core::Op;
use weir_core::Outcome::{Allow, Deny, Never};

use super::*;

/// Applies the group of a user's policy and the global one, in either order, and tells whether it passed.
async fn request(f: &impl Fixture, user: &str, swapped: bool) -> [Decision; 2] {
    let per_user = operation(user, window(1, secs(3_600)), Op::Take(1));
    let global = operation("global", window(10, secs(60)), Op::Take(1));
    let group = if swapped { [global, per_user] } else { [per_user, global] };
    let decisions = apply(f, &group).await;
    let [first, second] = [decisions[0].0, decisions[1].0];
    if swapped { [second, first] } else { [first, second] }
}

fn passed(decisions: &[Decision; 2]) -> bool {
    decisions.iter().all(|decision| decision.outcome == Allow)
}

pub(super) async fn c05_a_refused_request_consumes_nothing<F: Fixture>() {
    for swapped in [false, true] {
        let f = F::at(START.after(secs(10))).await;
        let mut a_admitted = 0;
        for _ in 0..20 {
            a_admitted += usize::from(passed(&request(&f, "A", swapped).await));
        }
        assert_eq!(a_admitted, 1);
        for user in ["B", "C", "D", "E", "F", "G", "H", "I", "J"] {
            assert!(passed(&request(&f, user, swapped).await), "{user}");
        }
        let [own, global] = request(&f, "K", swapped).await;
        assert_eq!((own.outcome, own.remaining), (Allow, 1), "K's own allowance is untouched");
        assert_denied(&global, secs(50));
        f.advance(secs(50));
        assert!(passed(&request(&f, "K", swapped).await));
    }
}

pub(super) async fn c05_the_refused_group_reports_what_is_still_there<F: Fixture>() {
    let f = F::at(START).await;
    let (roomy, tight) = (bucket(100, secs(60), 100), bucket(40, secs(60), 40));
    let both = |cost| [operation("roomy", roomy, Op::Take(cost)), operation("tight", tight, Op::Take(cost))];
    let remaining = |decisions: &[(Decision, _)]| [decisions[0].0.remaining, decisions[1].0.remaining];
    assert_eq!(remaining(&apply(&f, &both(30)).await), [70, 10]);
    let refused = apply(&f, &both(30)).await;
    assert_eq!(remaining(&refused), [70, 10]);
    assert!(refused.iter().all(|(_, receipt)| receipt.is_none()));
    assert_eq!(remaining(&apply(&f, &both(10)).await), [60, 0]);
}

pub(super) async fn a_shadow_is_charged_only_when_it_and_all_others_admit<F: Fixture>() {
    let f = F::at(START).await;
    let enforced = operation("enforced", window(5, secs(60)), Op::Take(1));
    let shadow =
        |name, limit| Operation { enforced: false, ..operation(name, window(limit, secs(60)), Op::Take(1)) };
    let mut would_block = 0;
    for i in 0..8 {
        let decisions = apply(&f, &[shadow("tight", 2), enforced, shadow("wide", 100)]).await;
        let outcomes: Vec<_> = decisions.iter().map(|(decision, _)| decision.outcome).collect();
        assert_eq!(outcomes[1] == Allow, i < 5, "shadows decide nothing");
        would_block += usize::from(outcomes[0] == Deny && outcomes[1] == Allow);
    }
    assert_eq!(would_block, 3);
    let wide = apply(&f, &[operation("wide", window(100, secs(60)), Op::Peek(0))]).await[0].0;
    assert_eq!(wide.remaining, 95, "charged for the admitted five, whatever the other shadow said");
}

pub(super) async fn a_batch_is_decided_as_if_its_groups_came_one_by_one<F: Fixture>() {
    for rule in every_algorithm(5, secs(60)) {
        let f = F::at(START).await;
        let costs = [2, 2, 2, 1, 0, 9];
        let group = |cost| [settled(&f, operation("k", rule, Op::Take(cost)))];
        let mut answers = f.store().apply(costs.into_iter().map(group).collect()).await;
        let seen: Vec<_> = answers.drain().map(decided).map(|(d, _)| (d.outcome, d.remaining)).collect();
        assert_eq!(seen, [(Allow, 3), (Allow, 1), (Deny, 1), (Allow, 0), (Allow, 0), (Never, 0)]);
    }
}

pub(super) async fn a_denial_may_be_cached_for_as_long_as_it_says<F: Fixture>() {
    for rule in every_algorithm(20, secs(10)) {
        let f = F::at(START).await;
        let group =
            |cost| -> Batch { [[settled(&f, operation("k", rule, Op::Take(cost)))]].into_iter().collect() };
        f.store().apply(group(20)).await;
        let Answer::Decided { cacheable_for, .. } = f.store().apply(group(1)).await[0] else { panic!() };
        let cacheable = cacheable_for.expect("a denial holds for a while");
        assert!(cacheable <= secs(1), "use may be given back meanwhile");
        f.advance(Span::from_nanos(cacheable.nanos() - 1));
        assert_eq!(take(&f, rule, 1).await.outcome, Deny);
        f.advance(secs(10));
        let Answer::Decided { cacheable_for, .. } = f.store().apply(group(1)).await[0] else { panic!() };
        assert_eq!(cacheable_for, None, "an admission does not");
    }
}
