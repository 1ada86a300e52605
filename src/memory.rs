//! The memory of the process: the allocator, and the limit of the machine or of a control group.
//!
//! The limits come from `/proc` and from control groups of versions 1 and 2. [`halfspace_core::memory`] divides the
//! memory among requests and jobs. We do not use `sysinfo` 0.40 for them, because it does not read `memory.high`, above
//! which the kernel slows a process down instead of ending it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use halfspace_core::memory::{CountingAllocator, Grant};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: CountingAllocator<MiMalloc> = CountingAllocator(MiMalloc);

/// Memory outside of any grant: connections, caches, the store and the program itself.
pub const BASE_BYTES: u64 = 64 << 20;

/// Smallest memory limit of a process. Half of it is for work, enough for one block of the widest examples in packed
/// and in real form and for the buffers of a request.
pub const LIMIT_BYTES_MIN: u64 = 2 * BASE_BYTES;

/// Largest memory of work after which a thread keeps its free blocks for the next work.
const KEPT_BYTES_MAX: u64 = 2 << 20;

/// Milliseconds until mimalloc returns free pages to the system.
const PURGE_DELAY_MS: i64 = 10;

/// The option `mi_option_purge_delay` of mimalloc 3.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Makes mimalloc return free memory to the system soon. The program calls this function at start.
pub fn return_free_memory() {
    // SAFETY: the option exists, and the call only stores a number.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, PURGE_DELAY_MS) };
}

/// Returns the free memory of this thread to the system if the work under the grant took much. Without this, each
/// thread would keep some free blocks of each size, and all threads of a pool together more than the memory in use.
pub fn return_after(grant: &Grant) {
    if grant.peak() > KEPT_BYTES_MAX {
        // SAFETY: the call frees only pages without blocks.
        unsafe { libmimalloc_sys::mi_collect(true) };
    }
}

/// The time that this thread has spent on computing, without the time that it waited.
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Values of version 1 from which on a group has no limit.
const NO_LIMIT: u64 = 1 << 60;

/// Default share of the memory limit, in hundredths. The rest is for memory that the counters miss: stacks,
/// pages of files and other processes.
const DEFAULT_HUNDREDTHS: u64 = 70;

/// The directories with the memory limits of this process.
#[derive(Clone, Debug)]
pub struct Machine {
    proc: PathBuf,
    cgroup: PathBuf,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            proc: PathBuf::from("/proc"),
            cgroup: PathBuf::from("/sys/fs/cgroup"),
        }
    }
}

impl Machine {
    /// The smallest limit in bytes among the machine and the control groups up to the root, or `None` if no limit can
    /// be read.
    pub fn bytes(&self) -> Option<u64> {
        let groups = fs::read_to_string(self.proc.join("self/cgroup")).unwrap_or_default();
        let limits = groups.lines().flat_map(|line| self.of_group(line));
        limits.chain(self.of_machine()).min()
    }

    /// Returns the bytes of memory of the machine.
    fn of_machine(&self) -> Option<u64> {
        let told = fs::read_to_string(self.proc.join("meminfo")).ok()?;
        let line = told
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes * 1024)
    }

    /// Returns the limits for a line of `/proc/self/cgroup`, which has a number, the controllers and a path.
    fn of_group(&self, line: &str) -> Vec<u64> {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            return Vec::new();
        };
        let path = Path::new(path.trim_start_matches('/'));
        if controllers.is_empty() {
            let names = ["memory.max", "memory.high"];
            let read = |name: &str| numbers_up(&self.cgroup, path, name);
            return names.iter().flat_map(|name| read(name)).collect();
        }
        if !controllers.split(',').any(|name| name == "memory") {
            return Vec::new();
        }
        // In a container the path may be that of the host, which the container cannot see.
        let mount = self.cgroup.join("memory");
        let own = mount.join(path);
        let told = [own, mount].into_iter().find_map(|directory| {
            let stat = fs::read_to_string(directory.join("memory.stat")).ok()?;
            let mut lines = stat.lines();
            let limit = lines.find_map(|line| line.strip_prefix("hierarchical_memory_limit "));
            limit?.trim().parse().ok()
        });
        told.into_iter().filter(|&limit| limit < NO_LIMIT).collect()
    }
}

/// Reads the numbers in the files `name` from the directory at `path` up to `root`. The word `max` means no
/// limit and is skipped.
fn numbers_up(root: &Path, path: &Path, name: &str) -> Vec<u64> {
    let directories = path.ancestors().map(|directory| root.join(directory));
    let read = |directory: PathBuf| fs::read_to_string(directory.join(name)).ok();
    let texts = directories.filter_map(read);
    texts.filter_map(|text| text.trim().parse().ok()).collect()
}

/// The default memory of the process when the limit of the machine is `there_is` bytes.
pub fn default_bytes(there_is: u64) -> u64 {
    there_is / 100 * DEFAULT_HUNDREDTHS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a machine with these files.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let directory = tempfile::tempdir().expect("a directory");
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
        let machine = Machine {
            proc: directory.path().join("proc"),
            cgroup: directory.path().join("cgroup"),
        };
        (directory, machine)
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\n");

    #[test]
    fn memory_limit_is_the_least_of_all_parent_cgroups() {
        let group = ("proc/self/cgroup", "0::/a/b\n");
        let (_kept, bare) = machine(&[MEMINFO, group]);
        assert_eq!(bare.bytes(), Some(1_024_000));
        for (file, text, expected) in [
            ("cgroup/a/b/memory.max", "500000\n", 500_000),
            ("cgroup/a/memory.high", "400000\n", 400_000),
            ("cgroup/memory.max", "300000\n", 300_000),
            ("cgroup/a/b/memory.max", "max\n", 1_024_000),
            ("cgroup/c/memory.max", "1\n", 1_024_000),
        ] {
            let (_kept, limited) = machine(&[MEMINFO, group, (file, text)]);
            assert_eq!(limited.bytes(), Some(expected), "{file}");
        }
    }

    #[test]
    fn memory_limit_is_read_from_cgroups_of_version_1() {
        let group = ("proc/self/cgroup", "5:cpu:/x\n4:freezer,memory:/x/y\n");
        for (file, limit, expected) in [
            ("cgroup/memory/x/y/memory.stat", 600_000, 600_000),
            ("cgroup/memory/memory.stat", 700_000, 700_000),
            ("cgroup/memory/memory.stat", 1_u64 << 60, 1_024_000),
            (
                "cgroup/memory/memory.stat",
                9_223_372_036_854_771_712,
                1_024_000,
            ),
        ] {
            let text = format!("cache 1\nhierarchical_memory_limit {limit}\nrss 2\n");
            let (_kept, limited) = machine(&[MEMINFO, group, (file, &text)]);
            assert_eq!(limited.bytes(), Some(expected), "{file} {limit}");
        }
    }

    #[test]
    fn memory_limit_is_unknown_without_proc_and_cgroups() {
        let (_kept, nowhere) = machine(&[]);
        assert_eq!(nowhere.bytes(), None);
        assert!(Machine::default().bytes().is_none_or(|bytes| bytes > 0));
    }
}
