//! What is asked of every subject alike: how many keys, and under which token bucket.

use clap::ValueEnum;

/// How many keys there are, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keys {
    /// One hot key, denied and admitted
    Hot,
    /// 100 thousand keys
    #[value(name = "100k")]
    HundredThousand,
    /// 10 million keys
    #[value(name = "10m")]
    TenMillion,
}

/// One kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// One key that is always refused: nothing is written
    HotDenied,
    /// One key that is always admitted: everything is written to one place
    HotAdmitted,
    /// 100 thousand keys, all admitted: a table about as large as a processor's cache
    #[value(name = "100k")]
    HundredThousand,
    /// 10 million keys, all admitted: a table far larger than any cache
    #[value(name = "10m")]
    TenMillion,
}

/// The token bucket of every key: `limit` per `seconds`, at most `burst` at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub(crate) limit: u32,
    pub(crate) seconds: u32,
    pub(crate) burst: u32,
}

/// Two, and then none for an hour. Not one: throttlecrab forgets what it admitted of a burst of one at once,
/// and so always admits.
const TINY: Bucket = Bucket { limit: 1, seconds: 3_600, burst: 2 };

/// Slower than the calls come, so that the level rises as in earnest, and a burst that no run uses up.
const HUGE: Bucket = Bucket { limit: 1_000_000, seconds: 1, burst: 1_000_000_000 };

/// One unit takes six minutes to flow off, so that no key expires between the filling of the table and its
/// last measurement: expired keys may be dropped, and then the table would be smaller than it says.
const LASTING: Bucket = Bucket { limit: 10, seconds: 3_600, burst: 1_000_000 };

impl Scenario {
    pub(crate) const fn group(self) -> Keys {
        match self {
            Self::HotDenied | Self::HotAdmitted => Keys::Hot,
            Self::HundredThousand => Keys::HundredThousand,
            Self::TenMillion => Keys::TenMillion,
        }
    }

    pub(crate) const fn keys(self) -> u32 {
        match self.group() {
            Keys::Hot => 1,
            Keys::HundredThousand => 100_000,
            Keys::TenMillion => 10_000_000,
        }
    }

    /// Whether the subjects admit what is measured. All of it or none: a measurement in which one decided
    /// otherwise is no measurement of this.
    pub(crate) const fn admits(self) -> bool {
        !matches!(self, Self::HotDenied)
    }

    pub(crate) const fn bucket(self) -> Bucket {
        match self {
            Self::HotDenied => TINY,
            Self::HotAdmitted => HUGE,
            Self::HundredThousand | Self::TenMillion => LASTING,
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::HotDenied => "one hot key, denied",
            Self::HotAdmitted => "one hot key, admitted",
            Self::HundredThousand => "100 thousand keys",
            Self::TenMillion => "10 million keys",
        }
    }
}

/// The word for a value on the command line.
pub(crate) fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |word| word.get_name().to_owned())
}
