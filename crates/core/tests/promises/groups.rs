//! Promise 3: a request that is not admitted consumes nothing, whatever mix of algorithms it meets.

use proptest::prelude::*;
use weir_core::{
    Algorithm, Answer, Change, Held, Key, Op, Operation, Outcome, Rule, Span, Steps, Timestamp, decide_group,
};

use crate::{hold, rules};

fn any_rule() -> impl Strategy<Value = Rule> {
    prop::sample::select(Algorithm::ALL.to_vec()).prop_flat_map(rules)
}

#[test]
fn promise_3_all_or_nothing_over_every_mix_of_algorithms() {
    let policy = (any_rule(), prop::bool::weighted(0.7));
    let requests = prop::collection::vec((0..20_000_000_u64, prop::collection::vec(0..20_u64, 6)), 1..60);
    hold(1_000, (prop::collection::vec(policy, 1..6), requests), |(policies, requests)| {
        let mut states: Vec<Option<Held>> = vec![None; policies.len()];
        let mut now = Timestamp::from_nanos(1 << 60);
        for (wait, costs) in requests {
            now = now.after(Span::from_nanos(wait));
            let group: Vec<Operation> = (policies.iter().zip(&costs).zip(0..))
                .map(|((&(rule, enforced), &cost), i)| Operation {
                    enforced,
                    ..Operation::new(Key(i), rule, Op::Take(cost))
                })
                .collect();
            let alone = |i: usize| group[i].rule.decide(Held::as_ref(states[i].as_ref()), group[i].op, now);
            let fits: Vec<bool> =
                (0..group.len()).map(|i| alone(i).decision.outcome == Outcome::Allow).collect();
            let admitted = group.iter().zip(&fits).all(|(operation, fits)| *fits || !operation.enforced);
            let mut steps = Steps::new();
            decide_group(&group, |i| Held::as_ref(states[i].as_ref()), now, &mut steps);
            prop_assert_eq!(steps.len(), group.len());
            for (i, step) in steps.iter().enumerate() {
                let Answer::Decided { decision, receipt, .. } = group[i].answer(step, group[i].key) else {
                    panic!()
                };
                prop_assert_eq!(decision.outcome == Outcome::Allow, fits[i], "each tells its own answer");
                let charged = admitted && fits[i] && costs[i] > 0;
                prop_assert_eq!(receipt.map(|r| r.amount), charged.then_some(costs[i]));
                if charged {
                    prop_assert_eq!((decision, step.change), (alone(i).decision, alone(i).change));
                } else {
                    prop_assert_eq!(step.change, Change::Keep, "what is not admitted consumes nothing");
                }
            }
            for (state, step) in states.iter_mut().zip(steps) {
                step.change.apply_to(state);
            }
        }
        Ok(())
    });
}
