//! The one normal form of request paths, so that no spelling of a path escapes its policy.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Brings a path into its normal form (RFC 3986, sections 5.2.4, 6.2.2 and 6.2.3).
///
/// Query and fragment are dropped; percent-encoded unreserved characters are decoded and other
/// percent-encodings written in capitals, a stray `%` as `%25`; empty and `.` segments vanish and `..` removes the one before it;
/// it starts with `/`. A `/` at the end is kept, and so is case, since servers tell both apart.
pub fn normal_form(path: &str) -> Cow<'_, str> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if is_normal(path) {
        return Cow::Borrowed(path);
    }
    let decoded = decode_unreserved(path);
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
    path.starts_with('/') && !path.contains("//") && !path.contains("/.") && !path.contains('%')
}

/// Decodes `%41` to `A` where the character is unreserved; of the rest only the hex digits change.
fn decode_unreserved(path: &str) -> String {
    let mut decoded = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        decoded.push_str(before);
        let hex = after.get(..2).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) else {
            // A stray sign is written as what it is; left bare it could join what follows.
            decoded.push_str("%25");
            rest = after;
            continue;
        };
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            decoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(decoded, "%{byte:02X}");
        }
        rest = after.get(2..).unwrap_or_default();
    }
    decoded.push_str(rest);
    decoded
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
            ("/a%2fb%3a", "/a%2Fb%3A"),
            ("/100%", "/100%25"),
            ("/%zz/%4", "/%25zz/%254"),
            ("/%%341", "/%2541"),
            ("v1", "/v1"),
            ("", "/"),
            ("*", "/*"),
            ("/é%C3%a9", "/é%C3%A9"),
        ] {
            assert_eq!(normal_form(path), normal, "{path}");
            assert_eq!(normal_form(normal), normal, "the normal form of {path} is not stable");
        }
    }
}
