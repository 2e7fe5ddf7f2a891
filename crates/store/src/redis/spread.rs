//! Requests over several lanes, none of which can decide the whole: charged lane by lane, the narrowest policies
//! first, and given back by receipt where a later lane refuses (promise 3). Meanwhile others may see less than is
//! there, never more.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use weir_core::{Answer, Answers, Batch, Op, Operation, Outcome, Receipt};

use super::batcher::{Asked, Batcher};
use super::tags::lane;

/// The answers to a batch, in order. Not to be dropped halfway: what was charged would stay charged.
pub(super) async fn apply(lanes: &[Batcher], batch: Batch) -> Answers {
    let mut requests: Vec<Spread> = batch.groups().map(|group| Spread::of(group, lanes.len())).collect();
    loop {
        let mut calls: BTreeMap<usize, (Batch, Vec<(usize, Part)>)> = BTreeMap::new();
        for (number, request) in requests.iter_mut().enumerate() {
            for part in request.rounds.pop().unwrap_or_default() {
                let (batch, parts) = calls.entry(part.lane).or_default();
                part.push_to(batch);
                parts.push((number, part));
            }
        }
        if calls.is_empty() {
            break;
        }
        let mut asked: Vec<(Asked, Vec<(usize, Part)>)> = Vec::new();
        for (lane, (batch, parts)) in calls {
            if let Some(lane) = lanes.get(lane) {
                asked.push((lane.ask(batch, None).await, parts));
            }
        }
        for (asked, parts) in asked {
            let mut answers = asked.answers().await;
            let mut answers = answers.drain();
            for (number, part) in parts {
                if let Some(request) = requests.get_mut(number) {
                    request.take(part, &mut answers);
                }
            }
        }
    }
    let mut all = Answers::new();
    for answer in requests.into_iter().flat_map(|request| request.answers) {
        all.push(answer.unwrap_or(Answer::Unavailable { sent: true }));
    }
    all
}

/// A request on its way through its lanes.
struct Spread {
    /// What is still to be asked, the last first. The parts of a round go out together.
    rounds: Vec<Vec<Part>>,
    /// What was charged.
    charged: Vec<Part>,
    is_refused: bool,
    /// By place in the request.
    answers: Places<Option<Answer>>,
}

type Places<T> = SmallVec<[T; 4]>;

/// The operations of a request on one lane.
struct Part {
    lane: usize,
    /// What is given back first.
    given_back: Vec<Operation>,
    /// With their places in the request.
    operations: Places<(usize, Operation)>,
}

impl Spread {
    fn of(group: &[Operation], lanes: usize) -> Self {
        let mut operations: Places<(usize, Operation)> = group.iter().copied().enumerate().collect();
        // Shadows refuse nothing, so they are last where they are alone.
        operations.sort_by_key(|(_, operation)| (!operation.enforced, operation.rank));
        let mut parts: Vec<Part> = Vec::new();
        for (place, operation) in operations {
            let lane = lane(operation.key, lanes);
            match parts.iter_mut().find(|part| part.lane == lane) {
                Some(part) => part.operations.push((place, operation)),
                None => parts.push(Part::new(lane, [(place, operation)])),
            }
        }
        // Where nothing is charged, and where nothing is refused any more, all can be asked at once.
        let charges = group.iter().any(|operation| matches!(operation.op, Op::Take(_)));
        let (one_by_one, together): (Vec<Part>, Vec<Part>) =
            parts.into_iter().partition(|part| charges && part.is_enforced());
        let rounds = std::iter::once(together).chain(one_by_one.into_iter().rev().map(|part| vec![part]));
        Self {
            rounds: rounds.filter(|parts| !parts.is_empty()).collect(),
            charged: Vec::new(),
            is_refused: false,
            answers: group.iter().map(|_| None).collect(),
        }
    }

