//! The way to a server, which can be made worse.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::server::free_port;

/// What becomes of the replies of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They arrive.
    Clear,
    /// They arrive so much later.
    Late(Duration),
    /// A connection over which one comes is reset in the middle of it.
    Cut,
    /// They do not arrive, and the connection stays.
    Lost,
}

/// A relay in front of a server, on loopback. It ends with the program.
#[derive(Debug)]
pub struct Relay {
    /// Where it listens.
    pub port: u16,
    way: Arc<Mutex<Way>>,
    connections: Arc<Connections>,
}

#[derive(Debug, Default)]
struct Connections {
    open: AtomicUsize,
    most: AtomicUsize,
    all: AtomicUsize,
}

impl Relay {
    /// Relays to the server that listens at this port.
    pub fn start(to: u16) -> Self {
        let port = free_port();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a free port");
        let (way, connections) = (Arc::new(Mutex::new(Way::Clear)), Arc::<Connections>::default());
        let (shared, counted) = (way.clone(), connections.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A server that is not there: the connection is closed.
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { continue };
                carry(client, server, &shared, counted.clone());
            }
        });
        Self { port, way, connections }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Makes the way what it is from now on.
    pub fn make(&self, way: Way) {
        *self.way.lock().unwrap_or_else(PoisonError::into_inner) = way;
    }

    /// How many connections were open at most at a time, and how many there were in all.
    pub fn connections(&self) -> (usize, usize) {
        (self.connections.most.load(Ordering::Relaxed), self.connections.all.load(Ordering::Relaxed))
    }
}

impl Connections {
    fn begin(&self) {
        self.all.fetch_add(1, Ordering::Relaxed);
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(open, Ordering::Relaxed);
    }
}

fn carry(client: TcpStream, server: TcpStream, way: &Arc<Mutex<Way>>, connections: Arc<Connections>) {
    let (Ok(from_client), Ok(to_server)) = (client.try_clone(), server.try_clone()) else { return };
    connections.begin();
    // Packets go as they come.
    let _both = (client.set_nodelay(true), server.set_nodelay(true));
    std::thread::spawn(move || there(from_client, to_server));
    let (replies, late) = channel();
    let way = way.clone();
    std::thread::spawn(move || {
        read(server, &replies);
        connections.open.fetch_sub(1, Ordering::Relaxed);
    });
    std::thread::spawn(move || back(client, &late, &way));
}

/// What the client says goes to the server.
fn there(mut client: TcpStream, mut server: TcpStream) {
    let _copied = std::io::copy(&mut client, &mut server);
    let _closed = server.shutdown(Shutdown::Both);
}

fn read(mut server: TcpStream, replies: &Sender<(Instant, Vec<u8>)>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = server.read(&mut bytes) {
        let reply = bytes.get(..count).unwrap_or_default().to_vec();
        if replies.send((Instant::now(), reply)).is_err() {
            break;
        }
    }
    let _closed = server.shutdown(Shutdown::Both);
}

/// What the server says goes to the client, by the way.
fn back(mut client: TcpStream, replies: &Receiver<(Instant, Vec<u8>)>, way: &Mutex<Way>) {
    let mut is_lost = false;
    for (came, reply) in replies {
        let way = *way.lock().unwrap_or_else(PoisonError::into_inner);
        is_lost |= way == Way::Lost;
        if is_lost {
            // A connection never goes on in the middle.
            continue;
        }
        if let Way::Late(by) = way {
            std::thread::sleep((came + by).saturating_duration_since(Instant::now()));
        }
        let part = if way == Way::Cut { reply.len() / 2 } else { reply.len() };
        if client.write_all(reply.get(..part).unwrap_or_default()).is_err() {
            break;
        }
        if way == Way::Cut {
            // Closed with what is still under way thrown away: that is a reset.
            let _set = SockRef::from(&client).set_linger(Some(Duration::ZERO));
            break;
        }
    }
    let _closed = SockRef::from(&client).shutdown(Shutdown::Read);
}
