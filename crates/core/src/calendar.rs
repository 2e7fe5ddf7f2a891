//! Calendar windows: days, weeks, months and years as a time zone counts them.
//!
//! A day lasts 23 or 25 hours where the clocks are changed, and a month 28 to 31 days; a plain window never
//! does. Zones are those of the IANA database that is built in, so a machine's own settings change nothing.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use thiserror::Error;

use crate::time::{Span, Timestamp};
use crate::words::words;

words! {
    /// What a calendar window is as long as.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum CalendarUnit {
        /// From midnight to midnight.
        Day = "day",
        /// From Monday, unless an anchor names another day of the week.
        Week = "week",
        /// From the first, unless an anchor names another day of the month.
        Month = "month",
        /// From the first of January, unless an anchor names another day of the year.
        Year = "year",
    }
}

/// A calendar window in its zone, from its anchor.
///
/// Calendars are few and live as long as the process, one for each distinct choice, so that what is counted
/// by them stays as small and as easily copied as any other quota.
#[derive(Clone, Copy)]
pub struct Calendar(&'static Choice);

#[derive(Debug, PartialEq)]
struct Choice {
    unit: CalendarUnit,
    zone: TimeZone,
    zone_name: String,
    anchor: Option<Date>,
}

/// Why there is no such calendar.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CalendarError {
    /// The zone is not in the IANA database.
    #[error("there is no time zone `{0}`")]
    Zone(String),
    /// The date does not exist, or is not one.
    #[error("`{0}` is not a date of the calendar")]
    Anchor(String),
    /// Every day starts at midnight.
    #[error("a day has no anchor: it starts at midnight")]
    AnchoredDay,
}

/// A stretch of time, its end not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

static KNOWN: Mutex<Vec<&'static Choice>> = Mutex::new(Vec::new());

impl Calendar {
    /// The calendar of this unit in the zone of this IANA name, such as `America/Sao_Paulo`.
    ///
    /// Weeks, months and years start at midnight of days that are whole weeks, months or years away from the
    /// anchor, a date written `2026-01-31`. Where a month is too short for it, on its last day.
    ///
    /// # Errors
    ///
    /// There is no such zone or date, or a day was given an anchor.
    pub fn new(unit: CalendarUnit, zone: &str, anchor: Option<&str>) -> Result<Self, CalendarError> {
        let time_zone = zone_named(zone)?;
        let zone_name = time_zone.iana_name().unwrap_or(zone).to_owned();
        let anchor = match anchor {
            Some(_) if unit == CalendarUnit::Day => return Err(CalendarError::AnchoredDay),
            Some(text) => Some(date_written(text)?),
            None => None,
        };
        Ok(Self::known(Choice { unit, zone: time_zone, zone_name, anchor }))
    }

    fn known(choice: Choice) -> Self {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.iter().find(|known| ***known == choice) {
            return Self(known);
        }
        let choice: &'static Choice = Box::leak(Box::new(choice));
        known.push(choice);
        Self(choice)
    }

    /// The unit.
    pub const fn unit(self) -> CalendarUnit {
        self.0.unit
    }

