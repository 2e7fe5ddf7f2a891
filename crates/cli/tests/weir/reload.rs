//! Policies that are changed while a node runs: in every way that editors and orchestrators change files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::node::{Node, get};

/// A directory of its own for each test.
fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Whatever an earlier run left behind.
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// `drained` has its usage in every version; `version` tells which one is in force.
fn policies(version: u32) -> String {
    format!(
        "domain: shop\npolicies:\n  - {{ name: drained, key: [user], quota: 1/hour, burst: 2 }}\n  \
         - {{ name: version, quota: {version}000/second, when: {{ ask: version }} }}\n"
    )
}

impl Node {
    /// Which version is in force.
    fn version(&self) -> u32 {
        let (_, verdict) = self.check(r#"{"attributes":{"ask":"version"},"dry_run":true}"#);
        u32::try_from(verdict["limit"].as_u64().unwrap() / 1_000).unwrap()
    }

    fn status_of_drained(&self) -> u16 {
        self.check(r#"{"attributes":{"user":"u"}}"#).0
    }

    fn hangup(&self) {
        let pid = self.id().to_string();
        assert!(std::process::Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    }

    /// Waits for a reload that begins no counter anew, and is in force when it is told.
    fn reloads_to(&mut self, version: u32) {
        let event = self.logged("policies reloaded");
        assert_eq!(event["anew"], "");
        assert_eq!(self.version(), version);
        assert_eq!(self.status_of_drained(), 429, "usage is kept");
    }

    fn metric(&self, line: &str) -> bool {
        get(self.admin, "/metrics").body.lines().any(|found| found == line)
    }
}

fn started(file: &Path) -> Node {
    let node = Node::start(&[file.to_str().unwrap()]);
    while node.status_of_drained() == 200 {}
    assert_eq!(node.version(), 1);
    node
}

#[test]
fn g01_a_file_may_be_written_in_place_or_replaced_by_renaming() {
    let file = directory("reload-file").join("policy.yaml");
    fs::write(&file, policies(1)).unwrap();
    let mut node = started(&file);
    fs::write(&file, policies(2)).unwrap();
    node.reloads_to(2);
    let other = file.with_extension("new");
    fs::write(&other, policies(3)).unwrap();
    fs::rename(&other, &file).unwrap();
    node.reloads_to(3);
    assert!(node.metric("weir_policy_reloads_total{outcome=\"taken\"} 2"));
    let denied =
        "weir_decisions_total{policy=\"drained\",layer=\"service\",outcome=\"deny\",mode=\"enforce\"}";
    let metrics = get(node.admin, "/metrics").body;
    let series: Vec<&str> = metrics.lines().filter(|line| line.starts_with(denied)).collect();
    assert_eq!(series, [format!("{denied} 3")], "one series, which goes on");
}

#[test]
fn a_symbolic_link_beside_the_file_may_be_swapped_as_mounted_configuration_is() {
    let directory = directory("reload-link");
    for version in 1..=2 {
        let data = directory.join(format!("..version-{version}"));
        fs::create_dir(&data).unwrap();
        fs::write(data.join("policy.yaml"), policies(version)).unwrap();
    }
    symlink("..version-1", directory.join("..data")).unwrap();
    let file = directory.join("policy.yaml");
    symlink("..data/policy.yaml", &file).unwrap();
    let mut node = started(&file);
    symlink("..version-2", directory.join("..data-new")).unwrap();
    fs::rename(directory.join("..data-new"), directory.join("..data")).unwrap();
    node.reloads_to(2);
}

#[test]
fn a_directory_may_be_replaced_and_a_link_may_lead_elsewhere() {
    let directory = directory("reload-directory");
    let [first, second] = [1, 2].map(|version| {
        let release = directory.join(format!("release-{version}"));
        fs::create_dir(&release).unwrap();
        fs::write(release.join("policy.yaml"), policies(version)).unwrap();
        release
    });
    let current = directory.join("current");
    symlink(&first, &current).unwrap();
    let mut node = started(&current.join("policy.yaml"));
    // The link to the directory is swapped.
    symlink(&second, directory.join("next")).unwrap();
    fs::rename(directory.join("next"), &current).unwrap();
    node.reloads_to(2);
    // The file is written where the link leads.
    fs::write(second.join("policy.yaml"), policies(3)).unwrap();
    node.reloads_to(3);
    // The directory goes and comes back, and is watched again.
    fs::remove_dir_all(&second).unwrap();
    node.logged("policies refused; the old ones stay in force");
    for version in [4, 5] {
        fs::create_dir_all(&second).unwrap();
        fs::write(second.join("policy.yaml"), policies(version)).unwrap();
        node.reloads_to(version);
    }
}

#[test]
fn promise_12_what_cannot_be_taken_leaves_the_old_in_force_and_is_told() {
    let file = directory("reload-broken").join("policy.yaml");
    fs::write(&file, policies(1)).unwrap();
    let mut node = started(&file);
    let half = policies(2).replace("name: version", "nam: version");
    let breaks: [(&str, &dyn Fn()); 5] = [
        ("4:5: `name` is missing", &|| fs::write(&file, &half).unwrap()),
        ("Is a directory", &|| {
            fs::remove_file(&file).unwrap();
            fs::create_dir(&file).unwrap();
        }),
        ("No such file", &|| fs::remove_dir(&file).unwrap()),
        ("the file is empty", &|| fs::write(&file, "").unwrap()),
        ("more than the", &|| fs::write(&file, vec![b'#'; 100_000_000]).unwrap()),
    ];
    for (why, break_it) in breaks {
        break_it();
        let told = loop {
            // A removal on the way to the next state may be told on its own.
            let event = node.logged("policies refused; the old ones stay in force");
            let error = event["error"].as_str().unwrap().to_owned();
            let ready = get(node.admin, "/readyz");
            assert_eq!(ready.status, 200, "the node decides by what it has");
            if ready.body.contains(why) {
                break format!("{error}{}", ready.body);
            }
        };
        assert!(told.contains("older policies are in force"), "{told}");
        assert_eq!((node.version(), node.status_of_drained()), (1, 429), "{why}");
        assert!(node.metric("weir_policies_refused 1"));
    }
    fs::write(&file, policies(2)).unwrap();
    node.reloads_to(2);
    assert_eq!(get(node.admin, "/readyz").body, "ready\n");
    assert!(node.metric("weir_policies_refused 0"));
}

#[test]
fn promise_12_a_thousand_reloads_under_load_refuse_nobody_and_leave_nothing_behind() {
    const RELOADS: u32 = 1_000;
    let file = directory("reload-load").join("policy.yaml");
    fs::write(&file, policies(1)).unwrap();
    let mut node = started(&file);
    let (address, stop) = (node.http, AtomicBool::new(false));
    let load = || {
        let mut asked = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            for (body, status) in
                [(r#"{"attributes":{"user":"u"}}"#, 429), (r#"{"attributes":{"user":""}}"#, 200)]
            {
                assert_eq!(super::node::post(address, "/v1/check", body).status, status);
                asked += 1;
            }
        }
        asked
    };
    std::thread::scope(|scope| {
        let loads = [scope.spawn(load), scope.spawn(load)];
        let mut resident = Vec::new();
        for i in 0..RELOADS {
            let version = 1 + i % 7;
            let other = file.with_extension("new");
            fs::write(&other, policies(version)).unwrap();
            fs::rename(&other, &file).unwrap();
            node.hangup();
            node.logged("policies reloaded");
            if i % 100 == 99 {
                resident.push(node.resident_kilobytes());
            }
        }
        stop.store(true, Ordering::Relaxed);
        let asked: u64 = loads.into_iter().map(|load| load.join().unwrap()).sum();
        assert!(asked > 1_000, "{asked} requests were no load");
        let (early, late) = (resident[2], resident[9]);
        assert!(late < early + 4_096, "grew from {early} to {late} kB: {resident:?}");
    });
    assert_eq!(node.status_of_drained(), 429);
}

#[test]
fn a_pipe_is_read_once_and_a_hangup_ends_nothing() {
    let mut node = Node::start(&[]);
    node.hangup();
    node.logged("policies reloaded");
    let pipe = directory("reload-pipe").join("policy");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let writer = {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::write(pipe, policies(1)).unwrap())
    };
    let mut node = Node::start(&[pipe.to_str().unwrap()]);
    writer.join().unwrap();
    node.hangup();
    node.logged("a pipe is read once; the policies stay as they are");
    assert_eq!(node.version(), 1);
    node.terminate();
    assert!(node.wait().success());
}

#[test]
fn validate_against_tells_whose_usage_is_kept() {
    let directory = directory("against");
    let (old, new) = (directory.join("old.yaml"), directory.join("new.yaml"));
    fs::write(&old, policies(1)).unwrap();
    fs::write(&new, policies(2).replace("key: [user]", "key: [tenant]")).unwrap();
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let (code, said, _) = super::run(&["validate", new, "--against", old]);
    assert_eq!(code, Some(0));
    assert!(said.contains("drained: begins anew, since its key is [tenant] and was [user]\n"), "{said}");
    assert!(said.ends_with("version: usage is kept\n"), "{said}");
    let (_, said, _) = super::run(&["validate", new, "--against", old, "--output", "json"]);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let drained =
        json!({ "policy": "drained", "usage": "anew", "changed": "key", "was": "[user]", "is": "[tenant]" });
    assert_eq!(said[0]["usage"], json!([drained, { "policy": "version", "usage": "kept" }]));
    let (code, _, complaint) = super::run(&["validate", new, "--against", "/nonexistent"]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("cannot read /nonexistent"), "{complaint}");
}