    /// Takes the answers to a part, of all answers that are left.
    fn take(&mut self, part: Part, answers: &mut impl Iterator<Item = Answer>) {
        answers.by_ref().take(part.given_back.len()).for_each(drop);
        let mut refuses = false;
        for ((place, operation), answer) in part.operations.iter().zip(answers) {
            refuses |= operation.enforced && is_refusal(&answer);
            if let Some(slot) = self.answers.get_mut(*place) {
                match (&slot, &answer) {
                    // What it said when it charged is better than nothing.
                    (Some(Answer::Decided { .. }), Answer::Unavailable { .. }) => {}
                    _ => *slot = Some(answer),
                }
            }
        }
        if refuses && !self.is_refused {
            self.refuse();
        } else {
            self.charged.push(part);
        }
    }

    /// Gives back what was charged, and asks everything else without charging, so that each reports what is
    /// still there.
    fn refuse(&mut self) {
        self.is_refused = true;
        let left = std::mem::take(&mut self.rounds).into_iter().rev().flatten();
        let mut parts: Vec<Part> = left.map(Part::asking).collect();
        for mut part in std::mem::take(&mut self.charged) {
            let mut given_back = Vec::new();
            // What else it did is done.
            part.operations.retain(|(_, operation)| matches!(operation.op, Op::Take(_)));
            for (place, _) in &part.operations {
                if let Some(Some(Answer::Decided { receipt, .. })) = self.answers.get_mut(*place) {
                    given_back.extend(receipt.take().map(Receipt::give_back));
                }
            }
            if !given_back.is_empty() {
                parts.push(Part { given_back, ..part.asking() });
            }
        }
        if !parts.is_empty() {
            self.rounds.push(parts);
        }
    }
}

/// Whether the store refused.
pub(super) fn is_refusal(answer: &Answer) -> bool {
    matches!(answer, Answer::Decided { decision, .. } if decision.outcome != Outcome::Allow)
}

impl Part {
    fn new(lane: usize, operations: impl IntoIterator<Item = (usize, Operation)>) -> Self {
        Self { lane, given_back: Vec::new(), operations: operations.into_iter().collect() }
    }

    fn is_enforced(&self) -> bool {
        self.operations.iter().any(|(_, operation)| operation.enforced)
    }

    /// The same without a charge.
    fn asking(mut self) -> Self {
        for (_, operation) in &mut self.operations {
            if let Op::Take(cost) = operation.op {
                operation.op = Op::Peek(cost);
            }
        }
        self
    }

    fn push_to(&self, batch: &mut Batch) {
        self.given_back.iter().for_each(|give| batch.push([*give]));
        batch.push(self.operations.iter().map(|(_, operation)| *operation));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::{Algorithm, Key, PolicyId, Precision, Quota, Rule, Span};

    const LANES: usize = 64;

    /// An operation whose key is on the lane of that number.
    fn operation(lane: u128, rank: u16, enforced: bool, op: Op) -> Operation {
        let (algorithm, window) = (Algorithm::TokenBucket, Span::from_secs(60));
        let quota = Quota::settle_for(Precision::Double, algorithm, 5, window, None).unwrap();
        let rule = Rule::new(PolicyId(rank.into()), algorithm, quota);
        Operation { rank, enforced, ..Operation::new(Key(lane), rule, op) }
    }

    /// The lanes of each round, first to last, with the places of what is asked there.
    fn rounds(group: &[Operation]) -> Vec<Vec<(usize, Vec<usize>)>> {
        let places = |part: &Part| part.operations.iter().map(|(place, _)| *place).collect();
        let round = |parts: &Vec<Part>| parts.iter().map(|part| (part.lane, places(part))).collect();
        Spread::of(group, LANES).rounds.iter().rev().map(round).collect()
    }

    #[test]
    fn promise_3_the_narrowest_is_charged_first_and_shadows_last() {
        let group = [
            operation(1, 4, true, Op::Take(1)),
            operation(2, 3, false, Op::Take(1)),
            operation(3, 2, true, Op::Take(1)),
            operation(1, 1, false, Op::Take(1)),
            operation(3, 5, true, Op::Take(1)),
            operation(4, 0, false, Op::Take(1)),
        ];
        let expected = [vec![(3, vec![2, 4])], vec![(1, vec![0, 3])], vec![(4, vec![5]), (2, vec![1])]];
        assert_eq!(rounds(&group), expected);
        let asking = group.map(|o| Operation { op: Op::Peek(1), ..o });
        assert_eq!(rounds(&asking).len(), 1, "what charges nothing is asked at once");
    }
}
