//! The picture in `docs/algorithms.md` is what the engine draws now.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/edges.rs"]
#[expect(dead_code, reason = "the example's `main` prints; the test compares")]
mod edges;

#[test]
fn the_committed_picture_is_the_drawn_one() {
    let committed = include_str!("../../../docs/algorithms.svg");
    assert!(
        edges::picture().unwrap() == committed,
        "docs/algorithms.svg is stale: cargo run -p weir-core --example edges > docs/algorithms.svg"
    );
}
