//! What the guard of a store costs while the store is well: the same store with it and without, in short turns on one
//! server, so that what the machine does meanwhile happens to all alike.

use std::time::Duration;

use anyhow::Result;

use super::load::{Burst, Keys, Load, burst, fill};
use super::subject::{GUARDED, GUARDED_LOCAL, Subject as _, UNGUARDED, WeirAsking};
use weir_servers::{Kind, Server};

const ROUNDS: u32 = 200;
const TURN: Duration = Duration::from_millis(100);

/// What the guard may cost.
const AT_MOST: f64 = 3.0;

/// Measures it and tells of it in Markdown.
pub(crate) fn guard(rounds: Option<u32>) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let rounds = rounds.unwrap_or(ROUNDS);
    let mut lines = String::new();
    for keys in [Keys::One, Keys::Zipf, Keys::Even] {
        eprintln!("{}", keys.title());
        let all = runtime.block_on(in_turns(&Load::of(keys), rounds))?;
        lines += &line("as it is by itself", keys, &all, |round| round.guarded);
        lines += &line("of a policy that is `local`", keys, &all, |round| round.local);
        lines += &line("none, measured twice", keys, &all, |round| round.again);
    }
    Ok(format!(
        "### What the guard costs\n\n{rounds} rounds, in each all in turns of {} ms.\n\n\
         | the guard | keys | a decision takes longer, % | the node's processor works longer, % | at most {AT_MOST} % |\n\
         |---|---|---|---|---|\n{lines}",
        TURN.as_millis()
    ))
}

struct Round {
    bare: Burst,
    guarded: Burst,
    local: Burst,
    again: Burst,
}

async fn in_turns(load: &Load, rounds: u32) -> Result<Vec<Round>> {
    let server = Server::start(Kind::Redis, &[]);
    let bare = WeirAsking::<UNGUARDED>::on(&server.url()).await?;
    let guarded = WeirAsking::<GUARDED>::on(&server.url()).await?;
    let local = WeirAsking::<GUARDED_LOCAL>::on(&server.url()).await?;
    fill(&bare, load).await?;
    let mut all = Vec::new();
    for number in 0..rounds.into() {
        // Forwards and back, so that none always comes after the same.
        all.push(if number % 2 == 0 {
            Round {
                bare: burst(&bare, load, number, TURN).await?,
                guarded: burst(&guarded, load, number, TURN).await?,
                local: burst(&local, load, number, TURN).await?,
                again: burst(&bare, load, number, TURN).await?,
            }
        } else {
            Round {
                again: burst(&bare, load, number, TURN).await?,
                local: burst(&local, load, number, TURN).await?,
                guarded: burst(&guarded, load, number, TURN).await?,
                bare: burst(&bare, load, number, TURN).await?,
            }
        });
    }
    Ok(all)
}

fn line(guard: &str, keys: Keys, all: &[Round], of: fn(&Round) -> Burst) -> String {
    let cost = |figure: fn(Burst) -> f64| {
        let bare = |round: &Round| figure(round.bare).midpoint(figure(round.again));
        let mut costs: Vec<f64> =
            all.iter().map(|round| (figure(of(round)) / bare(round) - 1.0) * 100.0).collect();
        costs.sort_unstable_by(f64::total_cmp);
        let at = |part: usize| costs.get(costs.len() * part / 4).copied().unwrap_or_default();
        (format!("{:.1} ({:.1} to {:.1})", at(2), at(1), at(3)), at(2))
    };
    let (time, middle) = cost(|burst| burst.micros);
    let (own, _) = cost(|burst| burst.own_micros);
    let verdict = if middle <= AT_MOST { "met" } else { "**missed**" };
    format!("| {guard} | {} | {time} | {own} | {verdict} |\n", keys.title())
}
