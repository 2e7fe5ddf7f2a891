//! The policy file: what is taken, and that every mistake is told with its place and a hint.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod postures;
mod windows;

use weir_core::file::{self, Severity};
use weir_core::{Allowance, KeySecret, Layer, Mode, Posture, Span};

fn load(text: &str) -> Result<file::Loaded, file::Report> {
    file::load("policy.yaml", text.as_bytes(), &file::Options::new(KeySecret::new([1; 16])))
}

/// A file with one policy that has these fields beside its name.
fn with_policy(fields: &str) -> String {
    format!("domain: shop\npolicies:\n  - name: p\n    {}\n", fields.replace('\n', "\n    "))
}

/// The problems of a file, as `line:column message`.
fn problems(text: &str) -> Vec<String> {
    let report = load(text).expect_err(text);
    let show = |problem: &file::Problem| {
        let (line, column) = report.place(problem);
        format!("{line}:{column} {}", problem.message)
    };
    report.problems().iter().map(show).collect()
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(problems(text), [expected], "{text}");
}

#[track_caller]
fn accepted(text: &str) -> file::Loaded {
    load(text).unwrap_or_else(|report| panic!("{report}"))
}

#[test]
fn the_example_is_accepted_without_a_warning() {
    let example = include_str!("../../../../examples/credit-bureau/policy.yaml");
    let loaded = accepted(example);
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings.render(Severity::Warning, false));
    let policies = loaded.policies.policies();
    let names: Vec<&str> = policies.iter().map(|policy| &*policy.name).collect();
    assert_eq!(names, ["per-tenant", "bureau-ceiling", "requests-per-tenant.1s", "requests-per-tenant.1m"]);
    assert_eq!(policies[1].postures.at(Layer::Service), Posture::Closed);
    assert_eq!(policies[2].mode, Mode::Shadow);
    let Allowance::Limited(rule) = policies[1].allowance else { panic!() };
    assert_eq!(
        (rule.quota.limit(), rule.quota.window().length().unwrap(), rule.quota.capacity()),
        (2_400, Span::from_secs(60), 600)
    );
}

#[test]
fn defaults_fill_what_policies_leave_out() {
    let loaded = accepted(
        "domain: shop\ndefaults: { mode: shadow, on_store_failure: closed, unit: tokens, owner: ops }\n\
         policies:\n  - { name: a, quota: 1/second }\n  - { name: b, quota: 1/second, mode: enforce, owner: me }\n",
    );
    let [a, b] = loaded.policies.policies() else { panic!() };
    assert_eq!((a.mode, &*a.unit), (Mode::Shadow, "tokens"));
    assert_eq!(b.mode, Mode::Enforce);
    assert_eq!([a, b].map(|policy| policy.postures.at(Layer::Edge)), [Posture::Closed; 2]);
    assert_eq!((a.notes.owner.as_deref(), b.notes.owner.as_deref()), (Some("ops"), Some("me")));
}

#[test]
fn a_problem_is_underlined_and_has_a_hint() {
    let report = load(&with_policy("quota: 5/minute\nalgoritm: fixed_window")).unwrap_err();
    let expected = "\
error: unknown field `algoritm`
 --> policy.yaml:5:5
  |
5 |     algoritm: fixed_window
  |     ^^^^^^^^
  |
  = help: did you mean `algorithm`?";
    assert_eq!(report.to_string().trim_end(), expected);
}

