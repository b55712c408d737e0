//! Database servers of a test's own: in a temporary folder, on a free port, gone with the test.

pub mod postgres;
pub mod redis;
