//! The smallest values of a policy file: names, counts, quotas. Each is read by one function, which also
//! says what is wrong with it.

use serde_json::{Value, json};

use super::report::{Complaint, closest, complain};
use crate::calendar::{CalendarUnit, date_written, zone_named};
use crate::time::Span;

/// The longest name of a policy, unit or attribute, in characters.
pub(crate) const NAME_MAX: usize = 128;
/// The longest piece of text for people or for matching, in characters.
const TEXT_MAX: usize = 4_096;

/// The most choices of one part of a key.
const CHOICES_MAX: usize = 8;

/// A kind of scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// The name of a policy, domain or unit.
    Name,
    /// The name of an attribute.
    Attribute,
    /// Attributes in order of preference: `header.x-api-key | client.ip`.
    KeyPart,
    /// A whole number.
    Count,
    /// `100/minute`, or `unlimited`.
    Quota,
    /// A zone of the IANA database: `America/Sao_Paulo`.
    TimeZone,
    /// A date of the calendar: `2026-01-31`.
    Date,
    /// Any text.
    Text,
}

impl Scalar {
    pub(super) fn check(self, text: &str, plain: bool) -> Result<(), Complaint> {
        match self {
            Self::Name | Self::Attribute | Self::KeyPart if plain && is_other_type(text) => {
                complain("to YAML this is no text", "put it in quotes")
            }
            Self::Name => name(text).map(drop),
            Self::Attribute => attribute(text).map(drop),
            Self::KeyPart => key_part(text).map(drop),
            Self::Count if !plain => complain("a number is expected, not a text", "write it without quotes"),
            Self::Count => count(text).map(drop),
            Self::Quota => quota(text).map(drop),
            Self::TimeZone => time_zone(text),
            Self::Date => date(text),
            Self::Text if text.trim().is_empty() => complain("nothing is written here", "leave it out"),
            Self::Text if text.chars().count() > TEXT_MAX => {
                complain(format!("longer than {TEXT_MAX} characters"), "shorten it")
            }
            Self::Text => Ok(()),
        }
    }

    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::Name => "a name",
            Self::Attribute => "the name of an attribute",
            Self::KeyPart => "an attribute, or several with ` | ` between them",
            Self::Count => "a whole number",
            Self::Quota => "a quota such as `100/minute`, or `unlimited`",
            Self::TimeZone => "a time zone such as `America/Sao_Paulo`",
            Self::Date => "a date such as `2026-01-31`",
            Self::Text => "a text",
        }
    }

    pub(super) fn schema(self) -> Value {
        const NAME: &str = "[A-Za-z0-9][A-Za-z0-9._-]{0,127}";
        const ATTRIBUTE: &str = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
        match self {
            Self::Name => json!({ "type": "string", "pattern": format!("^{NAME}$") }),
            Self::Attribute => json!({ "type": "string", "pattern": format!("^{ATTRIBUTE}$") }),
            Self::KeyPart => {
                json!({ "type": "string", "pattern": format!("^\\s*{ATTRIBUTE}(\\s*\\|\\s*{ATTRIBUTE}){{0,7}}\\s*$") })
            }
            Self::Count => json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
            Self::Quota => json!({
                "type": "string",
                "pattern": "^(unlimited|\\s*(0|[1-9][0-9]*)\\s*/\\s*(second|minute|hour|day|week|month|year|[0-9]+(ms|s|min|h|d))\\s*)$",
            }),
            Self::TimeZone => json!({ "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_+/-]*$" }),
            Self::Date => {
                json!({ "type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" })
            }
            Self::Text => json!({ "type": ["string", "number", "boolean"], "pattern": "\\S" }),
        }
    }
}

/// Whether other readers of YAML would take the unquoted text for a number or a truth value.
fn is_other_type(text: &str) -> bool {
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    matches!(text, "true" | "false") || (numeric && text.parse::<f64>().is_ok())
}

