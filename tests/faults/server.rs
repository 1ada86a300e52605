//! A PostgreSQL server of one test's own, which it may crash.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A running server, on a Unix socket only; gone with its files when dropped, or when this process
/// ends in whatever way.
pub struct PostgresServer {
    directory: PathBuf,
    programs: PathBuf,
    guard: Child,
    /// While it is open the guard waits.
    held: Option<ChildStdin>,
}

impl PostgresServer {
    /// A new server; none where its programs are missing.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("skipped: there is no initdb here; install the package postgresql");
            return None;
        };
        // Short, since the path of a socket has to be.
        let directory = tempfile::Builder::new().prefix("halfspace-pg.").tempdir();
        let directory = directory.unwrap().keep();
        if is_root() {
            // The server refuses to be root.
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

    /// Crashes it: nothing is written, nobody is told.
    pub fn crash(&self) {
        run(self
            .program("pg_ctl")
            .args([self.data().as_str(), "--mode=immediate", "stop"]));
    }

    /// Starts it, and waits until it has recovered from its crash.
    pub fn recover(&self) {
        let directory = self.directory.display();
        // The machine does not crash in these tests.
        let settings = format!(
            "-c listen_addresses='' -c unix_socket_directories='{directory}' -c fsync=off \
             -c max_connections=200"
        );
        let log = format!("--log={directory}/log");
        let arguments = [self.data(), "--options".to_owned(), settings, log];
        let mut start = self.program("pg_ctl");
        run(start.args(arguments).args(["--wait", "start"]));
    }

    /// Its address, as the service is told it.
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

/// Where the server's programs are: Debian keeps them out of the PATH, the newest under the highest
/// number.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let versions = versions.into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin")).max();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut all = debian.into_iter().chain(std::env::split_paths(&paths));
    all.find(|directory| directory.join("initdb").exists())
}

/// A command of the user that the server runs as.
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
