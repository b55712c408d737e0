//! Lists on the command line.

use std::{fmt::Display, str::FromStr};

/// `a,b,c`: at least one, and none twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

impl<T> FromStr for List<T>
where
    T: FromStr<Err = String> + PartialEq + Display,
{
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let items = text.split(',').map(|item| item.trim().parse()).collect::<Result<Vec<T>, _>>()?;
        let twice = items.iter().enumerate().find(|(place, item)| items[..*place].contains(item));
        match twice {
            Some((_, item)) => Err(format!("{item} stands there twice")),
            None => Ok(Self(items)),
        }
    }
}
