//! Promise 1 across the two implementations: the script and `weir-core` decide alike, to the unit and to the
//! microsecond, over random histories of all algorithms, mixed costs, groups, batches and changed quotas.
//! `WEIR_DIFFERENTIAL_STEPS` sets how many operations are compared; `WEIR_SEED` repeats a run.

use std::num::NonZeroU64;

use weir_core::{
    Algorithm, Answer, Answers, Batch, Calendar, CalendarUnit, Key, KeyBuilder, KeySecret, Op, Operation,
    PolicyId, Precision, Quota, Receipt, Rule, Span, Store as _, Timestamp, Window,
};
use weir_servers::{Cluster, Kind};
use weir_store::{ManualClock, MemoryStore, OwnSecret, RedisStore};

use crate::{Random, block_on, prefix, settings};

const STEPS: usize = 40_000;
/// So many operations on one set of policies, before others are drawn.
const STEPS_A_WORLD: usize = 2_000;
const KEYS: u64 = 5;

/// A policy whose limit changes now and then.
struct Policy {
    algorithm: Algorithm,
    window: Window,
    id: PolicyId,
    /// The largest limit that is drawn.
    limit_max: u64,
    rule: Rule,
}

impl Policy {
    fn draw(random: &mut Random, number: u64) -> Self {
        let algorithm = Algorithm::ALL[random.below(Algorithm::ALL.len() as u64) as usize];
        let units = [CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month];
        let window = if algorithm == Algorithm::FixedWindow && random.below(3) == 0 {
            Window::Calendar(
                Calendar::new(units[random.below(3) as usize], "America/New_York", None).unwrap(),
            )
        } else {
            let micros = [1_000, 7_001, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000];
            Span::from_nanos(micros[random.below(6) as usize] * 1_000).into()
        };
        let limit_max = [1, 10, 100, 10_000_000][random.below(4) as usize];
        let id = PolicyId(number);
        let mut policy =
            Self { algorithm, window, id, limit_max, rule: rule(id, algorithm, 1, window, None) };
        policy.change(random);
        policy
    }

    fn change(&mut self, random: &mut Random) {
        let limit = random.below(self.limit_max.min(if self.algorithm == Algorithm::SlidingLog {
            200
        } else {
            u64::MAX
        })) + 1;
        let burst = NonZeroU64::new(random.below(2 * limit)).filter(|_| self.algorithm.has_burst());
        self.rule = rule(self.id, self.algorithm, limit, self.window, burst);
    }

    fn length(&self) -> u64 {
        self.window.length().unwrap_or(Span::from_secs(86_400)).nanos()
    }
}

fn rule(id: PolicyId, algorithm: Algorithm, limit: u64, window: Window, burst: Option<NonZeroU64>) -> Rule {
    Rule::new(id, algorithm, Quota::settle_for(Precision::Double, algorithm, limit, window, burst).unwrap())
}

/// Policies, and what is in the hands of their clients.
struct World {
    policies: Vec<Policy>,
    receipts: Vec<(Receipt, Receipt)>,
}

impl World {
    fn group(&mut self, random: &mut Random) -> Vec<Operation> {
        if let Some((receipt, twin)) = self.receipts.pop().filter(|_| random.below(3) == 0) {
            assert_eq!(receipt, twin);
            return vec![receipt.give_back()];
        }
        let count = 1 + random.below(3) as usize;
        let first = random.below(self.policies.len() as u64) as usize;
        let policies = self.policies.iter().cycle().skip(first).take(count.min(self.policies.len()));
        let mut operation = |policy: &Policy| {
            let capacity = policy.rule.quota.capacity();
            let amount = match random.below(8) {
                0 => random.below(2 * capacity + 1),
                1 => capacity,
                _ => random.below(capacity / 4 + 1) + 1,
            };
            let op = match random.below(40) {
                0 => Op::Reset,
                1 => Op::Adjust(amount.cast_signed()),
                2 => Op::Adjust(-amount.cast_signed()),
                3 => {
                    [Op::Adjust(i64::MAX), Op::Adjust(i64::MIN), Op::Take(u64::MAX)][random.below(3) as usize]
                }
                4..8 => Op::Peek(amount),
                _ => Op::Take(amount),
            };
            let key = key(policy.id, random.below(KEYS));
            Operation { enforced: random.below(4) != 0, ..Operation::new(key, policy.rule, op) }
        };
        policies.map(&mut operation).collect()
    }
}

fn key(PolicyId(policy): PolicyId, number: u64) -> Key {
    let start = KeyBuilder::new(&KeySecret::new([7; 16]));
    start.part(&policy.to_le_bytes()).part(&number.to_le_bytes()).key()
}

