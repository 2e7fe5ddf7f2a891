//! The script that decides on the server: its text, and the names by which it is called.

use std::sync::LazyLock;

/// The script, put together from its parts in the order in which they need each other.
pub(super) const TEXT: &str = concat!(
    include_str!("script/states.lua"),
    include_str!("script/bucket.lua"),
    include_str!("script/fixed_window.lua"),
    include_str!("script/sliding_window.lua"),
    include_str!("script/sliding_log.lua"),
    include_str!("script/groups.lua"),
    include_str!("script/write.lua"),
);

/// The number of the layout of values, as the script has it.
pub(super) const LAYOUT: u8 = 1;

/// What the script calls the kinds of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bucket = 1,
    Fixed = 2,
    Sliding = 3,
    Log = 4,
}

/// What the script calls the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Take = 1,
    Peek = 2,
    Give = 3,
    Adjust = 4,
    Reset = 5,
}

/// Stands before the number of operations of a group that has not just one.
pub(super) const SEVERAL: u64 = 0;

/// Added to the code of an operation whose denial refuses nothing.
pub(super) const UNENFORCED: u8 = 10;

/// What the script says of an operation.
pub(super) mod letter {
    pub(in super::super) const FITS: u8 = b'1';
    pub(in super::super) const DOES_NOT_FIT: u8 = b'0';
    /// The edges that were sent do not reach the server's time.
    pub(in super::super) const BEYOND_EDGES: u8 = b'B';
    /// What is stored under the key is not ours.
    pub(in super::super) const NOT_OURS: u8 = b'W';
}

/// The name by which a server that has seen the script knows it.
pub(super) static SHA: LazyLock<String> = LazyLock::new(|| ::redis::Script::new(TEXT).get_hash().to_owned());