    /// The name of the zone.
    pub fn zone(self) -> &'static str {
        &self.0.zone_name
    }

    /// The longest that a window of this unit lasts, but for changes of the clock.
    pub(crate) const fn longest(self) -> Span {
        let days = match self.0.unit {
            CalendarUnit::Day => 1,
            CalendarUnit::Week => 7,
            CalendarUnit::Month => 31,
            CalendarUnit::Year => 366,
        };
        Span::from_secs(days * 86_400)
    }

    /// The window around an instant.
    pub(crate) fn period_at(self, at: Timestamp) -> Period {
        let mut number = self.number(self.date_at(at));
        // A zone may repeat an hour around midnight; a window that has begun is not left again.
        if self.start(number) > at {
            number -= 1;
        } else if self.start(number + 1) <= at {
            number += 1;
        }
        Period { start: self.start(number), end: self.start(number + 1) }
    }

    fn date_at(self, at: Timestamp) -> Date {
        let seconds = (at.nanos() / 1_000_000_000).cast_signed();
        // Every instant that a `Timestamp` holds is within jiff's range.
        jiff::Timestamp::from_second(seconds).map_or(Date::MAX, |at| self.0.zone.to_datetime(at).date())
    }

    /// The number of the window that a date is in, counted from a day of the unit's own.
    fn number(self, date: Date) -> i64 {
        let begins_later = |start: Date| i64::from(start > date);
        match self.0.unit {
            CalendarUnit::Day => days(date),
            CalendarUnit::Week => (days(date) - self.week_start()).div_euclid(7),
            CalendarUnit::Month => {
                let month = i64::from(date.year()) * 12 + i64::from(date.month()) - 1;
                month - begins_later(self.month_start(month))
            }
            CalendarUnit::Year => {
                let year = i64::from(date.year());
                year - begins_later(self.year_start(year))
            }
        }
    }

    /// The first instant of the window with this number.
    fn start(self, number: i64) -> Timestamp {
        let date = match self.0.unit {
            CalendarUnit::Day => date_of(number),
            CalendarUnit::Week => date_of(number * 7 + self.week_start()),
            CalendarUnit::Month => self.month_start(number),
            CalendarUnit::Year => self.year_start(number),
        };
        // Midnight, or the first instant after it where the clocks skip it.
        let midnight = self.0.zone.to_ambiguous_timestamp(date.at(0, 0, 0, 0)).compatible();
        let seconds = midnight.map_or(i64::MAX, jiff::Timestamp::as_second);
        let seconds = u64::try_from(seconds).unwrap_or(0);
        Timestamp::from_nanos(seconds.saturating_mul(1_000_000_000))
    }

    /// The day of the week that weeks start on, in days after a Thursday: the epoch was one.
    fn week_start(self) -> i64 {
        let day = self.0.anchor.map_or(Weekday::Monday, Date::weekday);
        i64::from(day.since(Weekday::Thursday))
    }

    fn month_start(self, month: i64) -> Date {
        let day = self.0.anchor.map_or(1, Date::day);
        day_of_month(month.div_euclid(12), month.rem_euclid(12) + 1, day)
    }

    fn year_start(self, year: i64) -> Date {
        let (month, day) = self.0.anchor.map_or((1, 1), |anchor| (anchor.month(), anchor.day()));
        day_of_month(year, i64::from(month), day)
    }
}

/// That day of the month, or the month's last where it has fewer.
fn day_of_month(year: i64, month: i64, day: i8) -> Date {
    let (year, month) = (i16::try_from(year), i8::try_from(month));
    let first = year.ok().zip(month.ok()).and_then(|(year, month)| Date::new(year, month, 1).ok());
    let Some(first) = first else { return Date::MAX };
    Date::new(first.year(), first.month(), day.min(first.days_in_month())).unwrap_or(first)
}

/// Days since the epoch.
fn days(date: Date) -> i64 {
    date.duration_since(EPOCH).as_secs() / 86_400
}

fn date_of(days: i64) -> Date {
    EPOCH.saturating_add(jiff::SignedDuration::from_secs(days.saturating_mul(86_400)))
}

const EPOCH: Date = Date::constant(1970, 1, 1);

/// The zone of this name.
pub(crate) fn zone_named(name: &str) -> Result<TimeZone, CalendarError> {
    TimeZone::get(name).map_err(|_| CalendarError::Zone(name.into()))
}

/// A date as RFC 3339 writes it: `2026-01-31`.
pub(crate) fn date_written(text: &str) -> Result<Date, CalendarError> {
    let shape = text.bytes().map(|b| if b.is_ascii_digit() { b'0' } else { b });
    let date = if shape.eq("0000-00-00".bytes()) { text.parse().ok() } else { None };
    date.ok_or_else(|| CalendarError::Anchor(text.into()))
}

impl PartialEq for Calendar {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Calendar {}

impl Hash for Calendar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Debug for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Calendar({self})")
    }
}

