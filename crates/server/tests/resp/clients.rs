//! What clients send when they connect, and what they need to hear.

use redis::Value;

use crate::{Door, ask};

/// A command as clients send it.
fn sent(words: &[&str]) -> String {
    let head = format!("*{}\r\n", words.len());
    words.iter().fold(head, |sent, word| sent + &format!("${}\r\n{word}\r\n", word.len()))
}

#[tokio::test]
async fn clients_connect_in_both_protocols() {
    let door = Door::open().await;
    for options in ["", "default:any@"] {
        for protocol in ["", "?protocol=resp3"] {
            let url = format!("redis://{options}{}/{protocol}", door.address);
            let client = redis::Client::open(url.as_str()).unwrap();
            let mut connection = client.get_multiplexed_async_connection().await.unwrap();
            let five: Vec<i64> = ask(&mut connection, "CL.THROTTLE k 99 1 86400").await.unwrap();
            assert_eq!(five[..2], [0, 100], "{url}");
        }
    }
}

#[tokio::test]
async fn a_greeting_is_a_map_or_a_row_by_the_protocol() {
    let door = Door::open().await;
    let two = "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.2.0\r\n$5\r\nproto\r\n";
    assert!(door.says(b"HELLO\r\n").await.starts_with(&format!("*14\r\n{two}:2\r\n")));
    assert!(door.says(b"hello 2\r\n").await.starts_with(&format!("*14\r\n{two}:2\r\n")));
    let three = door.says(b"HELLO 3 SETNAME me\r\nCLIENT GETNAME\r\nRESET\r\nCLIENT GETNAME\r\n").await;
    assert!(three.starts_with(&format!("%7\r\n{two}:3\r\n")), "{three}");
    assert!(three.ends_with("$7\r\nmodules\r\n*0\r\n$2\r\nme\r\n+RESET\r\n$-1\r\n"), "{three}");
    for wrong in ["4", "1", "x"] {
        assert_eq!(
            door.says(format!("HELLO {wrong}\r\n").as_bytes()).await,
            "-NOPROTO unsupported protocol version\r\n"
        );
    }
    let long = "x".repeat(129);
    for setting in ["HELLO 3 SETNAME", "CLIENT SETNAME"] {
        let refused = door.says(format!("{setting} {long}\r\n").as_bytes()).await;
        assert_eq!(refused, "-ERR a client's name has at most 128 bytes\r\n");
    }
    assert_eq!(door.says(b"CLIENT SETNAME you\r\nCLIENT GETNAME\r\n").await, "+OK\r\n$3\r\nyou\r\n");
    assert_eq!(door.says(b"HELLO 3 SETNAME\r\n").await, "-ERR Syntax error in HELLO\r\n");
}

/// As they were captured: redis-py, ioredis and node-redis by default, redis-cli, redis-benchmark.
#[tokio::test]
async fn what_clients_send_by_themselves_is_answered() {
    let door = Door::open().await;
    let all = [
        sent(&["HELLO", "3"]),
        sent(&["CLIENT", "SETINFO", "LIB-NAME", "redis-py"]),
        sent(&["CLIENT", "SETINFO", "LIB-VER", "8.1.0"]),
        sent(&["SELECT", "0"]),
        sent(&["client", "SETNAME", "me"]),
        sent(&["COMMAND", "DOCS"]),
        sent(&["COMMAND"]),
        sent(&["CONFIG", "GET", "save"]),
        sent(&["PING"]),
        sent(&["QUIT"]),
    ];
    let heard = door.says(all.concat().as_bytes()).await;
    let (_, rest) = heard.split_once("$7\r\nmodules\r\n*0\r\n").unwrap();
    assert_eq!(
        rest,
        "+OK\r\n+OK\r\n+OK\r\n+OK\r\n*0\r\n*0\r\n%1\r\n$4\r\nsave\r\n$0\r\n\r\n+PONG\r\n+OK\r\n"
    );
    // One that may be refused, and is not gone on with.
    let refused = door.says(sent(&["CLIENT", "MAINT_NOTIFICATIONS", "ON"]).as_bytes()).await;
    assert_eq!(refused, "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'\r\n");
    let info: String = door.ask("INFO server").await.unwrap();
    assert!(info.contains("\r\nredis_version:7.2.0\r\n") && info.contains("\r\nloading:0\r\n"), "{info}");
    assert_eq!(
        door.ask::<Value>("CONFIG GET appendonly").await.unwrap(),
        door.ask("CONFIG GET appendonly").await.unwrap()
    );
    for words in ["GET k", "SET k v", "MULTI"] {
        let unknown = door.ask::<Value>(words).await.unwrap_err().to_string();
        assert!(unknown.contains("this is Weir, which answers CL.THROTTLE"), "{unknown}");
    }
    assert!(door.ask::<Value>("SELECT 1").await.unwrap_err().to_string().contains("out of range"));
}

#[tokio::test]
async fn a_locked_door_opens_to_the_password_alone() {
    let door = Door::locked(Some("correct horse")).await;
    let noauth = "-NOAUTH Authentication required.\r\n";
    for words in ["PING", "INFO", "CL.THROTTLE k 1 1 1", "SET a b", "RESET"] {
        assert_eq!(door.says(format!("{words}\r\n").as_bytes()).await, noauth, "{words}");
    }
    assert!(door.says(b"HELLO 3\r\n").await.starts_with("-NOAUTH HELLO must be called"));
    let auth = |words: &[&str]| sent(&[&["AUTH"], words].concat());
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    for words in
        [&["correct hors"][..], &["correct horses"], &[""], &["default", "x"], &["me", "correct horse"]]
    {
        assert_eq!(door.says((auth(words) + "PING\r\n").as_bytes()).await, format!("{wrong}{noauth}"));
    }
    for words in [&["correct horse"][..], &["default", "correct horse"]] {
        assert_eq!(door.says((auth(words) + "PING\r\n").as_bytes()).await, "+OK\r\n+PONG\r\n");
    }
    let hello = |password: &str| sent(&["HELLO", "3", "AUTH", "default", password]);
    assert!(door.says(hello("correct horse").as_bytes()).await.starts_with("%7\r\n"));
    assert_eq!(door.says(hello("x").as_bytes()).await, wrong);
    // RESET takes it back.
    let reset = door.says((auth(&["correct horse"]) + "RESET\r\nPING\r\n").as_bytes()).await;
    assert_eq!(reset, format!("+OK\r\n+RESET\r\n{noauth}"));
    assert!(Door::open().await.says(b"AUTH x\r\n").await.starts_with("-ERR AUTH <password> called without"));
}
