//! Drawn pictures, and where they are kept.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A picture that is drawn.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name of its file, without `.svg`.
    pub name: &'static str,
    /// An SVG document.
    pub svg: String,
}

impl Picture {
    /// Writes it into this folder, which is made if need be, and returns where it is.
    ///
    /// # Errors
    ///
    /// If it cannot be written; the error names no file.
    pub fn save(&self, folder: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let file = folder.join(self.name).with_extension("svg");
        fs::write(&file, &self.svg)?;
        Ok(file)
    }
}
