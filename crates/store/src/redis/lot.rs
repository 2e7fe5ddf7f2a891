//! What is drawn by lot, so that nodes that meet the same fault do not all act at the same instant.

/// Any number. Where the system has none to give, always the same: lots are a kindness to the server, no more.
pub(super) fn lot() -> u64 {
    getrandom::u64().unwrap_or_default()
}
