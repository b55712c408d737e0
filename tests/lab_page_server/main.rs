//! The server of the lab page: its files, what it says of itself, and the list that follows the reports.
//!
//! The page's own scripts run in a browser only; here their files are read as text.

mod files;
mod info;
mod listening;
mod scene;
mod texts;
