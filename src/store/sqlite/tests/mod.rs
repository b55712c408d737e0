//! What a commit promises, alone and in a group with others.

mod commit;
mod group;
mod shop;

pub(super) use shop::recorder;