#[test]
fn g04_broken_files_are_refused_as_a_whole() {
    refused(&with_policy("quota: 5/minute\nmax-limt: 3"), "5:5 unknown field `max-limt`");
    refused(&with_policy("quota: -1/minute"), "4:12 a number here cannot be negative");
    refused(&with_policy("quota: 1.7/minute"), "4:12 a fraction or exponent is not a count");
    refused(&with_policy("quota: 1e400/minute"), "4:12 a fraction or exponent is not a count");
    refused(&with_policy("quota: 18446744073709551616/minute"), "4:12 this number is too large");
    refused(&with_policy("quota: \"10\""), "4:12 this is not a quota");
    refused(&with_policy("quota: 5/minute\nburst: \"10\""), "5:12 a number is expected, not a text");
    refused(&with_policy("quota: 5/minute\nburst: -1"), "5:12 a number here cannot be negative");
    refused(&with_policy("quota: 5/minute\nburst: 1.5"), "5:12 a fraction or exponent is not a count");
    refused(&with_policy("quota: 5/minute\nburst: ten"), "5:12 this is not a number");
    refused(&with_policy("quota: 5/0s"), "4:12 a window of no length");
    refused(&with_policy("quota: 5/-1s"), "4:12 this is not a window");
    refused(&with_policy("quota: 5/10"), "4:12 the window has no unit");
    refused(&with_policy("quota: 5/1mo"), "4:12 `mo` could be minutes or months");
    refused(&with_policy("quota: 5/1m"), "4:12 `m` could be minutes or months");
    refused(&with_policy("quota: 5/3fortnights"), "4:12 `fortnights` is not a unit of time");
    refused(&with_policy("quota: 5/99999999999999999999d"), "4:12 this window is too long");
    refused(&with_policy("quota: 5/minute\nalgorithm: gcrra"), "5:16 `gcrra` is not known here");
    refused(&with_policy("quota: 5/minute\non_store_failure: memroy"), "5:23 `memroy` is not known here");
    refused(
        &with_policy("quota: 5/minute\nwhen: { x: { regex: \"(\" } }"),
        "5:25 this regular expression does not compile: unclosed group",
    );
    refused("", "1:1 the file is empty");
    refused("# nothing but a comment\n", "1:1 the file is empty");
    refused("domain: shop\n", "1:1 `policies` is missing");
    refused("domain: shop\npolicies: []\n", "2:11 the list is empty");
    refused("domain: shop\npolicies:\n", "2:9 a list is expected, not nothing");
}

#[test]
fn g04_bytes_that_are_no_text_and_bombs_are_refused() {
    let report =
        file::load("p", b"domain: a\npolicies: \xff\xfe", &file::Options::new(KeySecret::new([1; 16])))
            .unwrap_err();
    assert_eq!(report.problems()[0].message, "the file is not UTF-8 from here on");
    assert_eq!(report.place(&report.problems()[0]), (2, 11));
    let huge = vec![b'#'; file::SIZE_MAX + 1];
    assert!(file::load("p", &huge, &file::Options::new(KeySecret::new([1; 16]))).is_err());

    refused("a: &a [x]\nb: [*a, *a]\n", "1:7 anchors are not allowed");
    refused("domain: !!str shop\n", "1:15 tags are not allowed");
    let deep = "[".repeat(100_000);
    assert!(problems(&format!("a: {deep}"))[0].contains("recursion limit"));
    let wide = "[".to_owned() + &"1,".repeat(100_000) + "1]";
    assert_eq!(load(&format!("a: {wide}")).unwrap_err().problems().len(), 1);
}

#[test]
fn syntax_errors_say_where_and_what_to_do() {
    let hint = |text: &str| load(text).unwrap_err().problems()[0].hint.clone().unwrap_or_default();
    assert!(hint("domain: shop\nexempt:\n  - {path: **}\n").contains("must be quoted"));
    assert!(hint("domain: shop\nexempt:\n  - {path: {a}/b}\n").contains("must be quoted"));
    assert!(hint("domain: shop\n\tpolicies: []\n").contains("spaces"));
    assert!(hint("domain: \"\\d\"\n").contains("single quotes"));
    assert!(hint(&with_policy("quota: 5/minute\nkey: tenant")).contains("write `[tenant]`"));
    assert!(hint(&with_policy("quota: 5/minute\nunlimited: true")).contains("quota: unlimited"));
    refused("a: 1\na: 2\n--- \n", "3:1 a second document starts here");
}

#[test]
fn quotas_out_of_range_name_the_highest() {
    refused(
        &with_policy("quota: 9223372036854775808/second"),
        "4:12 out of range: at this window the highest limit that stays exact is 4611686018427387904",
    );
    refused(
        &with_policy("quota: 1/365d\nburst: 101"),
        "5:12 a full burst would take more than 100 years to drain: the highest burst at this rate is 100",
    );
    refused(&with_policy("quota: 5/100000d"), "4:12 the window must be from 1ms to 36500d");
    accepted(&with_policy("quota: 1000000000/second"));
    accepted(&with_policy("quota: 1/3650d"));
    accepted(&with_policy("quota: 1/1ms"));
}

