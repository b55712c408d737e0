//! An error with all its causes, in one line.

use std::{error::Error, iter};

/// The messages of an error and of what caused it, the outermost first.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = iter::successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
