//! Lists the files of a directory tree.

use std::path::{Path, PathBuf};

/// Every file below a directory, or no file if the directory is missing.
pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(directory) else {
            continue;
        };
        for entry in entries.flatten() {
            // The type of the entry itself. An entry that has been deleted meanwhile is no directory.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(_) => files.push(entry.path()),
                Err(_) => {}
            }
        }
    }
    files
}