/// Where the script runs.
#[derive(Clone, Copy, Debug)]
enum Place {
    Server(Kind),
    /// Its requests are over several lanes, so one sees what another has charged for the moment, and what is given
    /// back was charged for a moment, by the quota of that moment: requests come one by one, time runs forwards,
    /// and quotas stay.
    Cluster(Kind),
}

impl Place {
    fn is_wanted(self) -> bool {
        match self {
            Self::Server(kind) | Self::Cluster(kind) => kind.is_wanted(),
        }
    }

    fn url(self) -> String {
        match self {
            Self::Server(kind) => kind.shared().url(),
            Self::Cluster(kind) => Cluster::shared(kind).url(),
        }
    }

    const fn is_cluster(self) -> bool {
        matches!(self, Self::Cluster(_))
    }
}

fn differ_nowhere(place: Place) {
    if !place.is_wanted() {
        return;
    }
    let steps = std::env::var("WEIR_DIFFERENTIAL_STEPS").map_or(STEPS, |text| text.parse().unwrap());
    let mut random = Random::from_environment();
    block_on(async {
        let mut done = 0;
        while done < steps {
            done += one_world(place, &mut random).await;
        }
        println!("{done} operations on {place:?} and in memory were decided alike");
    });
}

async fn one_world(place: Place, random: &mut Random) -> usize {
    let clock =
        ManualClock::at(Timestamp::from_nanos(1_793_400_000_000_000_000 + random.below(1 << 50) * 1_000));
    let memory = MemoryStore::with_clock(clock.clone());
    let secret = OwnSecret::Drawn([7; 16]);
    let (redis, _) =
        RedisStore::with_clock(&settings(&place.url(), &prefix()), &secret, clock.clone()).await.unwrap();
    let policies = (0..2 + random.below(4)).map(|number| Policy::draw(random, number)).collect();
    let mut world = World { policies, receipts: Vec::new() };
    let mut done = 0;
    while done < STEPS_A_WORLD {
        pass_time(&world, &clock, place, random);
        if !place.is_cluster() && random.below(30) == 0 {
            let changed = random.below(world.policies.len() as u64) as usize;
            world.policies[changed].change(random);
        }
        let groups = if place.is_cluster() || random.below(2) == 0 { 1 } else { 1 + random.below(20) };
        let batch: Batch = (0..groups).map(|_| world.group(random)).collect();
        let asked = batch.operations().to_vec();
        done += asked.len();
        let (ours, theirs) = (memory.apply(batch.clone()).await, redis.apply(batch).await);
        compare(&mut world, &asked, ours, theirs);
    }
    done
}

/// Nothing, a little, about a window, or a step backwards.
fn pass_time(world: &World, clock: &ManualClock, place: Place, random: &mut Random) {
    use weir_store::Clock as _;
    let length = world.policies[random.below(world.policies.len() as u64) as usize].length() / 1_000;
    let micros = match random.below(10) {
        0..4 => 0,
        4..8 => random.below(length / 10 + 2),
        8 => random.below(3 * length),
        _ if place.is_cluster() => 0,
        _ => {
            let back = random.below(length);
            clock.set(Timestamp::from_nanos(clock.now().nanos() - back * 1_000));
            0
        }
    };
    clock.advance(Span::from_nanos(micros * 1_000));
}

fn compare(world: &mut World, asked: &[Operation], mut ours: Answers, mut theirs: Answers) {
    assert_eq!((ours.len(), theirs.len()), (asked.len(), asked.len()));
    for ((operation, ours), theirs) in asked.iter().zip(ours.drain()).zip(theirs.drain()) {
        match operation.op {
            // Under which quota the standing is told after a change of it is each store's choice.
            Op::Give { .. } => assert!(matches!(theirs, Answer::Decided { receipt: None, .. })),
            _ => assert_eq!(ours, theirs, "{operation:?}"),
        }
        if let (Answer::Decided { receipt: Some(ours), .. }, Answer::Decided { receipt: Some(theirs), .. }) =
            (ours, theirs)
        {
            world.receipts.push((ours, theirs));
        }
    }
}

#[test]
fn promise_1_redis_and_the_core_decide_alike() {
    differ_nowhere(Place::Server(Kind::Redis));
}

#[test]
fn promise_1_valkey_and_the_core_decide_alike() {
    differ_nowhere(Place::Server(Kind::Valkey));
}

#[test]
fn promise_3_a_redis_cluster_and_the_core_decide_alike() {
    differ_nowhere(Place::Cluster(Kind::Redis));
}

#[test]
fn promise_3_a_valkey_cluster_and_the_core_decide_alike() {
    differ_nowhere(Place::Cluster(Kind::Valkey));
}
