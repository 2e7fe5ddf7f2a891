//! `CL.THROTTLE key max_burst count period [quantity]`, with the five integers of redis-cell.

use weir_core::{Answer, Decision, Outcome, Span, Throttle, ThrottleError};

use super::reply::Replies;

const USAGE: &str = "ERR wrong number of arguments: CL.THROTTLE key max_burst count period [quantity]";

/// What the words after `CL.THROTTLE` ask for.
pub(super) fn read<'a>(words: &[&'a [u8]]) -> Result<Throttle<'a>, String> {
    let (key, figures) = match words {
        [key, figures @ ..] if (3..=4).contains(&figures.len()) => (*key, figures),
        _ => return Err(USAGE.to_owned()),
    };
    let number = |at: usize, name: &str, least: u64| -> Result<u64, String> {
        let Some(word) = figures.get(at) else { return Ok(1) };
        let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<i64>().ok());
        let number = number.ok_or_else(|| format!("ERR Couldn't parse as integer: {name}"))?;
        let number = u64::try_from(number).map_err(|_| format!("ERR {name} cannot be negative"))?;
        if number < least { Err("ERR Zero rates are not supported".to_owned()) } else { Ok(number) }
    };
    let (max_burst, count) = (number(0, "max_burst", 0)?, number(1, "count", 1)?);
    let (period, quantity) = (number(2, "period", 1)?, number(3, "quantity", 0)?);
    Ok(Throttle { key, burst: max_burst.saturating_add(1), count, period: Span::from_secs(period), quantity })
}

/// Whether it is limited; the most at once; what is left; the wait, or -1 where waiting is needless or pointless; the
/// time until all is there again. Times are whole seconds, rounded up.
pub(super) fn answer(answer: &Result<Answer, ThrottleError>, out: &mut Replies) {
    match answer {
        Ok(Answer::Decided { decision, .. } | Answer::Local { decision, .. }) => five(decision, out),
        Ok(Answer::Unavailable { .. }) => {
            out.error("ERR the store does not answer: this was not decided");
        }
        Err(error) => out.error(&format!("ERR {error}")),
    }
}

fn five(decision: &Decision, out: &mut Replies) {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let seconds = |span: Span| count(span.secs_ceil());
    out.array(5);
    out.integer(i64::from(decision.outcome != Outcome::Allow));
    out.integer(count(decision.limit));
    out.integer(count(decision.remaining));
    out.integer(decision.retry_after.map_or(-1, seconds));
    out.integer(seconds(decision.reset_after));
}
