//! The family of doors.

pub mod http;
