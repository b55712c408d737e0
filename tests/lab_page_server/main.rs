//! The server of the lab page: its files, what it says of itself, the list that follows the reports, and herds.
//!
//! The page's own scripts run in a browser only; here their files are read as text.

mod files;
mod herd;
mod info;
mod listening;
mod scene;
mod texts;
