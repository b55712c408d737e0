//! What stands in two places stays the same.
//!
//! `cargo test --test docs`

/// The crate's page and the README begin with the same code, which both compile.
#[test]
fn the_quick_start_of_the_readme_is_that_of_the_crate() {
    assert_eq!(
        code(include_str!("../README.md"), "```rust,no_run\n"),
        code(include_str!("../src/quick_start.md"), "```no_run\n")
    );
}

fn code<'a>(page: &'a str, opening: &str) -> &'a str {
    let (_, rest) = page.split_once(opening).expect("a block of code");
    rest.split_once("```").expect("it ends").0
}
