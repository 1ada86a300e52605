//! A control group that bounds the memory of a process, where this machine lets one be made: version
//! 1 or 2, and only for who may write there.

use std::fs;
use std::path::{Path, PathBuf};

/// A bound on the memory of the processes in it; gone when dropped, once they are.
#[derive(Debug)]
pub struct MemoryLimit {
    directory: PathBuf,
    peak: &'static str,
}

impl MemoryLimit {
    /// A control group for so many bytes; none, with the reason, where none can be made.
    ///
    /// # Errors
    /// Why not.
    pub fn new(bytes: u64) -> Result<Self, String> {
        let versions = [
            (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.max_usage_in_bytes",
            ),
            ("/sys/fs/cgroup", "memory.max", "memory.peak"),
        ];
        let found = versions.iter().find(|(root, _, _)| {
            // Version 1 has a directory of its own; version 2 says what it controls.
            let controls = fs::read_to_string(Path::new(root).join("cgroup.subtree_control"));
            let has_own = Path::new(root).join("memory.limit_in_bytes").exists();
            has_own || controls.is_ok_and(|controls| controls.contains("memory"))
        });
        let (root, limit, peak) = found.ok_or("no control group bounds memory here")?;
        let name = format!("halfspace-{}", std::process::id());
        let directory = Path::new(root).join(name);
        fs::create_dir(&directory).map_err(|error| format!("{directory:?}: {error}"))?;
        let group = Self { directory, peak };
        // Where there is swap it is bounded as well, or not at all.
        group.write(limit, bytes)?;
        let _ = group.write("memory.memsw.limit_in_bytes", bytes);
        let _ = group.write("memory.swap.max", 0);
        Ok(group)
    }

    /// Bounds a process from now on: what it holds already does not count.
    ///
    /// # Errors
    /// Why it cannot be bounded.
    pub fn hold(&self, pid: u32) -> Result<(), String> {
        self.write("cgroup.procs", pid.into())
    }

    /// The most bytes that were ever held, the system's cache of files included; none where the
    /// system does not say.
    pub fn peak_bytes(&self) -> Option<u64> {
        let text = fs::read_to_string(self.directory.join(self.peak)).ok()?;
        text.trim().parse().ok()
    }

    fn write(&self, file: &str, number: u64) -> Result<(), String> {
        let path = self.directory.join(file);
        fs::write(&path, number.to_string()).map_err(|error| format!("{path:?}: {error}"))
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}
