//! Both layers together, with faults in between: what the handler writes is written once, and the client learns what
//! became of its request.
//!
//! `cargo test --test end_to_end`

mod in_process;
mod over_tcp;
mod pairs;
mod seen_red;
mod server_says;
mod shop;
mod unknown;
