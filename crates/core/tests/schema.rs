//! The JSON Schema of policy files: committed as it is generated, and of one mind with the parser.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use weir_core::KeySecret;
use weir_core::file::{self, json_schema};

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.schema.json");

/// Says nearly everything that a policy file can say.
fn full() -> Value {
    json!({
        "domain": "shop",
        "attributes": { "tenant": "header.x-tenant-id" },
        "exempt": [{ "client.ip": ["10.0.0.0/8", "192.0.2.1"] }, { "path": "/healthz" }],
        "costs": [
            { "when": { "path": ["/full"] }, "cost": 40, "unit": "units" },
            { "when": { "path": { "regex": "^/r" }, "method": { "not": ["GET", "HEAD"] } }, "cost": 2 },
        ],
        "defaults": {
            "algorithm": "token_bucket", "unit": "units", "mode": "enforce", "layers": ["edge"],
            "on_missing": "skip", "on_store_failure": { "edge": "open", "service": "local" }, "owner": "ops",
        },
        "policies": [
            {
                "name": "per-tenant", "when": { "tier": { "prefix": "p" } }, "key": ["tenant", "x | client.ip"],
                "quota": "100/minute", "burst": 50, "algorithm": "token_bucket", "unit": "tokens", "cost": 3,
                "mode": "shadow", "layers": ["edge", "service"], "replaces": ["other"], "on_missing": "deny",
                "on_store_failure": "closed", "owner": "me", "protects": "you", "why": "so",
            },
            { "name": "other", "quota": ["5/10s", "9/hour"], "algorithm": "fixed_window" },
            { "name": "free", "quota": "unlimited" },
        ],
    })
}

/// JSON is YAML, so both sides read the same text.
fn parser_accepts(document: &Value) -> bool {
    file::load("p", document.to_string().as_bytes(), &file::Options::new(KeySecret::new([1; 16]))).is_ok()
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    let generated = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    if std::env::var_os("WEIR_BLESS").is_some() {
        std::fs::write(COMMITTED, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
    assert!(committed == generated, "docs/policy.schema.json is stale: run the tests once with WEIR_BLESS=1");
}

#[test]
fn every_field_is_understood_by_parser_and_schema_alike() {
    let schema = jsonschema::validator_for(&json_schema()).unwrap();
    let full = full();
    assert!(parser_accepts(&full));
    schema.validate(&full).unwrap();
}

#[test]
fn parser_and_schema_refuse_the_same_forms() {
    let schema = jsonschema::validator_for(&json_schema()).unwrap();
    let mut tried = 0;
    for place in places(&full()) {
        let strange = [
            json!(null),
            json!(-1),
            json!(1.5),
            json!([]),
            json!([[1]]),
            json!({ "zz": { "zz": 1 } }),
            json!("é~"),
        ];
        for value in strange {
            let mut document = full();
            *document.pointer_mut(&place).unwrap() = value.clone();
            let (parser, schema) = (parser_accepts(&document), schema.is_valid(&document));
            // What only meaning can tell, such as a network that is none, the schema lets pass.
            assert!(!parser || schema, "{value} at {place}: only the parser takes it");
            let is_text = place.contains("when") || place.contains("exempt") || place.contains("replaces");
            assert!(parser == schema || is_text, "{value} at {place}: only the schema takes it");
            tried += 1;
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn parser_and_schema_know_the_same_fields() {
    let schema = jsonschema::validator_for(&json_schema()).unwrap();
    for place in places(&full()) {
        let mut document = full();
        let Some(object) = document.pointer_mut(&place).and_then(Value::as_object_mut) else { continue };
        let names_are_free =
            ["/attributes", "/when", "/exempt/0", "/exempt/1"].iter().any(|free| place.ends_with(free));
        object.insert("surprise".into(), json!("x.y"));
        assert_eq!(parser_accepts(&document), names_are_free, "an unknown field in {place}");
        assert_eq!(schema.is_valid(&document), names_are_free, "an unknown field in {place}");
    }
    for required in ["/domain", "/policies", "/policies/2/name", "/policies/2/quota", "/costs/0/cost"] {
        let mut document = full();
        let (parent, field) = required.rsplit_once('/').unwrap();
        document.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field);
        assert!(!parser_accepts(&document) && !schema.is_valid(&document), "without {required}");
    }
}

/// JSON pointers to every value of a document.
fn places(document: &Value) -> Vec<String> {
    let mut open = vec![(String::new(), document.clone())];
    let mut places = Vec::new();
    while let Some((place, value)) = open.pop() {
        match &value {
            Value::Object(object) => {
                open.extend(object.iter().map(|(name, v)| (format!("{place}/{name}"), v.clone())));
            }
            Value::Array(items) => {
                open.extend(items.iter().zip(0..).map(|(v, i)| (format!("{place}/{i}"), v.clone())));
            }
            _ => {}
        }
        places.push(place);
    }
    places
}
