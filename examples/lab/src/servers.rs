//! Database servers of the tests' own, from installed binaries: private, in a temporary folder, on a free port.

pub mod postgres;
pub mod redis;
