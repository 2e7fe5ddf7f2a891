//! `weir validate`: every mistake at once, or what the file says.

use serde_json::{Value, json};

use super::{EXAMPLE, file, run};

const FIVE_MISTAKES: &str = "\
domain: shop
costs:
  - { when: { path: /a/** }, cost: 1 }
  - { when: { path: /a/b }, cost: 40 }
policies:
  - name: login
    kee: [user]
    quota: 5/minute
  - name: login
    quota: 100/month
  - name: search
    quota: 1.5/second
";

#[test]
fn five_mistakes_are_five_precise_errors() {
    let path = file("five.yaml", FIVE_MISTAKES);
    let (code, stdout, _) = run(&["validate", &path]);
    assert_eq!(code, Some(1));
    for (line, underlined, message, hint) in [
        (
            "4:5",
            "  - { when: { path: /a/b }, cost: 40 }",
            "this cost rule can never apply",
            "more particular rule first",
        ),
        ("7:5", "    kee: [user]", "unknown field `kee`", "did you mean `key`?"),
        ("9:11", "  - name: login", "another policy called `login`", "names are unique"),
        ("10:12", "    quota: 100/month", "`token_bucket` has no calendar windows", "`30d`"),
        ("12:12", "    quota: 1.5/second", "a fraction or exponent is not a count", "a whole number from 0"),
    ] {
        assert!(stdout.contains(&format!("--> {path}:{line}\n")), "{line}: {stdout}");
        for said in [underlined, message, hint, "^^^"] {
            assert!(stdout.contains(said), "{said}: {stdout}");
        }
    }
    assert!(stdout.ends_with(": 5 errors\n"), "{stdout}");
}

#[test]
fn a_good_file_is_told_policy_by_policy() {
    let (code, stdout, _) = run(&["validate", EXAMPLE]);
    let expected = format!(
        "{EXAMPLE}: good; domain `credit-api`
  per-tenant: 100 units per 1min, token_bucket, tick 1ns, for each [tenant], enforce
  bureau-ceiling: 2400 units per 1min, 600 at once, token_bucket, tick 1ns, for all together, enforce
  requests-per-tenant.1s: 20 requests per 1s, fixed_window, tick 1ns, for each [tenant], shadow
  requests-per-tenant.1m: 300 requests per 1min, fixed_window, tick 1ns, for each [tenant], shadow
  attributes that callers give: path, tenant (or header.x-tenant-id)
"
    );
    assert_eq!((code, stdout), (Some(0), expected));
}

#[test]
fn scripts_read_json() {
    let (code, stdout, _) =
        run(&["validate", "--output", "json", EXAMPLE, &file("five_json.yaml", FIVE_MISTAKES)]);
    assert_eq!(code, Some(1));
    let results: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&results[0]["valid"], &results[1]["valid"]), (&json!(true), &json!(false)));
    assert_eq!(results[0]["policies"][1]["quota"]["burst"], 600);
    assert_eq!(results[0]["policies"][1]["protects"], "our account at the bureau");
    let lines: Vec<_> =
        results[1]["errors"].as_array().unwrap().iter().map(|e| e["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [4, 7, 9, 10, 12]);
}

#[test]
fn what_cannot_be_read_is_no_answer() {
    let (code, _, stderr) = run(&["validate", "/nonexistent.yaml"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("cannot read /nonexistent.yaml"));
    let (code, stdout, _) = run(&["validate", "/nonexistent.yaml", EXAMPLE]);
    assert!(code == Some(2) && stdout.contains("good"), "the others are checked all the same: {stdout}");
    assert_eq!(run(&["validate"]).0, Some(2), "a file is needed");
    assert_eq!(run(&["validate", "/"]).0, Some(2), "a folder is no file");
}

#[test]
fn t06_what_a_store_on_a_server_cannot_hold_is_told_beforehand() {
    let text = "domain: d\npolicies:\n  - { name: p, key: [u], quota: 100000000000/day, algorithm: sliding_window }\n";
    let path = file("doubles.yaml", text);
    assert_eq!(run(&["validate", &path]).0, Some(0));
    let (code, said, _) = run(&["validate", "--store", "redis:", &path]);
    assert_eq!(code, Some(1));
    assert!(said.contains("the highest limit that stays exact is 52124995687"), "{said}");
    let (code, _, said) = run(&["validate", "--store", "memroy:", &path]);
    assert!(code == Some(2) && said.contains("a store is `memory:`"), "{said}");
}
