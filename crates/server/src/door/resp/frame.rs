//! Requests as they come in: an array of strings, or a line of words.

use std::ops::Range;

use smallvec::SmallVec;

/// A command has at most so many words.
pub const WORDS_MAX: usize = 64;
/// A command has at most so many bytes, all of it.
pub const BYTES_MAX: usize = 64 * 1024;
/// A line that says a length is no longer.
const LENGTH_LINE_MAX: usize = 32;

/// Where the words of a command are in what was read.
pub type Words = SmallVec<[Range<usize>; 8]>;

/// What is not the protocol. Nothing that comes after it can be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A length that is none, or more than is taken.
    #[error("invalid length; a command has at most {WORDS_MAX} words and {BYTES_MAX} bytes")]
    Length,
    /// Something else than a string where one is due.
    #[error("expected '$'")]
    NoString,
    /// A string or a line does not end where it should.
    #[error("expected the end of a line")]
    NoEnd,
    /// A line that is too long.
    #[error("too big inline request")]
    LineTooLong,
}

/// The first command in `read`, and how many bytes it takes; nothing where it is not all there yet. A command without
/// words is to be passed over.
///
/// # Errors
///
/// It is none.
pub fn first(read: &[u8]) -> Result<Option<(Words, usize)>, Broken> {
    match read.first() {
        None => Ok(None),
        Some(b'*') => array(read),
        Some(_) => inline(read),
    }
}

fn array(read: &[u8]) -> Result<Option<(Words, usize)>, Broken> {
    let Some((count, mut at)) = length(read, 1)? else { return Ok(None) };
    // An array of less than nothing is nothing.
    let count = usize::try_from(count.max(0)).ok().filter(|count| *count <= WORDS_MAX);
    let mut words = Words::new();
    for _ in 0..count.ok_or(Broken::Length)? {
        match read.get(at) {
            None => return Ok(None),
            Some(b'$') => {}
            Some(_) => return Err(Broken::NoString),
        }
        let Some((bytes, start)) = length(read, at + 1)? else { return Ok(None) };
        let bytes = usize::try_from(bytes).ok().filter(|bytes| start + bytes <= BYTES_MAX);
        let end = start + bytes.ok_or(Broken::Length)?;
        match read.get(end..end + 2) {
            None => return Ok(None),
            Some(b"\r\n") => {}
            Some(_) => return Err(Broken::NoEnd),
        }
        words.push(start..end);
        at = end + 2;
    }
    Ok(Some((words, at)))
}

/// The number from `at` to the end of its line, and where the next line begins.
fn length(read: &[u8], at: usize) -> Result<Option<(i64, usize)>, Broken> {
    let line = read.get(at..).unwrap_or_default();
    let Some(end) = line.iter().take(LENGTH_LINE_MAX).position(|byte| *byte == b'\r') else {
        return if line.len() < LENGTH_LINE_MAX { Ok(None) } else { Err(Broken::Length) };
    };
    match line.get(end + 1) {
        None => return Ok(None),
        Some(b'\n') => {}
        Some(_) => return Err(Broken::NoEnd),
    }
    let digits = line.get(..end).and_then(|digits| std::str::from_utf8(digits).ok());
    let number = digits.filter(|digits| !digits.starts_with('+')).and_then(|digits| digits.parse().ok());
    Ok(Some((number.ok_or(Broken::Length)?, at + end + 2)))
}

/// As people type it: words between blanks, without quotes.
fn inline(read: &[u8]) -> Result<Option<(Words, usize)>, Broken> {
    let Some(end) = read.iter().take(BYTES_MAX).position(|byte| *byte == b'\n') else {
        return if read.len() < BYTES_MAX { Ok(None) } else { Err(Broken::LineTooLong) };
    };
    let mut words = Words::new();
    let mut start = None;
    for (at, byte) in read.iter().enumerate().take(end + 1) {
        match (start, byte.is_ascii_whitespace()) {
            (None, false) => start = Some(at),
            (Some(from), true) => {
                words.push(from..at);
                start = None;
            }
            _ => {}
        }
        if words.len() > WORDS_MAX {
            return Err(Broken::Length);
        }
    }
    Ok(Some((words, end + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All commands of an input, each as its words, and what is left.
    fn all(mut read: &[u8]) -> Result<(Vec<Vec<String>>, usize), Broken> {
        let mut commands = Vec::new();
        while let Some((words, length)) = first(read)? {
            let word = |range: Range<usize>| String::from_utf8_lossy(&read[range]).into_owned();
            commands.push(words.into_iter().map(word).collect());
            read = &read[length..];
        }
        Ok((commands, read.len()))
    }

    #[test]
    fn commands_come_one_after_the_other_and_in_pieces() {
        let input =
            b"*2\r\n$4\r\nPING\r\n$3\r\na\r\n\r\n*1\r\n$4\r\nPING\r\n PING  b \r\n\r\n*0\r\n*-1\r\nECHO c\n";
        let (commands, left) = all(input).unwrap();
        let expected: [&[&str]; 7] =
            [&["PING", "a\r\n"], &["PING"], &["PING", "b"], &[], &[], &[], &["ECHO", "c"]];
        assert_eq!(commands, expected);
        assert_eq!(left, 0);
        for end in 0..input.len() {
            let (some, left) = all(&input[..end]).unwrap();
            assert_eq!(commands[..some.len()], some[..]);
            assert!(left <= end);
        }
    }

    #[test]
    fn bombs_and_garbage_are_refused_before_they_are_read() {
        for (input, broken) in [
            (&b"*1000000000\r\n"[..], Broken::Length),
            (b"*65\r\n", Broken::Length),
            (b"*9223372036854775808\r\n", Broken::Length),
            (b"*+1\r\n", Broken::Length),
            (b"*1\r\n$1000000000\r\n", Broken::Length),
            (b"*1\r\n$-1\r\n", Broken::Length),
            (b"*2\r\n$65530\r\n", Broken::Length),
            (b"*00000000000000000000000000000000001\r\n", Broken::Length),
            (b"*1\r\n*1\r\n*1\r\n", Broken::NoString),
            (b"*1\r\n:1\r\n", Broken::NoString),
            (b"*1\r\n$1\r\nab\r\n", Broken::NoEnd),
            (b"*1\rx", Broken::NoEnd),
        ] {
            assert_eq!(first(input), Err(broken), "{}", String::from_utf8_lossy(input));
        }
        assert_eq!(first(&vec![b'x'; BYTES_MAX]), Err(Broken::LineTooLong));
        assert_eq!(first("x ".repeat(WORDS_MAX + 1).as_bytes()), Ok(None), "no line yet");
        assert_eq!(first(("x ".repeat(WORDS_MAX + 1) + "\n").as_bytes()), Err(Broken::Length));
    }
}
