//! Closed sets of words: one list gives the word of each value, the value of each word, and all of them.

/// Declares a field-less enum with the word of each variant, and gives it `ALL`, `WORDS`, `as_str`, `parse`
/// and `Display`. Declared and listed in one place, their orders cannot differ.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $type:ident { $($(#[$about:meta])* $variant:ident = $word:literal),+ $(,)? }
    ) => {
        $(#[$meta])*
        pub enum $type { $($(#[$about])* $variant),+ }

        impl $type {
            /// Every value, in the order in which they are declared.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The words of all values, in the same order.
            pub const WORDS: [&'static str; Self::ALL.len()] = [$($word),+];

            /// The word used in policy files, answers and metrics.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of a word; `None` if it is not one of them.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;
