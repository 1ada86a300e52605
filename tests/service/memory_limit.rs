//! A control group that limits the memory of a process. It needs version 1 or 2 of control groups on this machine,
//! and the right to write there.

use std::fs;
use std::path::{Path, PathBuf};

/// A memory limit for the processes in a control group. Dropping the limit removes the group if its processes
/// have ended.
#[derive(Debug)]
pub struct MemoryLimit {
    directory: PathBuf,
    peak: &'static str,
}

impl MemoryLimit {
    /// Creates a control group with a limit of `bytes` bytes.
    ///
    /// # Errors The reason, if no group can be created.
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
            // Version 1 has a directory for memory. Version 2 lists the resources that it controls.
            let controls = fs::read_to_string(Path::new(root).join("cgroup.subtree_control"));
            let has_own = Path::new(root).join("memory.limit_in_bytes").exists();
            has_own || controls.is_ok_and(|controls| controls.contains("memory"))
        });
        let (root, limit, peak) = found.ok_or("no control group bounds memory here")?;
        let name = format!("halfspace-{}", std::process::id());
        let directory = own_group(root).join(name);
        fs::create_dir(&directory).map_err(|error| format!("{directory:?}: {error}"))?;
        let group = Self { directory, peak };
        // Swap is limited too where the system has it. These writes may fail.
        group.write(limit, bytes)?;
        let _ = group.write("memory.memsw.limit_in_bytes", bytes);
        let _ = group.write("memory.swap.max", 0);
        Ok(group)
    }

    /// Moves a process into the group. The memory that the process already uses does not count.
    ///
    /// # Errors The reason, if the process cannot be moved.
    pub fn hold(&self, pid: u32) -> Result<(), String> {
        self.write("cgroup.procs", pid.into())
    }

    /// Greatest number of bytes that the group ever used, including the file cache of the system, or `None`
    /// where the system does not report it.
    pub fn peak_bytes(&self) -> Option<u64> {
        let text = fs::read_to_string(self.directory.join(self.peak)).ok()?;
        text.trim().parse().ok()
    }

    fn write(&self, file: &str, number: u64) -> Result<(), String> {
        let path = self.directory.join(file);
        fs::write(&path, number.to_string()).map_err(|error| format!("{path:?}: {error}"))
    }
}

/// The group of this process below the root of version 1, whose limits then hold too. A group of version 2 with
/// processes cannot bound the memory of groups below.
fn own_group(root: &str) -> PathBuf {
    let root = Path::new(root);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut own = groups
        .lines()
        .filter_map(|line| line.split_once(":memory:"));
    let own = own
        .next()
        .map(|(_, path)| root.join(path.trim_start_matches('/')));
    own.filter(|own| own.is_dir())
        .unwrap_or_else(|| root.to_owned())
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}
