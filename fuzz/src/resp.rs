//! What Redis clients send: every command that is found is within its bounds, nothing is found twice, and where the
//! pieces are cut does not matter.

use weir_server::door::resp::frame::{BYTES_MAX, Broken, WORDS_MAX, Words, first};

/// Reads the input as what a client sends.
pub fn check(input: &[u8]) {
    let (commands, end) = all(input);
    for (start, words, length) in &commands {
        assert!(*length > 0, "nothing is a command");
        assert!(
            words.len() <= WORDS_MAX && *length <= BYTES_MAX + 2,
            "{} words, {length} bytes",
            words.len()
        );
        let mut last = 0;
        for word in words {
            assert!(
                word.start >= last && word.end <= *length,
                "{word:?} is not within {start} and {length} bytes"
            );
            last = word.end;
        }
    }
    let (some, broken) = all(&input[..input.len() / 2]);
    assert_eq!(commands[..some.len()], some[..], "what is whole already does not change");
    assert!(broken.is_none() || end.is_some(), "what is no command does not become one");
}

/// The commands, each with where it begins and its length, and why there are no more.
fn all(input: &[u8]) -> (Vec<(usize, Words, usize)>, Option<Broken>) {
    let (mut commands, mut at) = (Vec::new(), 0);
    loop {
        match first(&input[at..]) {
            Ok(Some((words, length))) => {
                commands.push((at, words, length));
                at += length;
            }
            Ok(None) => return (commands, None),
            Err(broken) => return (commands, Some(broken)),
        }
    }
}
