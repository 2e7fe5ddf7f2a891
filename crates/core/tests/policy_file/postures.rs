//! `on_store_failure`: for all layers or for each, and with a reason where it departs from a declared default.

use weir_core::{Layer, Posture};

use crate::{accepted, refused};

#[test]
fn a_posture_has_a_default_for_each_layer_and_departs_from_it_with_a_reason() {
    use Posture::{Closed, Local, Open};

    let with = |defaults: &str, policy: &str| {
        format!(
            "domain: shop\ndefaults: {{ {defaults} }}\npolicies:\n  - {{ name: a, quota: 1/second, {policy} }}\n"
        )
    };
    let by_layer = "on_store_failure: { gateway: local, service: closed }";
    let postures = |defaults: &str, policy: &str| {
        Layer::ALL.map(|layer| accepted(&with(defaults, policy)).policies.policies()[0].postures.at(layer))
    };
    assert_eq!(postures(by_layer, "owner: me"), [Open, Local, Closed]);
    assert_eq!(postures("owner: me", "on_store_failure: closed"), [Closed; 3], "no default was declared");
    assert_eq!(postures(by_layer, "on_store_failure: { edge: closed }, why: so"), [Closed, Local, Closed]);
    assert_eq!(postures(by_layer, "on_store_failure: open, why: so"), [Open; 3]);
    // What it says again, or says of layers that it is not charged at, departs from nothing.
    assert_eq!(postures(by_layer, "on_store_failure: { service: closed }"), [Open, Local, Closed]);
    assert_eq!(postures(by_layer, "on_store_failure: local, layers: [gateway]"), [Local; 3]);
    let departs = |layer: &str, own: &str, default: &str| {
        format!("4:51 `{own}` departs from `{default}`, the default for the layer `{layer}`")
    };
    refused(&with(by_layer, "on_store_failure: local"), &departs("edge", "local", "open"));
    refused(&with(by_layer, "on_store_failure: { service: open }"), &departs("service", "open", "closed"));
    refused(&with("on_store_failure: open", "on_store_failure: closed"), &departs("edge", "closed", "open"));
    refused(
        &with("layers: [edge]", "on_store_failure: { service: closed }"),
        "4:53 this policy is not charged at the layer `service`",
    );
    refused(&with("on_store_failure: { edg: open }", "owner: me"), "2:33 unknown field `edg`");
    refused(&with("on_store_failure: { edge: opne }", "owner: me"), "2:39 `opne` is not known here");
}