#[test]
fn bursts_belong_to_buckets_and_are_not_zero() {
    refused(&with_policy("quota: 5/minute\nburst: 0"), "5:12 a burst of 0 would admit nothing");
    refused(
        &with_policy("quota: 5/minute\nburst: 9\nalgorithm: fixed_window"),
        "5:12 `fixed_window` has no burst: it admits its limit at once",
    );
    refused(
        &with_policy("quota: [5/minute, 9/hour]\nburst: 9"),
        "5:12 one burst cannot serve several quotas",
    );
    refused(&with_policy("quota: unlimited\nburst: 9"), "5:12 an unlimited quota has no burst");
    refused(
        &with_policy("quota: unlimited\non_store_failure: local"),
        "5:23 an unlimited policy asks no store, so it has nothing to do without one",
    );
    refused(&with_policy("quota: [5/minute, 9/60s]"), "4:23 the list has another quota with this window");
    assert_eq!(problems(&with_policy("quota: 5/month\nburst: 0")).len(), 2);
}

#[test]
fn paths_and_networks_are_read_strictly() {
    let when = |condition: &str| with_policy(&format!("quota: 5/minute\nwhen: {{ {condition} }}"));
    refused(&when("path: login"), "5:19 a path starts with `/`");
    refused(&when("path: /a//b"), "5:19 no path looks like this in its normal form");
    refused(&when("path: \"/users/{id}\""), "5:19 braces have no meaning in a path");
    refused(&when("client.ip: 10.0.0.1/8"), "5:24 the address has bits outside its network");
    refused(&when("client.ip: local"), "5:24 this is not an address or network");
    refused(&when("path: { prefix: /a, not: /b }"), "5:19 give one of `prefix`, `regex` and `not`");
    refused(&when("path: { glob: /a }"), "5:21 unknown field `glob`");
    refused(&when("path: { prefix: /v1/%7Ea }"), "5:29 no path starts like this in its normal form");
    refused(&when("x: { prefix: \" curl\" }"), "5:26 no value starts with a blank");
    accepted(&when("path: { prefix: [/v1/, /v2] }"));
    refused(
        &when("x: { regex: \"(a{1000}){1000}\" }"),
        "5:25 this regular expression needs more than 262144 bytes",
    );
    accepted(&when("path: [/a, /b/**], client.ip: [10.0.0.0/8, \"2001:db8::/32\", 192.0.2.1]"));
}

#[test]
fn costs_that_contradict_themselves_are_refused() {
    refused(
        &with_policy("quota: 5/minute\nunit: requests\ncost: 2"),
        "6:11 every request is one of `requests`",
    );
    refused(&with_policy("quota: 5/minute\ncost: 6"), "5:11 this costs more than the quota can ever hold");
    let costs =
        |rules: &str| format!("domain: shop\ncosts:\n{rules}policies:\n  - {{ name: p, quota: 5/minute }}\n");
    let hidden = "this cost rule can never apply: an earlier one fits whatever it fits";
    refused(&costs("  - { cost: 1 }\n  - { when: { path: /a }, cost: 2 }\n"), &format!("4:5 {hidden}"));
    refused(
        &costs("  - { when: { method: GET }, cost: 1 }\n  - { when: { method: GET, path: /a }, cost: 2 }\n"),
        &format!("4:5 {hidden}"),
    );
    refused(&costs("  - { cost: 1, unit: requests }\n"), "3:22 every request is one of `requests`");
    refused(
        &costs("  - { cost: 3, unit: token }\n"),
        "3:22 no policy counts `token`, so this cost rule can never apply",
    );
    refused(&with_policy("quota: 5/minute\ncost: 0"), "5:11 a policy at no cost never counts anything");
    accepted(&costs("  - { when: { path: /a }, cost: 1 }\n  - { cost: 2 }\n"));
    // A condition that is at fault is one mistake, and hides nothing else.
    assert_eq!(problems(&costs("  - { when: { path: { glob: /a } }, cost: 1 }\n  - { cost: 2 }\n")).len(), 1);
    let paths = |last: &str| (0..1_001).map(|i| format!("/a{i}, ")).collect::<Vec<_>>().concat() + last;
    let wide = costs(&format!(
        "  - {{ when: {{ path: [{}] }}, cost: 1 }}\n  - {{ when: {{ path: [{}] }}, cost: 2 }}\n",
        paths("/b"),
        paths("/c")
    ));
    assert_eq!(problems(&wide), ["4:5 the cost rules have more than 2000 values in their conditions"]);
    let many = costs(&"  - { when: { x: y }, cost: 1 }\n".repeat(1_001));
    assert_eq!(problems(&many), ["1003:5 more than 1000 cost rules"]);
}

