//! `CL.THROTTLE`: the five integers of redis-cell, from limits that the caller brings along.

use weir_core::{Answer, Answers, Batch, Span, Store};
use weir_store::ManualClock;

use crate::{Door, START, ask};

type Five = [i64; 5];

#[tokio::test]
async fn cl_throttle_answers_as_redis_cell() {
    let door = Door::open().await;
    let ask = |words: &'static str| {
        let door = &door;
        async move { door.ask::<Five>(words).await.unwrap() }
    };
    // One each 2 s, sixteen at once: limited, limit, remaining, retry after, reset after.
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 1").await, [0, 16, 15, -1, 2]);
    assert_eq!(ask("cl.throttle user123 15 30 60").await, [0, 16, 14, -1, 4], "one, if unsaid");
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 0").await, [0, 16, 14, -1, 4], "nothing is only a look");
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 15").await, [1, 16, 14, 2, 4], "all or nothing");
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 17").await, [1, 16, 14, -1, 4], "it never fits");
    assert_eq!(ask("CL.THROTTLE user123 15 30 60 14").await, [0, 16, 0, -1, 32]);
    assert_eq!(ask("CL.THROTTLE user123 15 30 60").await, [1, 16, 0, 2, 32]);
    assert_eq!(ask("CL.THROTTLE user124 15 30 60").await, [0, 16, 15, -1, 2], "another key");
    door.clock.advance(Span::from_millis(1_001));
    assert_eq!(ask("CL.THROTTLE user123 15 30 60").await, [1, 16, 0, 1, 31], "rounded up");
    door.clock.advance(Span::from_millis(999));
    assert_eq!(ask("CL.THROTTLE user123 15 30 60").await, [0, 16, 0, -1, 32]);
    // The first of a single unit: nothing more at once.
    assert_eq!(ask("CL.THROTTLE one 0 1 10").await, [0, 1, 0, -1, 10]);
    assert_eq!(ask("CL.THROTTLE one 0 1 10").await, [1, 1, 0, 10, 10]);
    let metrics = (door.metrics)();
    for (outcome, count) in [("allow", 7), ("deny", 4), ("never", 1)] {
        let line = format!("weir_throttled_total{{outcome=\"{outcome}\"}} {count}\n");
        assert!(metrics.contains(&line), "{line}{metrics}");
    }
}

#[tokio::test]
async fn a_key_is_one_bucket_whatever_its_figures_were() {
    let door = Door::open().await;
    assert_eq!(door.ask::<Five>("CL.THROTTLE k 9 10 60 10").await.unwrap(), [0, 10, 0, -1, 60]);
    let [limited, limit, remaining, ..] = door.ask::<Five>("CL.THROTTLE k 99 100 60 0").await.unwrap();
    assert_eq!([limited, limit], [0, 100]);
    assert!(remaining <= 90, "{remaining}: what was used stays used");
}

#[tokio::test]
async fn what_cannot_be_counted_by_is_refused_and_charges_nothing() {
    let door = Door::open().await;
    for (words, expected) in [
        ("CL.THROTTLE", "wrong number of arguments: CL.THROTTLE key max_burst count period [quantity]"),
        ("CL.THROTTLE k 15 30", "wrong number of arguments"),
        ("CL.THROTTLE k 15 30 60 1 1", "wrong number of arguments"),
        ("CL.THROTTLE k x 30 60", "Couldn't parse as integer: max_burst"),
        ("CL.THROTTLE k 15 1.5 60", "Couldn't parse as integer: count"),
        ("CL.THROTTLE k 15 30 9223372036854775808", "Couldn't parse as integer: period"),
        ("CL.THROTTLE k 15 30 60 ", "Couldn't parse as integer: quantity"),
        ("CL.THROTTLE k 15 0 60", "Zero rates are not supported"),
        ("CL.THROTTLE k 15 30 0", "Zero rates are not supported"),
        ("CL.THROTTLE k -1 30 60", "max_burst cannot be negative"),
        ("CL.THROTTLE k 15 30 60 -1", "quantity cannot be negative"),
        ("CL.THROTTLE k 15 30 9223372036854775807", "the window must be from 1ms to 36500d"),
        ("CL.THROTTLE k 9223372036854775807 30 60", "highest burst"),
    ] {
        let error = door.ask::<Five>(words).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{words}: {error}");
    }
    assert_eq!(door.ask::<Five>("CL.THROTTLE k 15 30 60").await.unwrap(), [0, 16, 15, -1, 2]);
}

#[tokio::test]
async fn what_comes_at_once_is_answered_in_order_and_exactly() {
    let door = Door::open().await;
    let mut client = door.client("").await.unwrap();
    let mut pipeline = redis::pipe();
    for i in 0..3_000 {
        match i % 3 {
            0 => pipeline.cmd("CL.THROTTLE").arg("k").arg(99).arg(1).arg(86_400),
            1 => pipeline.cmd("ECHO").arg(i),
            _ => pipeline.cmd("CL.THROTTLE").arg(i).arg(0).arg(1).arg(86_400),
        };
    }
    let answers: Vec<redis::Value> = pipeline.query_async(&mut client).await.unwrap();
    assert_eq!(answers.len(), 3_000);
    for (i, answer) in answers.into_iter().enumerate() {
        if i % 3 == 1 {
            assert_eq!(redis::from_redis_value::<usize>(answer).unwrap(), i);
            continue;
        }
        let [limited, _, remaining, ..]: Five = redis::from_redis_value(answer).unwrap();
        let before = i64::try_from(i).unwrap() / 3;
        let expected = if i % 3 == 2 { [0, 0] } else { [i64::from(before >= 100), (99 - before).max(0)] };
        assert_eq!([limited, remaining], expected, "{i}");
    }
    assert_eq!(ask::<String>(&mut client, "PING").await.unwrap(), "PONG");
}

/// A store that is down.
struct Down;

impl Store for Down {
    async fn apply(&self, batch: Batch) -> Answers {
        batch.operations().iter().map(|_| Answer::Unavailable { sent: false }).collect()
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_an_error_since_no_policy_says_what_to_do() {
    let door = Door::to(Down, ManualClock::at(START), None).await;
    let error = door.ask::<Five>("CL.THROTTLE k 15 30 60").await.unwrap_err().to_string();
    assert!(error.contains("the store does not answer"), "{error}");
    assert!((door.metrics)().contains("weir_throttled_total{outcome=\"unavailable\"} 1\n"));
}
