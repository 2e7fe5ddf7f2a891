//! Path patterns: `*` within a segment, `**` across segments.

use smallvec::SmallVec;

/// A pattern over paths in normal form. `/a/**` also matches `/a`, so that dropping the end of a path does
/// not escape its policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// Text in which each `*` stands for any run of characters.
    Glob(Box<str>),
    /// `**`: any number of segments.
    Any,
}

impl PathPattern {
    /// Reads a pattern. The text must start with `/`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let segment = |s: &str| if s == "**" { Segment::Any } else { Segment::Glob(s.into()) };
        let segments = text.strip_prefix('/')?.split('/').map(segment).collect();
        Some(Self { segments })
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        let path = path.strip_prefix('/').unwrap_or(path);
        let segments: SmallVec<[&str; 16]> = path.split('/').collect();
        matches_with_stars(
            &self.segments,
            &segments,
            |s| matches!(s, Segment::Any),
            |segment, text| match segment {
                Segment::Any => true,
                Segment::Glob(glob) => {
                    matches_with_stars(glob.as_bytes(), text.as_bytes(), |b| *b == b'*', |a, b| a == b)
                }
            },
        )
    }

    /// Whether everything that `other` matches is surely matched here. May miss some, never claims too much.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        if other.is_literal() {
            return self.matches(&other.text());
        }
        match self.segments.split_last() {
            Some((Segment::Any, prefix)) => other.segments.starts_with(prefix),
            _ => self == other,
        }
    }

    fn is_literal(&self) -> bool {
        self.segments.iter().all(|s| matches!(s, Segment::Glob(glob) if !glob.contains('*')))
    }

    fn text(&self) -> String {
        let texts = self.segments.iter().map(|segment| match segment {
            Segment::Any => "**",
            Segment::Glob(glob) => glob,
        });
        texts.fold(String::new(), |path, segment| path + "/" + segment)
    }
}

/// Greedy matching with one point to come back to: at most `pattern × text` steps, whatever the input.
fn matches_with_stars<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    is_match: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut p, mut t) = (0, 0);
    // After the last star: where the pattern goes on, and how much of the text the star has taken.
    let mut back: Option<(usize, usize)> = None;
    while let Some(item) = text.get(t) {
        match pattern.get(p) {
            Some(star) if is_star(star) => {
                back = Some((p + 1, t));
                p += 1;
            }
            Some(one) if is_match(one, item) => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((after_star, taken)) = back else { return false };
                back = Some((after_star, taken + 1));
                p = after_star;
                t = taken + 1;
            }
        }
    }
    pattern.iter().skip(p).all(is_star)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> PathPattern {
        PathPattern::parse(text).unwrap()
    }

    #[test]
    fn stars_stay_within_a_segment_and_double_stars_do_not() {
        for (glob, path, expected) in [
            ("/login", "/login", true),
            ("/login", "/login/", false),
            ("/v1/*", "/v1/report", true),
            ("/v1/*", "/v1/report/full", false),
            ("/v1/*.json", "/v1/report.json", true),
            ("/v1/*.json", "/v1/report.xml", false),
            ("/v1/**", "/v1/report/full", true),
            ("/v1/**", "/v1", true),
            ("/v1/**", "/v10", false),
            ("/**", "/", true),
            ("/**/full", "/v1/report/full", true),
            ("/**/full", "/v1/report/fuller", false),
            ("/a/**/b/*/c", "/a/x/b/y/b/z/c", true),
            ("/a/**/b/*/c", "/a/b/c", false),
        ] {
            assert_eq!(pattern(glob).matches(path), expected, "{glob} on {path}");
        }
    }

    #[test]
    fn many_stars_take_no_longer_than_their_product() {
        let glob = format!("/{}b", "a*".repeat(200));
        assert!(!pattern(&glob).matches(&format!("/{}", "a".repeat(4_000))));
    }

    #[test]
    fn covering_never_claims_too_much() {
        for (wide, narrow, expected) in [
            ("/v1/report/**", "/v1/report/full", true),
            ("/v1/report/**", "/v1/report/*", true),
            ("/v1/report/**", "/v1/**", false),
            ("/v1/*", "/v1/full", true),
            ("/v1/full", "/v1/*", false),
            ("/v1/*/a", "/v1/*/a", true),
            ("/v1/*/a", "/v1/**", false),
        ] {
            assert_eq!(pattern(wide).covers(&pattern(narrow)), expected, "{wide} over {narrow}");
        }
    }
}
