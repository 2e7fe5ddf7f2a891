//! What clients ask a server about itself before they ask for anything else. Many do not go on without an answer, and
//! some choose what they send by the version of Redis that they are told.

use super::reply::Replies;

/// The version of Redis whose commands of this kind are answered.
const REDIS_VERSION: &str = "7.2.0";

/// The answer to `HELLO`.
pub(super) fn hello(number: u64, out: &mut Replies) {
    out.map(7);
    let protocol = match out.protocol {
        super::reply::Protocol::Two => 2,
        super::reply::Protocol::Three => 3,
    };
    let mut pair = |name: &str, value: Result<&str, i64>| {
        out.string(name.as_bytes());
        match value {
            Ok(text) => out.string(text.as_bytes()),
            Err(number) => out.integer(number),
        }
    };
    pair("server", Ok("redis"));
    pair("version", Ok(REDIS_VERSION));
    pair("proto", Err(protocol));
    pair("id", Err(i64::try_from(number).unwrap_or(i64::MAX)));
    pair("mode", Ok("standalone"));
    pair("role", Ok("master"));
    out.string(b"modules");
    out.array(0);
}

/// The answer to `INFO`.
pub(super) fn info(out: &mut Replies) {
    let text = format!(
        "# Server\r\nredis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\nweir_version:{}\r\nloading:0\r\n\
         # Replication\r\nrole:master\r\n",
        env!("CARGO_PKG_VERSION")
    );
    out.string(text.as_bytes());
}

/// The answer to `CONFIG GET`, of what benchmarks ask for.
pub(super) fn config(names: &[&[u8]], out: &mut Replies) {
    let known = [("save", ""), ("appendonly", "no")];
    let asked =
        |(name, _): &&(&str, &str)| names.iter().any(|word| word.eq_ignore_ascii_case(name.as_bytes()));
    let found: Vec<_> = known.iter().filter(asked).collect();
    out.map(found.len());
    for (name, value) in found {
        out.string(name.as_bytes());
        out.string(value.as_bytes());
    }
}
