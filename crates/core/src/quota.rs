//! A quota: limit, window and burst, settled into exact integers at a tick.

use std::num::NonZeroU64;

use thiserror::Error;

use crate::algorithm::{Algorithm, SLIDING_LOG_LIMIT_MAX, SLIDING_WINDOW_LIMIT_MAX};
use crate::precision::Precision;
use crate::time::{Span, Timestamp};
use crate::window::Window;

/// The shortest window: below it the answer takes longer than the wait.
pub const WINDOW_MIN: Span = Span::from_millis(1);
/// The longest window, and the longest a full bucket may take to drain: 100 years of 365 days.
pub const WINDOW_MAX: Span = Span::from_secs(100 * 365 * 86_400);
/// The coarsest tick that is accepted; a coarser one could not keep a `Retry-After` of whole seconds.
const TICK_MAX: u64 = 1_000_000_000;

/// An allowance of `limit` units per `window`, at most `burst` of them at once, with its arithmetic settled.
///
/// A rate is kept as the reduced fraction `leak / scale`: per tick, `leak` parts flow off, and a unit is
/// `scale` parts. Nothing is ever rounded: 3 per second never drifts, 1 per 30 days and 10⁹ per second both
/// hold. The tick is the finest power of ten of nanoseconds at which `burst × scale` stays under 2⁶², or
/// under 2⁵² in doubles, where no tick is finer than a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    limit: u64,
    window: Window,
    burst: u64,
    tick: u64,
    leak: u64,
    scale: u64,
    precision: Precision,
}

/// Why a quota cannot be held exactly.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuotaError {
    /// The window is outside [`WINDOW_MIN`] to [`WINDOW_MAX`].
    #[error("the window must be from {WINDOW_MIN} to 36500d")]
    Window,
    /// The store cannot tell instants so close.
    #[error("the window must be a whole number of microseconds: this store counts no finer")]
    TooFine,
    /// The algorithm has no burst.
    #[error("`{0}` has no burst: it admits its limit at once")]
    BurstUnused(Algorithm),
    /// Only a fixed window can be as the calendar has it.
    #[error("`{0}` has no calendar windows")]
    Calendar(Algorithm),
    /// The products of limit and window do not fit the store's numbers at any tick.
    #[error("out of range: at this window the highest limit that stays exact is {0}")]
    LimitTooLarge(u64),
    /// The products of burst and window do not fit the store's numbers at any tick.
    #[error("out of range: at this rate the highest burst that stays exact is {0}")]
    BurstTooLarge(u64),
    /// Draining the burst at this rate would take longer than [`WINDOW_MAX`].
    #[error("a full burst would take more than 100 years to drain: the highest burst at this rate is {0}")]
    TooSlow(u64),
}

impl Quota {
    /// Settles `limit` units per `window` for `algorithm`, with `burst` (buckets only; the limit if unsaid),
    /// for a store in memory.
    ///
    /// # Errors
    ///
    /// As [`Quota::settle_for`].
    pub fn settle(
        algorithm: Algorithm,
        limit: u64,
        window: impl Into<Window>,
        burst: Option<NonZeroU64>,
    ) -> Result<Self, QuotaError> {
        Self::settle_for(Precision::Integer, algorithm, limit, window, burst)
    }

    /// Settles a quota for a store with this arithmetic.
    ///
    /// A limit of 0 is accepted and means that nothing is ever admitted. The limit of a log is at most 2²⁴
    /// here; policy files allow less, unless told otherwise.
    ///
    /// # Errors
    ///
    /// The figures are out of range, or the algorithm has no burst; see [`QuotaError`].
    pub fn settle_for(
        precision: Precision,
        algorithm: Algorithm,
        limit: u64,
        window: impl Into<Window>,
        burst: Option<NonZeroU64>,
    ) -> Result<Self, QuotaError> {
        let window = window.into();
        let length = match window {
            Window::Length(length) if (WINDOW_MIN..=WINDOW_MAX).contains(&length) => length,
            Window::Length(_) => return Err(QuotaError::Window),
            Window::Calendar(_) if algorithm != Algorithm::FixedWindow => {
                return Err(QuotaError::Calendar(algorithm));
            }
            Window::Calendar(calendar) => calendar.longest(),
        };
        if !length.nanos().is_multiple_of(precision.tick_min()) {
            return Err(QuotaError::TooFine);
        }
        match algorithm {
            Algorithm::TokenBucket | Algorithm::LeakyBucket => Self::bucket(precision, limit, length, burst),
            _ if burst.is_some() => Err(QuotaError::BurstUnused(algorithm)),
            Algorithm::FixedWindow => Self::counted(precision, limit, window, precision.product_max()),
            Algorithm::SlidingWindow => Self::sliding(precision, limit, length),
            Algorithm::SlidingLog => Self::counted(precision, limit, window, SLIDING_LOG_LIMIT_MAX),
        }
    }