fn is_name(text: &str, first: impl Fn(char) -> bool) -> bool {
    text.chars().count() <= NAME_MAX
        && text.starts_with(first)
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

pub(super) fn name(text: &str) -> Result<&str, Complaint> {
    if is_name(text, |c| c.is_ascii_alphanumeric()) {
        Ok(text)
    } else {
        let hint =
            format!("letters, digits, `.`, `_` and `-`, starting with a letter or digit, {NAME_MAX} at most");
        complain("this is not a name", hint)
    }
}

pub(super) fn attribute(text: &str) -> Result<&str, Complaint> {
    let small = text.to_ascii_lowercase();
    if small.starts_with("header.") && small != text {
        let hint = format!("write `{small}`");
        return complain("header names are written in lower case here", hint);
    }
    if is_name(text, |c| c.is_ascii_alphanumeric() || c == '_') {
        Ok(text)
    } else {
        complain(
            "this is not the name of an attribute",
            "such as `tenant`, `client.ip` or `header.x-api-key`",
        )
    }
}

pub(super) fn key_part(text: &str) -> Result<Vec<&str>, Complaint> {
    if text.split('|').count() > CHOICES_MAX {
        return complain(
            format!("more than {CHOICES_MAX} choices"),
            "name the few that requests really have",
        );
    }
    let mut choices = Vec::new();
    for choice in text.split('|') {
        let choice = attribute(choice.trim())?;
        if choices.contains(&choice) {
            return complain(format!("`{choice}` is a choice already"), "name each choice once");
        }
        choices.push(choice);
    }
    Ok(choices)
}

pub(super) fn count(text: &str) -> Result<u64, Complaint> {
    let range = format!("a whole number from 0 to {}", u64::MAX);
    if text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit()) {
        return complain("a leading zero could mean an octal number", "write it without the zero");
    }
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().or_else(|_| complain("this number is too large", range));
    }
    if text.starts_with('-') {
        return complain("a number here cannot be negative", range);
    }
    if !text.starts_with('+') && text.parse::<f64>().is_ok() {
        return complain("a fraction or exponent is not a count", range);
    }
    complain("this is not a number", range)
}

/// A quota as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuotaText {
    Unlimited,
    Limited { limit: u64, window: WindowText },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowText {
    Length(Span),
    /// `day`, `week`, `month` or `year`.
    Calendar(CalendarUnit),
}

impl WindowText {
    /// About the same as a number of days.
    pub(super) const fn in_days(self) -> &'static str {
        match self {
            Self::Length(_) | Self::Calendar(CalendarUnit::Day) => "1d",
            Self::Calendar(CalendarUnit::Week) => "7d",
            Self::Calendar(CalendarUnit::Month) => "30d",
            Self::Calendar(CalendarUnit::Year) => "365d",
        }
    }
}

fn time_zone(text: &str) -> Result<(), Complaint> {
    let Err(error) = zone_named(text) else { return Ok(()) };
    // There are six hundred; only those that begin alike are worth comparing.
    let begins_alike = |name: &String| name.get(..2) == text.get(..2);
    let names: Vec<String> =
        jiff::tz::db().available().map(|name| name.to_string()).filter(begins_alike).collect();
    let hint = match closest(text, names.iter().map(String::as_str)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "a name of the IANA database, such as `America/Sao_Paulo` or `UTC`".into(),
    };
    complain(error.to_string(), hint)
}

fn date(text: &str) -> Result<(), Complaint> {
    match date_written(text) {
        Ok(_) => Ok(()),
        Err(error) => complain(error.to_string(), "year, month and day, such as `2026-01-31`"),
    }
}

pub(super) fn quota(text: &str) -> Result<QuotaText, Complaint> {
    const FORM: &str =
        "a quota is `LIMIT/WINDOW`, such as `100/minute`, `5/10s` or `1000/30d`, or `unlimited`";
    if text == "unlimited" {
        return Ok(QuotaText::Unlimited);
    }
    let Some((limit, window)) = text.split_once('/') else {
        return complain("this is not a quota", FORM);
    };
    let limit = count(limit.trim())?;
    Ok(QuotaText::Limited { limit, window: self::window(window.trim())? })
}

fn window(text: &str) -> Result<WindowText, Complaint> {
    const UNITS: [(&str, u64); 5] =
        [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    const FORM: &str = "a window is `second`, `minute`, `hour`, `day`, `week`, `month`, `year`, or a number with `ms`, `s`, `min`, \
         `h` or `d`";
    match text {
        "second" => return Ok(WindowText::Length(Span::from_secs(1))),
        "minute" => return Ok(WindowText::Length(Span::from_secs(60))),
        "hour" => return Ok(WindowText::Length(Span::from_secs(3_600))),
        _ => {}
    }
    if let Some(unit) = CalendarUnit::parse(text) {
        return Ok(WindowText::Calendar(unit));
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    match (number, unit) {
        (_, "") => complain("the window has no unit", FORM),
        (_, "m" | "mo") => complain(
            format!("`{unit}` could be minutes or months"),
            format!("write `{number}min` for minutes; `month` for months"),
        ),
        ("", _) => complain("this is not a window", FORM),
        (_, unit) if CalendarUnit::parse(unit).is_some() => complain(
            format!("a calendar window is one `{unit}`"),
            "leave the number out, or write days: `30d`",
        ),
        _ => match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, millis)) => match number.parse::<u64>().ok().and_then(|n| n.checked_mul(*millis)) {
                Some(0) => complain("a window of no length", "the shortest window is `1ms`"),
                Some(millis) if millis <= u64::MAX / 1_000_000 => {
                    Ok(WindowText::Length(Span::from_millis(millis)))
                }
                _ => complain("this window is too long", "the longest window is `36500d`"),
            },
            None => complain(format!("`{unit}` is not a unit of time"), FORM),
        },
    }
}
