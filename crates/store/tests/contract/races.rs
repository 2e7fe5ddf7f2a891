//! Many at once: the store decides and commits in one step, or admits too many.

use std::sync::Arc;

use tokio::sync::Barrier;
use weir_core::{Op, Outcome};

use super::*;

const AT_ONCE: usize = 1_000;
const REPETITIONS: usize = 100;

/// Runs `group` from many tasks, all released together, and returns the decisions of each.
async fn at_once<F: Fixture>(f: &Arc<F>, group: &[Operation]) -> Vec<Vec<Decision>> {
    let barrier = Arc::new(Barrier::new(AT_ONCE));
    let spawn = |_| {
        let (f, barrier, group) = (f.clone(), barrier.clone(), group.to_vec());
        tokio::spawn(async move {
            barrier.wait().await;
            apply(&*f, &group).await.into_iter().map(|(decision, _)| decision).collect()
        })
    };
    let tasks: Vec<_> = (0..AT_ONCE).map(spawn).collect();
    let mut decisions = Vec::new();
    for task in tasks {
        decisions.push(task.await.unwrap());
    }
    decisions
}

/// The `remaining` of each admitted request, highest first.
fn remaining_of_admitted(decisions: &[Vec<Decision>]) -> Vec<u64> {
    let admitted = decisions.iter().filter(|group| group.iter().all(|d| d.outcome == Outcome::Allow));
    let mut remaining: Vec<u64> = admitted.map(|group| group[0].remaining).collect();
    remaining.sort_unstable_by(|a, b| b.cmp(a));
    remaining
}

pub(super) async fn m03_a_thousand_at_once_on_a_limit_of_five<F: Fixture>() {
    for rule in every_algorithm(5, secs(60)) {
        for _ in 0..REPETITIONS {
            let f = Arc::new(F::at(START).await);
            let decisions = at_once(&f, &[operation("k", rule, Op::Take(1))]).await;
            assert_eq!(remaining_of_admitted(&decisions), [4, 3, 2, 1, 0]);
        }
    }
}

pub(super) async fn m03_two_limits_at_once<F: Fixture>() {
    for _ in 0..REPETITIONS / 4 {
        let f = Arc::new(F::at(START).await);
        let group = [
            operation("a", window(5, secs(60)), Op::Take(1)),
            operation("b", bucket(7, secs(60), 7), Op::Take(1)),
        ];
        let decisions = at_once(&f, &group).await;
        assert_eq!(remaining_of_admitted(&decisions), [4, 3, 2, 1, 0]);
        assert_eq!(
            apply(&*f, &[operation("b", bucket(7, secs(60), 7), Op::Peek(0))]).await[0].0.remaining,
            2
        );
    }
}

/// Keys that live a millisecond come by the thousand, and go again as the clock moves.
pub(super) async fn m03_while_other_keys_come_and_go<F: Fixture>() {
    const FLOOD: usize = 20_000;
    // So slow that the whole flood's time brings no further unit.
    for rule in every_algorithm(5, secs(1_000)) {
        let f = Arc::new(F::at(START).await);
        let flood = tokio::spawn({
            let f = f.clone();
            async move {
                for i in 0..FLOOD {
                    apply(&*f, &[operation(&format!("flood/{i}"), window(1, millis(1)), Op::Take(1))]).await;
                    if i % 100 == 0 {
                        f.advance(millis(1));
                    }
                    tokio::task::yield_now().await;
                }
            }
        });
        let decisions = at_once(&f, &[operation("k", rule, Op::Take(1))]).await;
        assert_eq!(remaining_of_admitted(&decisions), [4, 3, 2, 1, 0]);
        flood.await.unwrap();
        assert_eq!(admitted(&*f, rule, 1).await, 0, "no sweep has forgotten the key");
        assert!(f.keys_held().await < FLOOD / 2, "{} keys of the flood are still held", f.keys_held().await);
    }
}
