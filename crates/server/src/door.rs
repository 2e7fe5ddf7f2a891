//! The family of doors.

pub mod http;
pub mod resp;
