//! What the queries of the page's routes have in common.

/// Keeps the value of a parameter, which may be there once.
pub(super) fn once<T>(name: &str, place: &mut Option<T>, value: Result<T, String>) -> Result<(), String> {
    match place.replace(value?) {
        None => Ok(()),
        Some(_) => Err(format!("{name} is there twice.")),
    }
}
