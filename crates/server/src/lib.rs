//! The front doors of a node: each knows one protocol, and none knows another.
//!
//! A door decodes what came into a [`weir_core::Request`], asks the node, and renders the verdict: nothing
//! is decided here. To add one: a file in `door/` with these three steps, and a setting for its address.

pub mod door;
