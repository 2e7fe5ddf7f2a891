//! What is not the protocol: an error, the end of that connection, and no harm to others.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, advance};

use crate::{Door, ask};

#[tokio::test]
async fn garbage_ends_its_own_connection() {
    let door = Door::open().await;
    let mut bystander = door.client("").await.unwrap();
    for (input, said) in [
        (&b"*1000000000\r\n"[..], "-ERR Protocol error: invalid length; a command has at most 64 words"),
        (b"*1\r\n$1000000000\r\n", "-ERR Protocol error: invalid length"),
        (b"*2\r\n*2\r\n*2\r\n", "-ERR Protocol error: expected '$'"),
        (b"*1\r\n$4\r\nPINGxx", "-ERR Protocol error: expected the end of a line"),
        (&vec![b'x'; 70_000], "-ERR Protocol error: too big inline request"),
        // What was whole before it is answered.
        (b"PING\r\n*1\r\n+OK\r\n", "+PONG\r\n-ERR Protocol error: expected '$'"),
    ] {
        let heard = door.says(input).await;
        // Where more was sent than was read, the answer may be lost to the reset.
        assert!(heard.starts_with(said) || (heard.is_empty() && input.len() > 65_536), "{heard}");
    }
    // A page of somebody else, in a browser of ours: nothing of its body is obeyed.
    for line in ["POST / HTTP/1.1", "Host: weir"] {
        assert_eq!(door.says(format!("{line}\r\nCL.THROTTLE k 0 1 60\r\n").as_bytes()).await, "");
    }
    let page = b"GET / HTTP/1.1\r\nHost: weir\r\n\r\nCL.THROTTLE k 0 1 60\r\n";
    assert!(door.says(page).await.starts_with("-ERR unknown command 'GET'"));
    assert_eq!(ask::<[i64; 5]>(&mut bystander, "CL.THROTTLE k 0 1 60").await.unwrap(), [0, 1, 0, -1, 60]);
    assert!(!(door.metrics)().contains("weir_bad_requests_total 0\n"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_end_its_command_is_cut_off() {
    let door = Door::open().await;
    for begun in ["*", "*2\r\n$4\r\nPING\r\n$1", "PING"] {
        let mut stream = door.raw().await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        let _reset = stream.read_to_end(&mut heard).await;
        assert!(heard.is_empty(), "{begun}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_dribbles_is_cut_off_as_soon() {
    let door = Door::open().await;
    let mut stream = door.raw().await;
    let started = Instant::now();
    stream.write_all(b"PING\r\n*2\r\n").await.unwrap();
    stream.read_exact(&mut [0; 7]).await.unwrap();
    advance(Duration::from_secs(9)).await;
    stream.write_all(b"$").await.unwrap();
    assert_eq!(stream.read(&mut [0; 1]).await.unwrap_or(0), 0);
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_stop_ends_connections_between_commands() {
    let door = Door::open().await;
    let mut stream = door.raw().await;
    stream.write_all(b"PING\r\n").await.unwrap();
    let mut heard = [0; 7];
    stream.read_exact(&mut heard).await.unwrap();
    door.shutdown.ask();
    assert_eq!(stream.read(&mut heard).await.unwrap_or(0), 0);
}