/// `month in America/Sao_Paulo from 2026-01-15`.
impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.0.unit, self.0.zone_name)?;
        self.0.anchor.map_or(Ok(()), |anchor| write!(f, " from {anchor}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn at(text: &str) -> Timestamp {
        let at: jiff::Timestamp = text.parse().unwrap();
        Timestamp::from_nanos(u64::try_from(at.as_nanosecond()).unwrap())
    }

    fn assert_period(unit: CalendarUnit, zone: &str, anchor: Option<&str>, now: &str, period: [&str; 2]) {
        let calendar = Calendar::new(unit, zone, anchor).unwrap();
        let [start, end] = period.map(at);
        assert_eq!(calendar.period_at(at(now)), Period { start, end }, "{calendar} at {now}");
    }

    #[test]
    fn g08_days_last_as_long_as_the_zone_says() {
        use CalendarUnit::Day;
        let new_york = |now, period| assert_period(Day, "America/New_York", None, now, period);
        new_york("2026-11-01T04:00:00Z", ["2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"]);
        new_york("2026-03-08T05:00:00Z", ["2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"]);
        new_york("2026-03-09T03:59:59Z", ["2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"]);
        // The clocks skip midnight, and repeat the hour before it.
        let sao_paulo = |now, period| assert_period(Day, "America/Sao_Paulo", None, now, period);
        sao_paulo("2018-11-04T12:00:00Z", ["2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"]);
        sao_paulo("2018-02-18T02:30:00Z", ["2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"]);
        // At one minute past midnight the clocks go back into the day before: the new day is not left again.
        let st_johns = |now, period| assert_period(Day, "America/St_Johns", None, now, period);
        st_johns("2009-11-01T02:45:00Z", ["2009-11-01T02:30:00Z", "2009-11-02T03:30:00Z"]);
        // A day that a zone left out.
        assert_period(
            Day,
            "Pacific/Apia",
            None,
            "2011-12-30T10:00:00Z",
            ["2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"],
        );
    }

    #[test]
    fn weeks_start_on_monday_or_on_the_anchors_day() {
        use CalendarUnit::Week;
        for (anchor, now, start, end) in [
            (None, "2026-11-30T00:00:00Z", "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"),
            (None, "2026-11-29T23:59:59Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"),
            (Some("2026-01-04"), "2026-11-30T00:00:00Z", "2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"),
            (None, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-05T00:00:00Z"),
        ] {
            assert_period(Week, "UTC", anchor, now, [start, end]);
        }
    }

    #[test]
    fn months_are_as_long_as_they_are_and_short_ones_end_an_anchor_early() {
        use CalendarUnit::Month;
        let anchored = |now, start, end| assert_period(Month, "UTC", Some("2026-01-31"), now, [start, end]);
        anchored("2026-02-28T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z");
        anchored("2028-02-28T00:00:00Z", "2028-01-31T00:00:00Z", "2028-02-29T00:00:00Z");
        anchored("2026-01-30T23:59:59Z", "2025-12-31T00:00:00Z", "2026-01-31T00:00:00Z");
        assert_period(
            Month,
            "America/Sao_Paulo",
            None,
            "2026-12-01T02:59:59Z",
            ["2026-11-01T03:00:00Z", "2026-12-01T03:00:00Z"],
        );
    }

    #[test]
    fn years_start_in_january_or_at_the_anchor() {
        use CalendarUnit::Year;
        let utc = |anchor, now, period| assert_period(Year, "UTC", anchor, now, period);
        utc(None, "2026-11-30T00:00:00Z", ["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"]);
        utc(Some("2024-02-29"), "2026-02-28T00:00:00Z", ["2026-02-28T00:00:00Z", "2027-02-28T00:00:00Z"]);
        utc(Some("2024-02-29"), "2028-02-28T00:00:00Z", ["2027-02-28T00:00:00Z", "2028-02-29T00:00:00Z"]);
    }

    #[test]
    fn windows_follow_each_other_without_a_gap_to_the_end_of_time() {
        for unit in CalendarUnit::ALL {
            for zone in ["UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "America/St_Johns"] {
                let calendar = Calendar::new(unit, zone, None).unwrap();
                let mut at = Timestamp::from_nanos(0);
                for _ in 0..25_000 {
                    let period = calendar.period_at(at);
                    assert!(period.start <= at && at < period.end, "{calendar}: {period:?}");
                    assert_eq!(calendar.period_at(Timestamp::from_nanos(period.end.nanos() - 1)), period);
                    at = period.end;
                    if at > Timestamp::from_nanos(u64::MAX - 400 * 86_400_000_000_000) {
                        break;
                    }
                }
                let last = calendar.period_at(Timestamp::from_nanos(u64::MAX - 1));
                assert!(last.start < last.end);
            }
        }
    }

    #[test]
    fn what_is_no_zone_or_date_is_refused() {
        use CalendarError::{Anchor, AnchoredDay, Zone};
        use CalendarUnit::{Day, Month};
        assert_eq!(Calendar::new(Day, "Mars/Olympus", None), Err(Zone("Mars/Olympus".into())));
        for text in ["2026-02-30", "2026-13-01", "30 February", "2026-2-3", "", "2026-02-03T00:00"] {
            assert_eq!(Calendar::new(Month, "UTC", Some(text)), Err(Anchor(text.into())));
        }
        assert_eq!(Calendar::new(Day, "UTC", Some("2026-01-01")), Err(AnchoredDay));
        assert_eq!(Calendar::new(Day, "utc", None), Calendar::new(Day, "UTC", None));
    }
}