#[test]
fn replacements_name_policies_and_make_no_circle() {
    let policies = |a: &str, b: &str| {
        format!(
            "domain: shop\npolicies:\n  - {{ name: base, quota: 1/second, replaces: [{a}] }}\n  - {{ name: other, quota: 1/second, replaces: [{b}] }}\n"
        )
    };
    refused(&policies("othr", "base"), "3:47 there is no policy called `othr`");
    refused(&policies("other", "base"), "4:48 `other` and `base` replace each other");
    refused(&with_policy("quota: 5/minute\nreplaces: [p]"), "5:16 a policy cannot replace itself");
}

#[test]
fn names_and_doubles_are_checked() {
    refused(&with_policy("quota: 5/minute\nquota: 6/minute"), "5:5 `quota` is given twice");
    refused(&with_policy("quota: 5/minute\nkey: [tenant, tenant]"), "5:19 this is in the key already");
    refused("domain: \"a b\"\npolicies: [{ name: p, quota: 1/second }]\n", "1:9 this is not a name");
    refused("domain: a\npolicies: [{ name: \"p\\\"q\", quota: 1/second }]\n", "2:20 this is not a name");
    refused(&with_policy("quota: 5/minute\nkey: [\"a b\"]"), "5:11 this is not the name of an attribute");
    refused(&with_policy("quota: 5/minute\nkey: tenant"), "5:10 a list is expected, not a single value");
}

#[test]
fn what_looks_like_a_mistake_is_a_warning() {
    let warnings = |text: &str| -> Vec<String> {
        accepted(text).warnings.problems().iter().map(|problem| problem.message.clone()).collect()
    };
    assert_eq!(
        warnings(&with_policy("quota: 5/minute\nkey: [header.x-api-key]")),
        ["a client that leaves out `header.x-api-key` meets no enforced policy"]
    );
    assert_eq!(
        warnings(
            &("attributes: { tenant: header.x-tenant }\n".to_owned()
                + &with_policy("quota: 5/minute\nkey: [tenant]"))
        ),
        ["a client that leaves out `tenant` meets no enforced policy"]
    );
    for safe in [
        "key: [header.x-api-key | client.ip]",
        "key: [header.x-api-key]\non_missing: deny",
        "key: [header.x-api-key]\non_missing: shared",
        "key: [tenant]",
    ] {
        assert_eq!(warnings(&with_policy(&format!("quota: 5/minute\n{safe}"))), [""; 0], "{safe}");
    }
    let two = "domain: shop\npolicies:\n  - { name: a, key: [tenant], quota: 1/second }\n  - { name: b, key: [tenant], quota: 9/minute }\n  - { name: c, key: [tennant], quota: 99/hour }\n";
    assert_eq!(warnings(two), ["`tennant` is used only here, and `tenant` elsewhere"]);
    let shadow = "domain: shop\npolicies:\n  - { name: a, quota: 1/second }\n  - { name: b, quota: 1/second, mode: shadow, replaces: [a] }\n";
    assert_eq!(warnings(shadow), ["a shadow policy replaces nothing"]);
}

#[test]
fn settled_names_are_unique_too() {
    let text = "domain: shop\npolicies:\n  - { name: a, quota: [5/second, 10/minute] }\n  - { name: a.1s, quota: 9/second }\n";
    refused(text, "4:13 there is another policy called `a.1s`");
    refused(
        &with_policy("quota: [unlimited, 5/minute]"),
        "4:13 `unlimited` makes the rest of the list useless",
    );
    let many = (1..=17).map(|n| format!("5/{n}s")).collect::<Vec<_>>().join(", ");
    assert_eq!(problems(&with_policy(&format!("quota: [{many}]"))).len(), 1);
}

#[test]
fn what_would_switch_a_limit_off_in_silence_is_refused() {
    let exempt = |rule: &str| {
        format!("domain: shop\nexempt:\n  - {rule}\npolicies:\n  - {{ name: p, quota: 1/second }}\n")
    };
    refused(&exempt("{}"), "3:5 an exemption without conditions would exempt everything");
    refused(&exempt("{ path: /v1** }"), "3:13 `**` is a segment of its own");
    refused(
        &exempt("{ client.ip: \"::ffff:10.0.0.0/104\" }"),
        "3:18 an IPv4-mapped network never matches: such addresses are IPv4 here",
    );
    refused(&exempt("{ x: \"\" }"), "3:10 nothing is written here");
    refused(
        &with_policy("quota: 5/minute\nkey: [header.X-Api-Key]"),
        "5:11 header names are written in lower case here",
    );
    refused(&with_policy("quota: 5/minute\nkey: [user | user]"), "5:11 `user` is a choice already");
    refused(&with_policy("quota: 5/minute\nkey: [a|b|c|d|e|f|g|h|i]"), "5:11 more than 8 choices");
    refused(&with_policy("quota: 007/minute"), "4:12 a leading zero could mean an octal number");
    refused(
        &("attributes: { user: account, account: header.x }\n".to_owned() + &with_policy("quota: 5/minute")),
        "1:21 `account` has a source itself",
    );
}

