//! A server that stands alone.

use std::time::Duration;

use redis::cmd;
use weir_servers::{Kind, Relay, Server, Way};

use crate::load::{Course, DEADLINE, LIMIT, admitted_in_bound, load, node, nothing_is_lost, on, settings};
use crate::{alone, block_on};

fn connections(server: &Server) -> (usize, usize) {
    let text: String = server.query(&cmd("INFO"));
    let number = |name: &str| -> usize {
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap()
    };
    (number("connected_clients:"), number("total_connections_received:"))
}

#[test]
fn r07_a_server_that_stands_still_for_10_s() {
    for kind in Kind::wanted() {
        let _alone = alone();
        let server = Server::start(kind, &[]);
        block_on(async {
            let node = node(&settings(&server.url())).await;
            let events = vec![on(1_000, || server.signal("STOP")), on(11_000, || server.signal("CONT"))];
            let course = load(&node, 14_000, events).await;
            course.must_hold("stands still", &node, DEADLINE, course.happened[1]);
            nothing_is_lost("stands still", &course, &node, 0).await;
            let (now, all) = connections(&server);
            assert!(now <= 4 && all <= 60, "{now} connections, {all} in all");
        });
    }
}

#[test]
fn r07_a_server_that_is_killed_and_started_anew() {
    for kind in Kind::wanted() {
        let _alone = alone();
        let server = Server::start(kind, &[]);
        let port = server.port;
        block_on(async {
            let node = node(&settings(&server.url())).await;
            let again = std::sync::Mutex::new(None);
            let events = vec![
                on(1_000, || server.signal("KILL")),
                on(3_000, || *again.lock().unwrap() = Some(Server::start_at(kind, port, &[]))),
            ];
            let course = load(&node, 7_000, events).await;
            course.must_hold("killed", &node, DEADLINE, course.happened[1]);
            // It kept nothing, so every counter began anew, once.
            admitted_in_bound("killed", &course, 2 * LIMIT);
            let (now, _) = connections(again.lock().unwrap().as_ref().unwrap());
            assert!(now <= 4, "{now} connections");
        });
    }
}

#[test]
fn r04_scripts_and_data_that_are_flushed() {
    for kind in Kind::wanted() {
        let _alone = alone();
        let server = Server::start(kind, &[]);
        block_on(async {
            let node = node(&settings(&server.url())).await;
            let flush = |what: [&'static str; 2]| {
                let server = &server;
                move || {
                    let mut command = redis::Cmd::new();
                    command.arg(what[0]).arg(what[1]);
                    server.query::<()>(&command);
                }
            };
            let scripts = vec![on(1_000, flush(["SCRIPT", "FLUSH"])), on(1_500, flush(["SCRIPT", "FLUSH"]))];
            let course = load(&node, 2_500, scripts).await;
            course.must_hold("scripts flushed", &node, DEADLINE, Duration::ZERO);
            assert_eq!(course.degraded(), 0);
            nothing_is_lost("scripts flushed", &course, &node, 0).await;
            let course = load(&node, 2_500, vec![on(1_000, flush(["FLUSHALL", "SYNC"]))]).await;
            course.must_hold("all flushed", &node, DEADLINE, course.happened[0]);
            admitted_in_bound("all flushed", &course, 2 * LIMIT);
        });
    }
}

#[test]
fn a_server_whose_memory_is_full() {
    for kind in Kind::wanted() {
        let _alone = alone();
        let server = Server::start(kind, &[]);
        block_on(async {
            let node = node(&settings(&server.url())).await;
            let limit = |bytes: &'static str| {
                let server = &server;
                move || server.query::<()>(cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes))
            };
            let course = load(&node, 6_000, vec![on(1_000, limit("1")), on(3_000, limit("0"))]).await;
            course.must_hold("memory full", &node, DEADLINE, course.happened[1]);
            assert!(course.degraded() > 0);
            nothing_is_lost("memory full", &course, &node, 0).await;
        });
    }
}

/// The way becomes what it is for two seconds.
fn on_a_way(name: &str, way: Way) -> (Course, usize, usize) {
    let _alone = alone();
    let server = Server::start(Kind::Redis, &[]);
    let relay = Relay::start(server.port);
    block_on(async {
        let node = node(&settings(&relay.url())).await;
        let events = vec![on(1_000, || relay.make(way)), on(3_000, || relay.make(Way::Clear))];
        let course = load(&node, 6_000, events).await;
        course.must_hold(name, &node, DEADLINE, course.happened[1]);
        let doubts = course.in_doubt(&node);
        nothing_is_lost(name, &course, &node, doubts).await;
        let (most, all) = relay.connections();
        (course, most, all)
    })
}

#[test]
fn r07_a_way_that_is_cut_makes_late_or_loses() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    for way in
        [Way::Cut, Way::Lost, Way::Late(Duration::from_millis(30)), Way::Late(Duration::from_millis(3))]
    {
        let name = format!("{way:?}");
        let (course, most, all) = on_a_way(&name, way);
        println!("{name}: {most} connections at most, {all} in all");
        // In time, it is asked as ever.
        assert_eq!(course.degraded() > 0, way != Way::Late(Duration::from_millis(3)), "{name}");
        assert!(most <= 3 && all <= 20, "{name}: {most} connections at most, {all} in all");
    }
}
