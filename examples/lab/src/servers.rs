//! Database servers of a test's own: in a temporary folder, on a free port, gone with the test. And a wire to them that
//! fails when it is told to.

mod guarded;
pub mod pgbouncer;
pub mod postgres;
pub mod redis;
pub mod wire;
