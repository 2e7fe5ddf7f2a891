//! The contract that every store keeps, whatever it is made of.
//!
//! To enrol a store: write a [`Fixture`] for it and one `contract!` line at the end of this file.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it left out"
)]

mod algorithms;
mod calendar;
mod groups;
mod logs;
mod races;

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weir_core::{
    Algorithm, Answer, Batch, Decision, Key, KeyBuilder, KeySecret, Op, Operation, Outcome, PolicyId,
    Precision, Quota, Receipt, Rule, Span, Store, Timestamp,
};
use weir_servers::{Cluster, Kind, Server};
use weir_store::{ManualClock, MemoryStore, OwnSecret, RedisSettings, RedisStore};

/// A store and the clock that it decides by, in the hands of a test.
pub(crate) trait Fixture: Send + Sync + 'static {
    type Store: Store + 'static;

    /// The arithmetic of the store.
    const PRECISION: Precision;
    /// The finest step of its time.
    const TICK: Span;

    /// Whether there is such a store here.
    fn is_there() -> bool {
        true
    }

    /// A fresh store, or a fresh namespace of one, whose clock stands at `now`.
    async fn at(now: Timestamp) -> Self;
    fn store(&self) -> &Self::Store;
    fn advance(&self, by: Span);
    /// Sets the clock, also backwards.
    fn set(&self, now: Timestamp);
    async fn keys_held(&self) -> usize;
}

struct Memory(MemoryStore<ManualClock>, ManualClock);

impl Fixture for Memory {
    type Store = MemoryStore<ManualClock>;

    const PRECISION: Precision = Precision::Integer;
    const TICK: Span = Span::from_nanos(1);

    async fn at(now: Timestamp) -> Self {
        let clock = ManualClock::at(now);
        Self(MemoryStore::with_clock(clock.clone()), clock)
    }

    fn store(&self) -> &Self::Store {
        &self.0
    }

    fn advance(&self, by: Span) {
        self.1.advance(by);
    }

    fn set(&self, now: Timestamp) {
        self.1.set(now);
    }

    async fn keys_held(&self) -> usize {
        self.0.stats().keys
    }
}

/// A namespace of servers that all cases share, at a time that is set by hand.
struct Shared<const CLUSTER: bool, const VALKEY: bool> {
    store: RedisStore,
    clock: ManualClock,
    prefix: String,
}

impl<const CLUSTER: bool, const VALKEY: bool> Shared<CLUSTER, VALKEY> {
    const KIND: Kind = if VALKEY { Kind::Valkey } else { Kind::Redis };

    /// Where they are, and the servers that hold the keys.
    fn place() -> (String, Vec<&'static Server>) {
        if CLUSTER {
            let cluster = Cluster::shared(Self::KIND);
            (cluster.url(), cluster.primaries.iter().collect())
        } else {
            let server = Self::KIND.shared();
            (server.url(), vec![server])
        }
    }
}

impl<const CLUSTER: bool, const VALKEY: bool> Fixture for Shared<CLUSTER, VALKEY> {
    type Store = RedisStore;

    const PRECISION: Precision = Precision::Double;
    const TICK: Span = Span::from_nanos(1_000);

    fn is_there() -> bool {
        Self::KIND.is_wanted()
    }

    async fn at(now: Timestamp) -> Self {
        static NAMESPACES: AtomicU64 = AtomicU64::new(0);
        let prefix = format!("case-{}:", NAMESPACES.fetch_add(1, Ordering::Relaxed));
        let settings = RedisSettings::parse(&Self::place().0).unwrap().with_prefix(&prefix);
        let settings = settings.with_deadline(Duration::from_secs(10));
        let clock = ManualClock::at(now);
        let (store, _) =
            RedisStore::with_clock(&settings, &OwnSecret::Drawn([7; 16]), clock.clone()).await.unwrap();
        Self { store, clock, prefix }
    }

    fn store(&self) -> &Self::Store {
        &self.store
    }

    fn advance(&self, by: Span) {
        self.clock.advance(by);
    }

    fn set(&self, now: Timestamp) {
        self.clock.set(now);
    }

    async fn keys_held(&self) -> usize {
        let mut command = redis::cmd("KEYS");
        command.arg(format!("{}*", self.prefix));
        let keys = |server: &Server| server.query::<Vec<String>>(&command);
        let keys: Vec<String> = Self::place().1.into_iter().flat_map(keys).collect();
        // The store keeps its secret and its nodes beside them.
        keys.iter().filter(|key| key.rsplit([':', '}']).next().is_some_and(|name| name.len() == 32)).count()
    }
}

// ---- what the cases are written with

/// An instant at which windows of a second, a minute, an hour, a day and 30 days all start.
const START: Timestamp = Timestamp::from_nanos(1_710_720_000_000_000_000);

const fn secs(seconds: u64) -> Span {
    Span::from_secs(seconds)
}

const fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

fn rule(algorithm: Algorithm, limit: u64, window: Span, burst: Option<u64>) -> Rule {
    let quota = Quota::settle(algorithm, limit, window, burst.and_then(NonZeroU64::new)).unwrap();
    Rule::new(PolicyId(1), algorithm, quota)
}

fn bucket(limit: u64, window: Span, burst: u64) -> Rule {
    rule(Algorithm::TokenBucket, limit, window, Some(burst))
}

fn window(limit: u64, window: Span) -> Rule {
    rule(Algorithm::FixedWindow, limit, window, None)
}

/// Every algorithm with this limit, for what holds for all of them.
fn every_algorithm(limit: u64, window: Span) -> impl Iterator<Item = Rule> {
    Algorithm::ALL.into_iter().map(move |algorithm| rule(algorithm, limit, window, None))
}

