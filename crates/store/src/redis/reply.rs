//! What the script returns, and the answers that follow from it.
//!
//! The script says who was admitted and wrote what became of the states. The figures come from `weir-core`,
//! which is asked the same question: the states as they were read, at the same time. Where the two disagree,
//! one of them is wrong, and no answer is given.

use ::redis::{FromRedisValue, RedisError, Value};
use smallvec::SmallVec;
use weir_core::{
    Answer, Answers, Batch, Held, Op, Operation, Outcome, Portable, Rule, StateRef, Step, Steps, Timestamp,
    decide_group,
};

use super::call::Call;
use super::denials::Told;
use super::micros;
use super::script::letter;
use super::value;

/// What the script returned.
#[derive(Debug)]
pub(super) struct Reply {
    /// How the secret stands in the store.
    pub(super) secret: SecretStands,
    /// When it decided.
    pub(super) now: Timestamp,
    /// A letter for each operation.
    letters: Vec<u8>,
    /// The values of the keys before.
    values: Vec<Option<Vec<u8>>>,
}

/// How the secret of keys stands in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretStands {
    /// It is the caller's.
    Kept,
    /// There is none any more; what was asked was decided all the same.
    Lost,
    /// It is another one; nothing was decided.
    Changed,
}

/// What is wrong with a group that was left alone, or with the answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The edges of its calendar windows did not reach the server's time.
    BeyondEdges,
    /// One of its keys holds what is not ours, or of another version.
    NotOurs,
    /// The script and the core decided differently.
    Disagreement,
}

impl Reply {
    pub(super) fn read(value: Value) -> Result<Self, RedisError> {
        let (secret, now, letters, values): (String, u64, Vec<u8>, Vec<Option<Vec<u8>>>) =
            FromRedisValue::from_redis_value(value)?;
        let secret = match secret.as_str() {
            "kept" => SecretStands::Kept,
            "lost" => SecretStands::Lost,
            _ => SecretStands::Changed,
        };
        Ok(Self { secret, now: micros::instant(now), letters, values })
    }

    /// Decides as the script did.
    pub(super) fn decided(self, batch: &Batch, call: &Call) -> Decided {
        let mut slots: Vec<Slot> = self.values.iter().map(|value| Slot::of(value.as_deref())).collect();
        let mut answers = Answers::new();
        let (mut keys, mut letters) = (call.key_of.as_slice(), self.letters.as_slice());
        let answer = |group: &[Operation]| {
            let (keys_here, letters_here);
            (keys_here, keys) = keys.split_at_checked(group.len()).unwrap_or_default();
            (letters_here, letters) = letters.split_at_checked(group.len()).unwrap_or_default();
            let trouble = trouble(letters_here, group.len()).or_else(|| {
                decide(group, keys_here, letters_here, &mut slots, self.now, &mut answers).err()
            })?;
            let sent = trouble == Trouble::Disagreement;
            for _ in group {
                answers.push(Answer::Unavailable { sent });
            }
            Some(trouble)
        };
        let troubles = batch.groups().map(answer).collect();
        Decided { answers, troubles, slots }
    }
}

/// What a call came to.
pub(super) struct Decided {
    pub(super) answers: Answers,
    /// For each group what was wrong, if anything.
    pub(super) troubles: Vec<Option<Trouble>>,
    slots: Vec<Slot>,
}

impl Decided {
    /// What there is to tell of each key.
    pub(super) fn told<'a>(&'a self, batch: &Batch, call: &Call) -> impl Iterator<Item = Told<'a>> {
        let held = |slot: &'a Slot| slot.rule.zip(slot.held.as_ref());
        let keys = call.keys.iter().zip(&self.slots);
        let mut told: Vec<Told<'a>> = keys
            .map(|(key, slot)| Told { key: *key, refused: None, is_undone: false, held: held(slot) })
            .collect();
        for ((operation, key), answer) in batch.operations().iter().zip(&call.key_of).zip(&*self.answers) {
            let Some(told) = told.get_mut(*key) else { continue };
            told.is_undone |= operation.op.undoes();
            if let (Op::Take(cost) | Op::Peek(cost), Answer::Decided { cacheable_for: Some(_), .. }) =
                (operation.op, answer)
            {
                told.refused = Some(told.refused.map_or(cost, |refused| refused.min(cost)));
            }
        }
        told.into_iter()
    }
}

fn trouble(letters: &[u8], count: usize) -> Option<Trouble> {
    if letters.contains(&letter::NOT_OURS) {
        Some(Trouble::NotOurs)
    } else if letters.contains(&letter::BEYOND_EDGES) {
        Some(Trouble::BeyondEdges)
    } else {
        (letters.len() != count).then_some(Trouble::Disagreement)
    }
}

/// Decides a group as the script did, on the states as they were read and as the groups before it left them.
fn decide(
    group: &[Operation],
    keys: &[usize],
    letters: &[u8],
    slots: &mut [Slot],
    now: Timestamp,
    answers: &mut Answers,
) -> Result<(), Trouble> {
    let mut group: SmallVec<[Operation; 12]> = group.into();
    for (operation, key) in group.iter_mut().zip(keys) {
        slots.get_mut(*key).ok_or(Trouble::Disagreement)?.prepare_for(operation, now);
    }
    let mut steps = Steps::new();
    let state = |i: usize| Some(Held::as_ref(slots.get(*keys.get(i)?)?.held.as_ref()));
    decide_group(&group, |i| state(i).unwrap_or(StateRef::Fresh), now, &mut steps);
    let says = |(step, letter): (&Step, &u8)| match step.decision.outcome {
        Outcome::Allow => *letter == letter::FITS,
        _ => *letter == letter::DOES_NOT_FIT,
    };
    if !steps.iter().zip(letters).all(says) {
        return Err(Trouble::Disagreement);
    }
    for ((operation, key), step) in group.iter().zip(keys).zip(&steps) {
        if let Some(slot) = slots.get_mut(*key) {
            step.change.apply_to(&mut slot.held);
        }
        answers.push(operation.answer(step, operation.key));
    }
    Ok(())
}

/// A key's state while a call is answered.
struct Slot {
    /// As it was read, until the first rule asks for it.
    read: Option<Portable>,
    /// What was held at last is meant under this rule.
    rule: Option<Rule>,
    held: Option<Held>,
}

impl Slot {
    fn of(value: Option<&[u8]>) -> Self {
        Self { read: value.and_then(value::state), rule: None, held: None }
    }

    /// Brings what is held under the rule of an operation. What is given back is reckoned by the quota that
    /// the key stands under, and does not bring it under another.
    fn prepare_for(&mut self, operation: &mut Operation, now: Timestamp) {
        match (self.rule, operation.op) {
            (None, Op::Give { at, amount }) if matches!(self.read, Some(Portable::Level { .. })) => {
                if let Some(level) = &mut self.read {
                    level.give_back(at, amount, now);
                    self.held = operation.rule.held(level);
                    // It is done; what is left to say is where the allowance stands.
                    operation.op = Op::Give { at: now, amount: 0 };
                }
            }
            (None, _) => {
                self.held = self.read.take().and_then(|state| operation.rule.held(&state));
                self.rule = Some(operation.rule);
            }
            (Some(rule), Op::Give { .. }) => operation.rule = rule,
            (Some(rule), _) if rule != operation.rule => {
                if let Some(Held::Cell(state)) = &mut self.held {
                    *state = operation.rule.rebase(state, rule);
                }
                self.rule = Some(operation.rule);
            }
            _ => {}
        }
    }
}
