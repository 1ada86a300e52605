//! A PostgreSQL server that belongs to one test, which may crash it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::service::skipped;

/// A running server on a Unix socket. The server and its files are removed when the value is dropped or when
/// this process ends for any reason.
pub struct PostgresServer {
    directory: PathBuf,
    programs: PathBuf,
    guard: Child,
    /// The guard waits while this pipe is open.
    held: Option<ChildStdin>,
}

impl PostgresServer {
    /// Starts a new server, or returns `None` if PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            skipped("there is no initdb here; install the package postgresql");
            return None;
        };
        // The path is short because the path of a socket has a length limit.
        let directory = tempfile::Builder::new().prefix("halfspace-pg.").tempdir();
        let directory = directory.unwrap().keep();
        if is_root() {
            // The server refuses to run as root.
            run(Command::new("chown").arg("nobody").arg(&directory));
        }
        let stop = r#"cat >/dev/null; "$0" --pgdata="$1/data" --mode=immediate stop; rm -rf "$1""#;
        let mut guard = as_server("sh", &directory)
            .args(["-c", stop])
            .args([&programs.join("pg_ctl"), &directory])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let held = guard.stdin.take();
        let server = Self {
            directory,
            programs,
            guard,
            held,
        };
        let data = server.data();
        run(server
            .program("initdb")
            .args(["--username=postgres", "--auth=trust", "--encoding=UTF8"])
            .args(["--locale=C.UTF-8", "--no-sync", "--no-instructions", &data]));
        server.recover();
        Some(server)
    }

    /// Crashes the server without a flush and without notice to its clients.
    pub fn crash(&self) {
        run(self
            .program("pg_ctl")
            .args([self.data().as_str(), "--mode=immediate", "stop"]));
    }

    /// Starts the server and waits until it has recovered from its crash.
    pub fn recover(&self) {
        let directory = self.directory.display();
        // The machine itself does not crash in these tests, so `fsync` is off.
        let settings = format!(
            "-c listen_addresses='' -c unix_socket_directories='{directory}' -c fsync=off \
             -c max_connections=200"
        );
        let log = format!("--log={directory}/log");
        let arguments = [self.data(), "--options".to_owned(), settings, log];
        let mut start = self.program("pg_ctl");
        run(start.args(arguments).args(["--wait", "start"]));
    }

    pub fn url(&self) -> String {
        let socket = self.directory.display();
        format!("postgres:///postgres?host={socket}&user=postgres")
    }

    fn data(&self) -> String {
        format!("--pgdata={}/data", self.directory.display())
    }

    fn program(&self, name: &str) -> Command {
        as_server(self.programs.join(name), &self.directory)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.held.take());
        let _ = self.guard.wait();
    }
}

/// Directory of the server's programs. Debian keeps them outside PATH, and the newest version has the highest
/// number.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let versions = versions.into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin")).max();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut all = debian.into_iter().chain(std::env::split_paths(&paths));
    all.find(|directory| directory.join("initdb").exists())
}

/// A command that runs as the user of the server.
fn as_server(program: impl AsRef<OsStr>, directory: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "nobody", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(directory);
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout == b"0\n"
}

fn run(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}