    /// A quota whose units are counted whole.
    fn counted(precision: Precision, limit: u64, window: Window, limit_max: u64) -> Result<Self, QuotaError> {
        if limit > limit_max {
            return Err(QuotaError::LimitTooLarge(limit_max));
        }
        Ok(Self { limit, window, burst: limit, tick: precision.tick_min(), leak: 1, scale: 1, precision })
    }

    /// A quota whose units are seen in part: a unit is as many parts as the window has ticks.
    fn sliding(precision: Precision, limit: u64, window: Span) -> Result<Self, QuotaError> {
        let mut refusal = QuotaError::Window;
        for tick in ticks(precision, window) {
            let scale = window.nanos() / tick;
            let highest = down_to_64_bits(precision.wide_max() / u128::from(scale));
            let highest = highest.min(SLIDING_WINDOW_LIMIT_MAX);
            if limit <= highest {
                let window = window.into();
                return Ok(Self { limit, window, burst: limit, tick, leak: 1, scale, precision });
            }
            refusal = QuotaError::LimitTooLarge(highest);
        }
        Err(refusal)
    }

    fn bucket(
        precision: Precision,
        limit: u64,
        window: Span,
        burst: Option<NonZeroU64>,
    ) -> Result<Self, QuotaError> {
        let product_max = u128::from(precision.product_max());
        // Nothing of a limit of 0 may pass, whatever the burst says.
        let capacity = if limit == 0 { 0 } else { burst.map_or(limit, NonZeroU64::get) };
        let mut refusal = QuotaError::Window;
        for tick in ticks(precision, window) {
            let ticks = window.nanos() / tick;
            // A limit of 0 lets what an earlier quota left behind drain at one unit per window.
            let divisor = gcd(limit.max(1), ticks);
            let (leak, scale) = (limit.max(1) / divisor, ticks / divisor);
            if burst.is_some() && leak > precision.level_max() {
                refusal = QuotaError::LimitTooLarge(precision.product_max());
                continue;
            }
            if u128::from(capacity) * u128::from(scale) <= product_max {
                let window = window.into();
                return Self { limit, window, burst: capacity, tick, leak, scale, precision }.if_it_drains();
            }
            refusal = match burst {
                Some(_) => QuotaError::BurstTooLarge(down_to_64_bits(
                    (product_max / u128::from(scale)).min(slowest_burst(limit, window)),
                )),
                // A multiple of the ticks is a whole number of units a tick, which needs the least room.
                None => {
                    QuotaError::LimitTooLarge(down_to_64_bits(product_max - product_max % u128::from(ticks)))
                }
            };
        }
        Err(refusal)
    }

    fn if_it_drains(self) -> Result<Self, QuotaError> {
        let highest = slowest_burst(self.limit, self.span());
        if u128::from(self.burst) <= highest {
            Ok(self)
        } else {
            Err(QuotaError::TooSlow(down_to_64_bits(highest)))
        }
    }

    /// The part of this quota that one of so many nodes may admit on its own: `max(1, limit ÷ nodes)`, and the
    /// burst alike. A limit of 0 stays one.
    ///
    /// # Errors
    ///
    /// The share does not fit the numbers of a store in memory, as next to [`WINDOW_MAX`].
    pub fn share(&self, algorithm: Algorithm, nodes: NonZeroU64) -> Result<Self, QuotaError> {
        let part = |units: u64| (units / nodes).max(1);
        let limit = if self.limit == 0 { 0 } else { part(self.limit) };
        let burst = NonZeroU64::new(part(self.burst)).filter(|_| algorithm.has_burst());
        Self::settle(algorithm, limit, self.window, burst)
    }