#[test]
fn a_source_lends_its_kind() {
    let file = |attribute: &str, when: &str| {
        format!("attributes: {{ {attribute} }}\n")
            + &with_policy(&format!("quota: 5/minute\nwhen: {{ {when} }}"))
    };
    refused(&file("peer: client.ip", "peer: nowhere"), "6:19 this is not an address or network");
    refused(&file("path: header.x-original-uri", "path: login"), "6:19 a path starts with `/`");
    accepted(&file("peer: client.ip", "peer: 10.0.0.0/8"));
}

#[test]
fn what_many_comments_surround_is_read_all_the_same() {
    accepted(&format!(
        "domain: shop\npolicies:\n{}  - {{ name: p, quota: 1/second }}\n",
        "  # out of use\n".repeat(500)
    ));
}

#[test]
fn large_files_are_read_and_reported_in_good_time() {
    let policies = |each: &dyn Fn(usize) -> String| {
        format!("domain: shop\npolicies:\n{}", (0..4_000).map(each).collect::<Vec<_>>().concat())
    };
    // A chain of replacements, thousands of mistakes, and thousands of names: each was quadratic or worse once.
    accepted(&policies(&|i| {
        format!(
            "  - {{ name: p{i}, quota: 1/second, key: [k{i}], replaces: [{}] }}\n",
            if i == 0 { "q".into() } else { format!("p{}", i - 1) }
        )
        .replace(", replaces: [q]", "")
    }));
    let report = load(&policies(&|_| "  - x\n".into())).unwrap_err();
    assert_eq!(report.problems().len(), 4_000);
    assert!(report.to_string().ends_with("... and 3900 more"));
}

#[test]
fn no_file_makes_a_node_ask_for_gigabytes() {
    let many = (0..201).map(|i| format!("\"a{i}\"")).collect::<Vec<_>>().join(", ");
    let when =
        |regexes: &str| with_policy(&format!("quota: 5/minute\nwhen: {{ x: {{ regex: [{regexes}] }} }}"));
    assert_eq!(problems(&when(&many)), ["5:26 the file has more than 200 regular expressions"]);
    let parts = (0..17).map(|i| format!("k{i}")).collect::<Vec<_>>().join(", ");
    assert_eq!(problems(&with_policy(&format!("quota: 5/minute\nkey: [{parts}]"))).len(), 1);
}

#[test]
fn short_names_are_not_near_to_others() {
    let text = "domain: s\npolicies:\n  - { name: a, key: [dup, u], quota: 1/second }\n  - { name: b, key: [dup, ip], quota: 1/second }\n";
    assert!(accepted(text).warnings.is_empty());
}

#[test]
fn clients_that_can_exempt_or_escape_are_warned_of() {
    let warned = |text: &str| !accepted(text).warnings.is_empty();
    let by_key = "{ name: p, quota: 5/minute, key: [header.x] }";
    let with = |more: &str| format!("domain: shop\npolicies:\n  - {by_key}\n  - {{ name: q, {more} }}\n");
    assert!(!warned(&with("quota: 9/minute")));
    assert!(warned(&with("quota: unlimited")));
    assert!(warned(&with("quota: 9/minute, layers: [edge]")));
    assert!(warned(&with("quota: 9/minute, mode: shadow")));
    assert!(warned(&with("quota: 9/minute, key: [jwt.sub]")));
    let exempt =
        "domain: shop\nexempt:\n  - { header.x-debug: on }\npolicies:\n  - { name: p, quota: 5/minute }\n";
    assert!(warned(exempt));
    assert!(!warned(&exempt.replace("on }", "on, client.ip: 10.0.0.0/8 }")));
    assert!(warned(&exempt.replace("on }", "{ not: off } }")));
    let idle = "{ name: r, quota: 9/minute, mode: off, replaces: [q] }";
    assert!(!warned(&(with("quota: 9/minute") + "  - " + idle + "\n")), "what is off replaces nothing");
}
