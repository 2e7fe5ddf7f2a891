//! What the documents show was run as it stands.

use weir_core::KeySecret;
use weir_core::file::{Options, load};

use super::node::Node;
use super::root;

/// The fenced blocks of a document in this language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_policy_file_in_the_documents_is_good() {
    let mut seen = 0;
    for document in ["README.md", "docs/policy-file.md"] {
        for block in blocks(document, "yaml") {
            let loaded = load(document, block.as_bytes(), &Options::new(KeySecret::new([1; 16])))
                .unwrap_or_else(|e| panic!("{e}"));
            assert!(loaded.warnings.is_empty(), "{document}: {:?}", loaded.warnings);
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
}

#[test]
fn every_request_in_the_documents_is_answered_as_they_say() {
    for document in ["README.md", "examples/credit-bureau/README.md"] {
        let node = Node::start(&[]);
        let mut asked = 0;
        for line in
            blocks(document, "sh").iter().flat_map(|block| block.lines()).filter(|l| l.starts_with("curl"))
        {
            let (command, expected) =
                line.split_once("  # ").unwrap_or_else(|| line.split_once(" # ").unwrap());
            let body = command.split('\'').nth(1).unwrap();
            let (status, verdict) = node.check(body);
            assert_eq!(
                format!("{status}, charged {}", verdict["charged"]),
                expected.trim().trim_start_matches("# "),
                "{line}"
            );
            asked += 1;
        }
        assert!(asked >= 3, "{document}");
    }
}

#[test]
fn every_body_in_the_page_of_the_http_door_is_understood() {
    let node = Node::start(&[]);
    let bodies = blocks("docs/http.md", "json");
    let (check, answer, batch) = (&bodies[0], &bodies[1], &bodies[2]);
    let (status, verdict) = node.check(check);
    assert_eq!(status, 200);
    let documented: serde_json::Value = serde_json::from_str(answer).unwrap();
    let members = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(&documented), members(&verdict));
    let (status, verdicts) = node.post("/v1/check/batch", batch);
    assert_eq!((status, verdicts["verdicts"].as_array().unwrap().len()), (200, 2));
}

#[test]
fn cargo_run_means_one_binary_as_the_readme_has_it() {
    let metadata = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let is_default = |package: &&serde_json::Value| {
        metadata["workspace_default_members"].as_array().unwrap().contains(&package["id"])
    };
    let packages = metadata["packages"].as_array().unwrap().iter().filter(is_default);
    let targets = packages.flat_map(|package| package["targets"].as_array().unwrap());
    let binaries: Vec<&str> = targets
        .filter(|target| target["kind"][0] == "bin")
        .map(|target| target["name"].as_str().unwrap())
        .collect();
    assert_eq!(binaries, ["weir"]);
}

#[test]
fn every_setting_of_serve_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/running.md")).unwrap();
    let (_, help, _) = super::run(&["serve", "--help"]);
    let flags: Vec<&str> =
        help.split_whitespace().filter(|word| word.starts_with("--") && *word != "--help").collect();
    assert!(flags.len() >= 9);
    for flag in flags {
        assert!(page.contains(&format!("`{flag}`")), "docs/running.md does not tell of {flag}");
    }
}

#[test]
fn every_algorithm_and_every_field_is_documented() {
    let read = |page: &str| std::fs::read_to_string(root().join(page)).unwrap();
    let (algorithms, fields) = (read("docs/algorithms.md"), read("docs/policy-file.md"));
    for word in weir_core::Algorithm::WORDS {
        assert!(algorithms.contains(&format!("## `{word}`")), "docs/algorithms.md has no part on {word}");
    }
    let mut open = vec![weir_core::file::json_schema()];
    let mut seen = 0;
    while let Some(schema) = open.pop() {
        let children = ["items", "additionalProperties"].into_iter().filter_map(|name| schema.get(name));
        open.extend(children.cloned());
        open.extend(schema.get("anyOf").and_then(|forms| forms.as_array()).into_iter().flatten().cloned());
        for (name, schema) in schema.get("properties").and_then(|p| p.as_object()).into_iter().flatten() {
            let is_told = [format!("`{name}`"), format!("{name}:")].iter().any(|form| fields.contains(form));
            assert!(is_told, "docs/policy-file.md does not tell of {name}");
            open.push(schema.clone());
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}

/// The texts of all Rust files under `crates`.
fn sources() -> String {
    let mut files = vec![root().join("crates")];
    let mut sources = String::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources += &std::fs::read_to_string(&path).unwrap();
        }
    }
    sources
}

/// In a table with a column "held by", its last; and in a list, the item that begins so.
#[test]
fn every_line_of_the_pages_on_failures_and_trade_offs_names_a_test_that_exists() {
    let sources = sources();
    for page in ["docs/failure.md", "docs/trade-offs.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let (mut lines, mut held) = (0, false);
        for line in text.lines() {
            held = if line.starts_with('|') { held || line.contains("| held by |") } else { false };
            let column = line.rsplit('|').nth(1).filter(|_| held && !line.contains("held by"));
            let Some(last) = column.or_else(|| line.strip_prefix("- **Held by**")) else { continue };
            let names: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
            assert!(!names.is_empty() || ["---", " the same "].contains(&last), "{line}");
            for name in names {
                assert!(sources.contains(&format!("fn {name}() {{")), "{page}: there is no test {name}");
                lines += 1;
            }
        }
        assert!(lines > 20, "{page}: {lines}");
    }
}