    /// Units per window.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The window that the limit counts in.
    pub const fn window(&self) -> Window {
        self.window
    }

    /// The window's length; of a calendar window the longest that it can be.
    pub const fn span(&self) -> Span {
        match self.window {
            Window::Length(length) => length,
            Window::Calendar(calendar) => calendar.longest(),
        }
    }

    /// The most units that fit at once: the burst of a bucket, the limit of a window.
    pub const fn capacity(&self) -> u64 {
        self.burst
    }

    /// The finest time step that this quota's arithmetic distinguishes.
    pub const fn tick(&self) -> Span {
        Span::from_nanos(self.tick)
    }

    /// Parts that flow off a bucket per tick.
    pub const fn leak(&self) -> u64 {
        self.leak
    }

    /// The most that a state can say is used, in parts.
    pub(crate) const fn level_max(&self) -> u64 {
        self.precision.level_max()
    }

    /// The arithmetic that it was settled for.
    pub const fn precision(&self) -> Precision {
        self.precision
    }

    /// Parts that make one unit, of a bucket's level or of a sliding window's estimate.
    pub const fn scale(&self) -> u64 {
        self.scale
    }

    /// The index of the window around an instant. Windows start at the epoch.
    pub(crate) const fn window_index(&self, at: Timestamp) -> u64 {
        at.nanos() / self.span().nanos()
    }

    /// The instant at which the window with this index starts.
    pub(crate) const fn window_start(&self, index: u64) -> Timestamp {
        Timestamp::from_nanos(index.saturating_mul(self.span().nanos()))
    }

    /// `now` in whole ticks.
    pub(crate) const fn ticks_at(&self, now: Timestamp) -> u64 {
        self.ticks_in(now.since(Timestamp::from_nanos(0)))
    }

    /// The whole ticks of a length of time.
    pub(crate) const fn ticks_in(&self, span: Span) -> u64 {
        // Nearly always; a division is what a decision spends most on.
        if self.tick == 1 { span.nanos() } else { span.nanos() / self.tick }
    }

    /// The time from `now` until `ticks` further ticks have begun.
    pub(crate) const fn span_to(&self, ticks: u64, now: Timestamp) -> Span {
        if self.tick == 1 {
            return Span::from_nanos(ticks);
        }
        Span::from_nanos(ticks.saturating_mul(self.tick).saturating_sub(now.nanos() % self.tick))
    }

    /// The ticks after which so many parts have flowed off.
    pub(crate) const fn ticks_to_leak(&self, parts: u64) -> u64 {
        if self.leak == 1 { parts } else { parts.div_ceil(self.leak) }
    }
}

/// The ticks that a window can be counted in, the finest first.
fn ticks(precision: Precision, window: Span) -> impl Iterator<Item = u64> {
    let finer = std::iter::successors(Some(precision.tick_min()), |tick| Some(tick * 10));
    finer.take_while(move |tick| *tick <= TICK_MAX && window.nanos().is_multiple_of(*tick))
}

/// The largest burst that drains within [`WINDOW_MAX`].
fn slowest_burst(limit: u64, window: Span) -> u128 {
    u128::from(WINDOW_MAX.nanos()) * u128::from(limit.max(1)) / u128::from(window.nanos())
}