fn key(name: &str) -> Key {
    KeyBuilder::new(&KeySecret::new([7; 16])).part(name.as_bytes()).key()
}

fn operation(name: &str, rule: Rule, op: Op) -> Operation {
    Operation::new(key(name), rule, op)
}

/// The same operation, its quota settled for the arithmetic of the fixture's store.
fn settled<F: Fixture>(_: &F, operation: Operation) -> Operation {
    let (terms, quota) = (*operation.rule, operation.rule.quota);
    let burst = NonZeroU64::new(quota.capacity()).filter(|_| terms.algorithm.has_burst());
    let quota = Quota::settle_for(F::PRECISION, terms.algorithm, quota.limit(), quota.window(), burst);
    Operation { rule: Rule::new(terms.policy, terms.algorithm, quota.unwrap()), ..operation }
}

/// Applies one group and returns its decisions.
async fn apply<F: Fixture>(fixture: &F, group: &[Operation]) -> Vec<(Decision, Option<Receipt>)> {
    let batch: Batch = [group.iter().map(|operation| settled(fixture, *operation))].into_iter().collect();
    fixture.store().apply(batch).await.drain().map(decided).collect()
}

fn decided(answer: Answer) -> (Decision, Option<Receipt>) {
    match answer {
        Answer::Decided { decision, receipt, .. } => (decision, receipt),
        Answer::Local { .. } | Answer::Unavailable { .. } => panic!("a healthy store answers"),
    }
}

/// Applies one operation on the key `k`.
async fn one(fixture: &impl Fixture, rule: Rule, op: Op) -> Decision {
    apply(fixture, &[operation("k", rule, op)]).await[0].0
}

async fn take(fixture: &impl Fixture, rule: Rule, cost: u64) -> Decision {
    one(fixture, rule, Op::Take(cost)).await
}

/// How many of `count` requests of one unit are admitted.
async fn admitted(fixture: &impl Fixture, rule: Rule, count: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..count {
        admitted += usize::from(take(fixture, rule, 1).await.outcome == Outcome::Allow);
    }
    admitted
}

fn assert_denied(decision: &Decision, retry_after: Span) {
    assert_eq!((decision.outcome, decision.retry_after), (Outcome::Deny, Some(retry_after)), "{decision:?}");
}

// ---- the stores

/// Every case, for one store. A case that is not listed here is reported as dead code.
macro_rules! contract {
    ($name:ident, $fixture:ty) => {
        mod $name {
            use super::{algorithms, calendar, groups, logs, races};
            contract!(@ 4, $fixture, algorithms:
                t01_clock_steps_back,
                t01_a_window_never_goes_back,
                t05_a_cost_that_overflows_is_never_admitted,
                t06_very_high_rates,
                t08_windows_longer_than_a_32_bit_timer,
                t09_what_passes_around_a_window_edge,
                t13_a_leaky_bucket_leaks_all_the_time,
                a_leaky_bucket_tells_the_delay_of_a_queue,
                t15_the_last_slot_is_admitted_and_the_next_is_not,
                c01_a_cost_above_capacity_is_never_and_changes_nothing,
                c03_a_cost_of_zero_asks_and_leaves_no_trace,
                h01_retry_after_is_enough_and_no_more,
                h03_use_above_a_lowered_limit,
                g06_a_limit_of_zero_admits_nothing_ever,
                g06_five_a_second_is_five_every_second,
                giving_back_returns_what_has_not_leaked,
                giving_back_to_another_window_returns_nothing,
                giving_back_after_a_change_of_quota_forgives_no_debt,
                a_lowered_quota_keeps_its_debt_through_a_sweep,
                adjusting_may_pass_the_limit_and_leaks_back,
                a_reset_forgets_all_use,
            );
            contract!(@ 4, $fixture, logs:
                t11_equal_instants_weigh_what_they_cost,
                g08_a_zone_never_touches_a_length_of_time,
                a_log_of_ten_thousand_entries_keeps_its_word,
                a_correction_takes_the_latest_first,
            );
            contract!(@ 4, $fixture, calendar:
                g08_a_day_ends_at_the_zones_midnight,
                a_month_is_counted_from_its_anchor,
                a_calendar_window_that_has_begun_is_not_left_again,
            );
            contract!(@ 4, $fixture, groups:
                c05_a_refused_request_consumes_nothing,
                c05_the_refused_group_reports_what_is_still_there,
                a_shadow_is_charged_only_when_it_and_all_others_admit,
                a_batch_is_decided_as_if_its_groups_came_one_by_one,
                a_denial_may_be_cached_for_as_long_as_it_says,
            );
            contract!(@ 4, $fixture, races:
                m03_a_thousand_at_once_on_a_limit_of_five,
                m03_two_limits_at_once,
            );
            mod sixteen_threads {
                use super::races;
                contract!(@ 16, $fixture, races: m03_a_thousand_at_once_on_a_limit_of_five);
            }
        }
    };
    (@ $threads:literal, $fixture:ty, $module:ident: $($case:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = $threads)]
            async fn $case() {
                if <$fixture as crate::Fixture>::is_there() {
                    $module::$case::<$fixture>().await;
                }
            }
        )+
    };
}

contract!(memory, crate::Memory);
contract!(on_redis, crate::Shared<false, false>);
contract!(on_valkey, crate::Shared<false, true>);
contract!(on_redis_cluster, crate::Shared<true, false>);
contract!(on_valkey_cluster, crate::Shared<true, true>);

/// A server lets keys go by itself.
mod memory_alone {
    use super::{algorithms, races};
    contract!(@ 4, crate::Memory, algorithms: expired_keys_go_when_room_is_needed);
    contract!(@ 4, crate::Memory, races: m03_while_other_keys_come_and_go);
}
