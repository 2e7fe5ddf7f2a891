//! Which command it is.

use weir_core::Throttle;

use super::throttle;

/// A command that was understood; words are as they came.
pub(super) enum Command<'w, 'r> {
    Throttle(Throttle<'r>),
    Hello(&'w [&'r [u8]]),
    Auth(&'w [&'r [u8]]),
    Ping(Option<&'r [u8]>),
    Echo(&'r [u8]),
    /// Nothing needs doing, and clients expect `OK`.
    Fine,
    Id,
    Name,
    SetName(&'r [u8]),
    Nothing,
    Info,
    Config(&'w [&'r [u8]]),
    Count,
    Reset,
    Quit,
    /// What a browser would send, led here by a page of somebody else: its other lines are not to be obeyed.
    Foreign,
    Refused(String),
}

/// What these words are; there is at least one.
pub(super) fn read<'w, 'r>(words: &'w [&'r [u8]]) -> Command<'w, 'r> {
    let Some((name, rest)) = words.split_first() else { return Command::Fine };
    let word = |at: usize| rest.get(at).map(|word| word.to_ascii_uppercase()).unwrap_or_default();
    match (&*name.to_ascii_uppercase(), rest) {
        (b"CL.THROTTLE", rest) => throttle::read(rest).map_or_else(Command::Refused, Command::Throttle),
        (b"HELLO", rest) => Command::Hello(rest),
        (b"AUTH", rest) => Command::Auth(rest),
        (b"PING", []) => Command::Ping(None),
        (b"PING", [text]) => Command::Ping(Some(text)),
        (b"ECHO", [text]) => Command::Echo(text),
        (b"SELECT", [b"0"]) => Command::Fine,
        (b"SELECT", _) => Command::Refused("ERR DB index is out of range".to_owned()),
        (b"CLIENT", [_, ..]) => match &*word(0) {
            b"SETINFO" | b"NO-EVICT" | b"NO-TOUCH" => Command::Fine,
            b"SETNAME" => Command::SetName(rest.get(1).copied().unwrap_or_default()),
            b"ID" => Command::Id,
            b"GETNAME" => Command::Name,
            _ => Command::Refused(format!("ERR unknown subcommand '{}'", shown(rest.first()))),
        },
        (b"COMMAND", _) if word(0) == b"COUNT" => Command::Count,
        (b"COMMAND", _) => Command::Nothing,
        (b"INFO", _) => Command::Info,
        (b"CONFIG", [_, names @ ..]) if word(0) == b"GET" => Command::Config(names),
        (b"RESET", []) => Command::Reset,
        (b"QUIT", _) => Command::Quit,
        (b"POST" | b"HOST:", _) => Command::Foreign,
        (b"PING" | b"ECHO" | b"CLIENT" | b"CONFIG" | b"RESET", _) => {
            Command::Refused(format!("ERR wrong number of arguments for '{}' command", shown(Some(name))))
        }
        _ => Command::Refused(format!(
            "ERR unknown command '{}': this is Weir, which answers CL.THROTTLE",
            shown(Some(name))
        )),
    }
}

/// Not more of a word than helps to know it again.
fn shown(word: Option<&&[u8]>) -> String {
    String::from_utf8_lossy(word.copied().unwrap_or_default()).chars().take(32).collect()
}
