//! The pure heart of Weir, a distributed rate limiter.
//!
//! ```text
//! Request ── PolicySet::charges ──▶ a group of charges        pure
//!         ── Store::apply ────────▶ an answer per charge      the only await; decides and commits in one step
//!               └─ per key: Algorithm::decide(quota, state, op, now) → Step     pure
//!         ── Verdict::of ─────────▶ Verdict                   pure; postures settled here
//! ```
//!
//! [`Limiter::check`] is these lines. Around it: the policy language ([`mod@file`]), and as pure functions what
//! several doors need: [`address`], [`path`] and response [`fields`].
//!
//! What this crate never has: a clock, a socket, an async runtime, a log. Time is an argument, a denial is
//! data, an error is a surprise.

pub mod address;
pub mod fields;
pub mod file;
pub mod path;

mod algorithm;
mod calendar;
mod cost;
mod decision;
mod key;
mod limiter;
mod operation;
mod policy;
mod precision;
mod quota;
mod recycled;
mod request;
mod rule;
mod store;
mod throttle;
mod time;
mod verdict;
mod window;
mod words;

pub use algorithm::{Algorithm, Change, Held, Log, LogChange, Op, Portable, State, StateRef, Step};
pub use calendar::{Calendar, CalendarError, CalendarUnit};
pub use cost::{Cost, REQUESTS, UNITS};
pub use decision::{Decision, Outcome};
pub use key::{Key, KeyBuilder, KeySecret, SecretTooShort};
pub use limiter::{Limiter, UnknownDomainAt};
pub use operation::{Answer, Answers, Batch, Operation, Receipt, Steps, decide_group};
pub use policy::{
    Allowance, Charge, Charges, Demand, Mode, Notes, OnMissing, Policy, PolicySet, Posture, Postures,
    UnknownDomain, Usage,
};
pub use precision::Precision;
pub use quota::{Quota, QuotaError, WINDOW_MAX, WINDOW_MIN};
pub use recycled::List;
pub use request::{CLIENT_IP, Descriptor, Layer, PATH, Request};
pub use rule::{PolicyId, Rule, RuleId, Terms};
pub use store::Store;
pub use throttle::{Throttle, ThrottleError};
pub use time::{Span, Timestamp};
pub use verdict::{Basis, Judgement, Verdict};
pub use window::Window;