fn down_to_64_bits(wide: u128) -> u64 {
    u64::try_from(wide).unwrap_or(u64::MAX)
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUCKET: Algorithm = Algorithm::TokenBucket;
    const YEAR: Span = Span::from_secs(365 * 86_400);

    #[test]
    fn a_rate_is_a_reduced_fraction() {
        let quota = Quota::settle(BUCKET, 3, Span::from_secs(1), None).unwrap();
        assert_eq!((quota.leak(), quota.scale(), quota.tick()), (3, 1_000_000_000, Span::from_nanos(1)));
        let fast = Quota::settle(BUCKET, 1_000_000_000, Span::from_secs(1), None).unwrap();
        assert_eq!((fast.leak(), fast.scale()), (1, 1));
        let slow = Quota::settle(BUCKET, 1, Span::from_secs(30 * 86_400), None).unwrap();
        assert_eq!((slow.leak(), slow.scale(), slow.tick()), (1, 2_592_000_000_000_000, Span::from_nanos(1)));
    }

    #[test]
    fn the_tick_grows_where_the_products_would_not_fit() {
        let quota = Quota::settle(BUCKET, 1_000_000_007, Span::from_secs(30 * 86_400), None).unwrap();
        assert_eq!(quota.tick(), Span::from_millis(1));
    }

    #[test]
    fn t06_a_rate_above_one_per_nanosecond_works() {
        let quota = Quota::settle(BUCKET, 2_000_000_000, Span::from_secs(1), None).unwrap();
        assert_eq!((quota.leak(), quota.scale()), (2, 1));
    }

    fn burst(burst: u64) -> Option<NonZeroU64> {
        NonZeroU64::new(burst)
    }

    #[test]
    fn what_cannot_be_held_is_refused_with_the_highest_that_can() {
        for window in
            [Span::from_secs(1), Span::from_secs(60), Span::from_secs(7 * 86_400), Span::from_millis(1)]
        {
            let error = Quota::settle(BUCKET, u64::MAX, window, None).unwrap_err();
            let QuotaError::LimitTooLarge(highest) = error else { panic!("{error}") };
            assert!(Quota::settle(BUCKET, highest, window, None).is_ok(), "{highest} at {window}");
            assert!(Quota::settle(BUCKET, highest + 1, window, None).is_err(), "{highest} at {window}");
        }
        let error = Quota::settle(BUCKET, 1, YEAR, burst(101)).unwrap_err();
        assert_eq!(error, QuotaError::TooSlow(100));
        assert!(Quota::settle(BUCKET, 1, YEAR, burst(100)).is_ok());
    }

    #[test]
    fn t06_doubles_hold_less_and_say_how_much() {
        let settle =
            |algorithm, limit, window| Quota::settle_for(Precision::Double, algorithm, limit, window, None);
        let fast = settle(BUCKET, 1_000_000_000, Span::from_secs(1)).unwrap();
        assert_eq!((fast.leak(), fast.scale(), fast.tick()), (1_000, 1, Span::from_nanos(1_000)));
        for (algorithm, window) in [
            (BUCKET, Span::from_secs(7 * 86_400)),
            (Algorithm::SlidingWindow, Span::from_secs(7 * 86_400)),
            (Algorithm::SlidingWindow, Span::from_millis(1_001)),
            (Algorithm::FixedWindow, Span::from_secs(60)),
        ] {
            let error = settle(algorithm, u64::MAX, window).unwrap_err();
            let QuotaError::LimitTooLarge(highest) = error else { panic!("{error}") };
            assert!(settle(algorithm, highest, window).is_ok(), "{algorithm}: {highest} at {window}");
            assert!(settle(algorithm, highest + 1, window).is_err(), "{algorithm}: {highest} at {window}");
        }
        assert_eq!(settle(BUCKET, 1, Span::from_nanos(1_500_001)), Err(QuotaError::TooFine));
        let day = settle(Algorithm::SlidingWindow, 1_000_000, Span::from_secs(86_400)).unwrap();
        assert_eq!(
            day.tick(),
            Span::from_nanos(100_000),
            "a limit of a million a day does not fit finer ones"
        );
    }

    #[test]
    fn g06_a_limit_of_zero_holds_nothing_whatever_its_burst() {
        let blocked = Quota::settle(BUCKET, 0, Span::from_secs(60), burst(5)).unwrap();
        assert_eq!(blocked.capacity(), 0);
    }

    #[test]
    fn windows_have_no_burst() {
        let window = Algorithm::FixedWindow;
        assert_eq!(
            Quota::settle(window, 1, Span::from_secs(1), burst(2)),
            Err(QuotaError::BurstUnused(window))
        );
        assert_eq!(Quota::settle(window, 1, Span::from_nanos(5), None), Err(QuotaError::Window));
    }
}
