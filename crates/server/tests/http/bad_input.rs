//! Bad input: a clear 4xx that names the field, never a 500, never a panic, and nothing charged.

use super::*;

const POLICIES: &str = "policies:\n  - { name: p, key: [tenant], on_missing: shared, quota: 1000/minute }\n";

/// The body is refused with this status, this field and a detail that says this; and nothing is charged.
async fn refused(door: &Door, path: &str, body: impl Into<Body>, status: u16, field: &str, detail: &str) {
    let reply = door.post(path, body).await;
    let said = reply.body["detail"].as_str().unwrap_or_default();
    assert_eq!(
        (reply.status.as_u16(), reply.body["field"].as_str().unwrap_or("")),
        (status, field),
        "{said}"
    );
    assert!(said.contains(detail), "{said:?} does not say {detail:?}");
    assert_eq!(reply.header("content-type"), "application/problem+json");
    assert_eq!(reply.body["status"], status);
    assert_eq!(door.store.stats().keys, 0, "nothing is charged");
}

#[tokio::test]
async fn wrong_bodies_are_told_what_is_wrong_and_where() {
    let door = Door::new(POLICIES);
    let long = "x".repeat(10_000);
    let many = (0..5_000).map(|i| format!(r#""a{i}":"v","#)).collect::<Vec<_>>().concat();
    let deep = "[".repeat(20_000);
    for (body, field, detail) in [
        ("", "", "the body is empty"),
        (" \n ", "", "the body is empty"),
        ("{", "", "EOF"),
        ("null", "", "invalid type: null"),
        ("[]", "", "expected an object"),
        ("{} {}", "", "trailing characters"),
        (&*deep, "", ""),
        (r#"{"attributs":{}}"#, "attributs", "unknown field `attributs`, expected one of"),
        (r#"{"domain":7}"#, "domain", "invalid type"),
        (r#"{"attributes":[]}"#, "attributes", "an object of texts by attribute name"),
        (r#"{"attributes":{"tenant":7}}"#, "attributes.tenant", "invalid type: integer `7`"),
        (r#"{"attributes":{"tenant":null}}"#, "attributes.tenant", "invalid type: null"),
        (r#"{"attributes":{"tenant":["a"]}}"#, "attributes.tenant", "invalid type: sequence"),
        (r#"{"attributes":{"tenant":"a","tenant":"b"}}"#, "attributes", "given twice"),
        (r#"{"attributes":{"":"a"}}"#, "attributes", "the name of an attribute is"),
        (r#"{"attributes":{"a b":"a"}}"#, "attributes", "the name of an attribute is"),
        (r#"{"attributes":{"te\u0000nant":"a"}}"#, "attributes", "visible ASCII"),
        (r#"{"attributes":{"te\r\nnant":"a"}}"#, "attributes", "visible ASCII"),
        (
            r#"{"attributes":{"client.ip":"somewhere"}}"#,
            "attributes.client.ip",
            "`client.ip` is not an address",
        ),
        (
            &format!(r#"{{"attributes":{{"tenant":"{long}"}}}}"#),
            "attributes.tenant",
            "has 10000 bytes, more than 4096",
        ),
        (&format!(r#"{{"attributes":{{"{long}":"x"}}}}"#), "attributes", "1 to 128"),
        (&format!(r#"{{"attributes":{{{many}"z":"v"}}}}"#), "attributes", "more than 64 attributes"),
        (r#"{"attributes":{"tenant":"\ud800"}}"#, "attributes.tenant", ""),
        (r#"{"layer":"middle"}"#, "layer", "one of edge, gateway, service"),
        (r#"{"dry_run":1}"#, "dry_run", "invalid type"),
        (r#"{"timeout_ms":0}"#, "timeout_ms", "from 1 to 3600000"),
        (r#"{"timeout_ms":3600001}"#, "timeout_ms", "from 1 to 3600000"),
        (r#"{"timeout_ms":-5}"#, "timeout_ms", "invalid value"),
        (r#"{"timeout_ms":1.5}"#, "timeout_ms", "invalid type"),
        (r#"{"timeout_ms":"50ms"}"#, "timeout_ms", "invalid type"),
    ] {
        refused(&door, "/v1/check", body.to_owned(), 400, field, detail).await;
    }
    let invalid_utf8 = b"{\"attributes\":{\"tenant\":\"\xff\xfe\"}}".to_vec();
    refused(&door, "/v1/check", invalid_utf8, 400, "attributes.tenant", "").await;
}

#[tokio::test]
async fn costs_are_whole_numbers_that_fit_64_bits() {
    let door = Door::new(POLICIES);
    for cost in ["-1", "1.7", "1e400", "1e2", "18446744073709551616", "\"10\"", "true", "[1]", "-0.0", "NaN"]
    {
        let body = format!(r#"{{"cost":{cost}}}"#);
        let reply = door.check(body).await;
        assert_eq!(
            (reply.status.as_u16(), &reply.body["field"]),
            (400, &"cost".into()),
            "{cost}: {}",
            reply.body
        );
        refused(&door, "/v1/check", format!(r#"{{"cost":{{"tokens":{cost}}}}}"#), 400, "cost.tokens", "")
            .await;
    }
    for (cost, detail) in [
        (r#"{"requests":2}"#, "every request is one of `requests`"),
        (r#"{"a":1,"a":2}"#, "`a` is given twice"),
        (r#"{"a b":1}"#, "the name of a unit"),
    ] {
        refused(&door, "/v1/check", format!(r#"{{"cost":{cost}}}"#), 400, "cost", detail).await;
    }
    // The largest that fits is a number like any other; it is only more than the quota can hold.
    assert_eq!(door.check(r#"{"cost":18446744073709551615}"#).await.body["outcome"], "never");
}

#[tokio::test]
async fn unknown_domains_are_a_clear_404() {
    let door = Door::new(POLICIES);
    let detail = "unknown domain `shpo`: the policies loaded here are for `shop`";
    refused(&door, "/v1/check", r#"{"domain":"shpo"}"#, 404, "domain", detail).await;
    refused(
        &door,
        "/v1/check/batch",
        r#"{"checks":[{},{"domain":"shpo"}]}"#,
        404,
        "checks[1].domain",
        detail,
    )
    .await;
    assert_eq!(door.metric("weir_unknown_domain_total"), "2");
}

#[tokio::test]
async fn a_batch_names_its_bad_entry_and_charges_none() {
    let door = Door::new(POLICIES);
    refused(
        &door,
        "/v1/check/batch",
        r#"{"checks":[{},{"cost":-1},{}]}"#,
        400,
        "checks[1].cost",
        "a whole number from 0",
    )
    .await;
    refused(
        &door,
        "/v1/check/batch",
        r#"{"checks":[{},{"attributes":{"t":1}}]}"#,
        400,
        "checks[1].attributes.t",
        "",
    )
    .await;
    refused(&door, "/v1/check/batch", r#"{"checks":7}"#, 400, "checks", "a list of checks").await;
    refused(&door, "/v1/check/batch", r#"{"checks":[{},[]]}"#, 400, "checks[1]", "expected an object").await;
    refused(&door, "/v1/check/batch", "{}", 400, "", "missing field `checks`").await;
    let many = format!(r#"{{"checks":[{}{{}}]}}"#, "{},".repeat(1_000));
    refused(&door, "/v1/check/batch", many, 400, "checks", "more than 1000 checks").await;
}

#[tokio::test]
async fn too_large_bodies_are_413_whether_they_say_so_or_not() {
    let door = Door::new(POLICIES);
    let huge = vec![b' '; BODY_MAX + 1];
    refused(&door, "/v1/check", huge.clone(), 413, "", "larger than 100000 bytes").await;
    let chunks =
        std::iter::repeat_with(|| Ok::<_, std::io::Error>(axum::body::Bytes::from_static(&[b' '; 1_000])))
            .take(200);
    let unsized_body = Body::from_stream(tokio_stream::iter(chunks));
    refused(&door, "/v1/check", unsized_body, 413, "", "larger than 100000 bytes").await;
}

#[tokio::test]
async fn other_paths_methods_and_types_are_what_http_says() {
    let door = Door::new(POLICIES);
    let send = |method: &str, path: &str, content_type: &str| {
        let request = Request::builder().method(method).uri(path).header("content-type", content_type);
        door.send(request.body(Body::from("{}")).unwrap())
    };
    assert_eq!(send("POST", "/v1/chekc", "application/json").await.status, 404);
    assert_eq!(send("GET", "/", "application/json").await.status, 404);
    let not_allowed = send("GET", "/v1/check", "application/json").await;
    assert_eq!((not_allowed.status.as_u16(), not_allowed.header("allow")), (405, "POST"));
    assert_eq!(send("POST", "/v1/check", "text/plain").await.status, 415);
    assert_eq!(send("POST", "/v1/check", "application/x-www-form-urlencoded").await.status, 415);
    assert_eq!(send("POST", "/v1/check", "application/json; charset=utf-8").await.status, 200);
    let gzip = Request::post("/v1/check").header("content-encoding", "gzip").body(Body::from("{}")).unwrap();
    assert_eq!(door.send(gzip).await.status, 415);
    let nulls =
        r#"{"domain":null,"attributes":null,"cost":null,"layer":null,"dry_run":null,"timeout_ms":null}"#;
    assert_eq!(door.check(nulls).await.status, 200, "null is the same as unsaid");
    let untyped = Request::post("/v1/check").body(Body::from("{}")).unwrap();
    assert_eq!(door.send(untyped).await.status, 200);
}
