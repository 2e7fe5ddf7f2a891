//! The one normal form of request paths, so that no spelling of a path escapes its policy.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Brings a path into its normal form (RFC 3986, sections 5.2.4, 6.2.2 and 6.2.3).
///
/// Query and fragment are dropped. Every character that a segment may hold as it is (`pchar`, section 3.3)
/// stands as it is, every other byte as a percent-encoding in capitals, a stray `%` as `%25`. Empty and `.`
/// segments vanish and `..` removes the one before it; it starts with `/`. A `/` at the end is kept, and so
/// is case, since servers tell both apart.
pub fn normal_form(path: &str) -> Cow<'_, str> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if is_normal(path) {
        return Cow::Borrowed(path);
    }
    let decoded = with_one_encoding(path);
    let mut kept: Vec<&str> = Vec::new();
    let mut ends_open = false;
    for segment in decoded.split('/') {
        ends_open = matches!(segment, "" | "." | "..");
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let mut normal = String::with_capacity(decoded.len() + 1);
    for segment in &kept {
        normal.push('/');
        normal.push_str(segment);
    }
    if ends_open || kept.is_empty() {
        normal.push('/');
    }
    Cow::Owned(normal)
}

fn is_normal(path: &str) -> bool {
    let is_plain = |byte: u8| byte == b'/' || is_pchar(byte);
    path.starts_with('/') && !path.contains("//") && !path.contains("/.") && path.bytes().all(is_plain)
}

/// RFC 3986, section 3.3: unreserved, sub-delims, `:` and `@`.
fn is_pchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

/// Writes each byte in the one way that it can be written in a segment.
fn with_one_encoding(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, encoded, after) = match (byte, after) {
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, true, after),
                _ => (byte, false, rest.get(1..).unwrap_or_default()),
            },
            _ => (byte, false, after),
        };
        // A slash that was encoded separates nothing.
        if is_pchar(byte) || (byte == b'/' && !encoded) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        rest = after;
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_has_one_form() {
        for (path, normal) in [
            ("/v1/report", "/v1/report"),
            ("/v1/report/", "/v1/report/"),
            ("/v1/report?full=1#top", "/v1/report"),
            ("//v1///report", "/v1/report"),
            ("/v1/./x/../report", "/v1/report"),
            ("/v1/x/..", "/v1/"),
            ("/../../etc", "/etc"),
            ("/%76%31/re%2Dport", "/v1/re-port"),
            ("/v1/%2e%2e/report", "/report"),
            ("/a%2fb%3a", "/a%2Fb:"),
            ("/report%3Afull%40%21%2a", "/report:full@!*"),
            ("/a b\u{7f}", "/a%20b%7F"),
            ("/100%", "/100%25"),
            ("/%zz/%4", "/%25zz/%254"),
            ("/%%341", "/%2541"),
            ("v1", "/v1"),
            ("", "/"),
            ("*", "/*"),
            ("/é%C3%a9", "/%C3%A9%C3%A9"),
        ] {
            assert_eq!(normal_form(path), normal, "{path}");
            assert_eq!(normal_form(normal), normal, "the normal form of {path} is not stable");
        }
    }
}
