//! What the guard of a store costs while the store is well: the same store with it and without, in turns.

use anyhow::Result;

use super::at;
use super::load::{Keys, Load, Measured};
use super::subject::{GUARDED, GUARDED_LOCAL, NO_GUARD, WeirAsking};

/// A round is short, and there are many: neighbours of this machine come and go.
const ROUNDS: u32 = 15;

/// What the guard may cost.
const AT_MOST: f64 = 3.0;

/// Measures it and tells of it in Markdown.
pub(crate) fn guard(rounds: Option<u32>) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let rounds = rounds.unwrap_or(ROUNDS);
    let mut lines = String::new();
    for keys in [Keys::One, Keys::Zipf, Keys::Even] {
        let load = Load::of(keys);
        let mut all = Vec::new();
        for round in 0..rounds {
            eprintln!("{}, round {}", keys.title(), round + 1);
            all.push(runtime.block_on(one_round(&load, round))?);
        }
        lines += &line("as it is by itself", keys, &all, |round| round.guarded);
        lines += &line("of a policy that is `local`", keys, &all, |round| round.local);
    }
    Ok(format!(
        "### What the guard costs\n\n| the guard | keys | decisions a second, cost in % | the node's processor, cost in % | \
         the server's processor, cost in % | at most {AT_MOST} % |\n|---|---|---|---|---|---|\n{lines}"
    ))
}

struct Round {
    bare: Measured,
    guarded: Measured,
    local: Measured,
}

/// Each on a server of its own, the first of one round the last of the next.
async fn one_round(load: &Load, round: u32) -> Result<Round> {
    if round.is_multiple_of(2) {
        let bare = at::<WeirAsking<NO_GUARD>>(load, None).await?;
        let guarded = at::<WeirAsking<GUARDED>>(load, None).await?;
        Ok(Round { bare, guarded, local: at::<WeirAsking<GUARDED_LOCAL>>(load, None).await? })
    } else {
        let local = at::<WeirAsking<GUARDED_LOCAL>>(load, None).await?;
        let guarded = at::<WeirAsking<GUARDED>>(load, None).await?;
        Ok(Round { bare: at::<WeirAsking<NO_GUARD>>(load, None).await?, guarded, local })
    }
}

fn line(guard: &str, keys: Keys, all: &[Round], measured: fn(&Round) -> Measured) -> String {
    let cost = |of: fn(Measured) -> f64| {
        let mut costs: Vec<f64> =
            all.iter().map(|round| (of(measured(round)) / of(round.bare) - 1.0) * 100.0).collect();
        costs.sort_unstable_by(f64::total_cmp);
        let at = |part: usize| costs.get(costs.len() * part / 4).copied().unwrap_or_default();
        (format!("{:.1} ({:.1} to {:.1})", at(2), at(1), at(3)), at(2))
    };
    let (time, middle) = cost(|measured| 1.0 / measured.per_second);
    let (own, _) = cost(|measured| measured.own_micros);
    let (server, _) = cost(|measured| measured.server_micros);
    let verdict = if middle <= AT_MOST { "met" } else { "**missed**" };
    format!("| {guard} | {} | {time} | {own} | {server} | {verdict} |\n", keys.title())
}
