//! The real program as a child of this process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;

use super::history::{DIRECTIVE, Member};
use super::{Client, TIMEOUT, until};

/// A running program, which is killed when the value is dropped.
pub struct Program {
    child: Child,
    client: Client,
    // Held so that the program can continue to write.
    _stdout: BufReader<ChildStdout>,
    /// Fields are dropped after `drop` has returned, so the member leaves when the program has been killed.
    _member: Option<Member>,
}

impl Program {
    /// Starts the program on a free port of the loopback address and waits for its banner.
    pub fn start(data_dir: &Path, settings: &[&str]) -> Self {
        Self::start_as(program(), None, data_dir, settings)
    }

    /// Starts the program with a limit of `blocks_max` times 512 bytes per file. A longer file finds the disk
    /// full.
    pub fn start_on_a_small_disk(blocks_max: u32, data_dir: &Path, settings: &[&str]) -> Self {
        let limit = format!("trap '' XFSZ; ulimit -f {blocks_max}");
        Self::start_with_limit(&limit, data_dir, settings)
    }

    /// Starts the program after these commands of the shell.
    pub fn start_with_limit(limit: &str, data_dir: &Path, settings: &[&str]) -> Self {
        let limited = format!("{limit}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_halfspace")]);
        Self::start_as(without_settings(command), None, data_dir, settings)
    }

    /// Starts another version of the program, or the present one beside another. Neither enters the history of
    /// the store, because an older version does not record.
    pub fn start_unrecorded(executable: Option<&Path>, data_dir: &Path, settings: &[&str]) -> Self {
        let command = match executable {
            Some(executable) => without_settings(Command::new(executable)),
            None => program(),
        };
        Self::start_command(command, None, None, data_dir, settings)
    }

    /// Starts the program, which appends its log of this level to a file.
    pub fn start_logging(level: &str, log: &Path, data_dir: &Path, settings: &[&str]) -> Self {
        let file = File::options().create(true).append(true).open(log);
        let settings = [&["--log", level], settings].concat();
        Self::start_as(program(), Some(file.unwrap()), data_dir, &settings)
    }

    /// Starts the program, which shows its address only in the log.
    pub fn start_silent(
        level: &str,
        log: &Path,
        data_dir: &Path,
        settings: &[&str],
    ) -> SilentProgram {
        let file = File::options().create(true).append(true).open(log);
        let mut command = program();
        command.stderr(file.unwrap()).args(["--log", level]);
        if !settings.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.arg("--data-dir").arg(data_dir).args(settings);
        command.stdin(Stdio::null());
        SilentProgram(command.spawn().unwrap())
    }

    /// Starts the program with its log in a file, or beside the output of the tests.
    fn start_as(command: Command, log: Option<File>, data_dir: &Path, settings: &[&str]) -> Self {
        let member = Member::enter(data_dir, settings);
        Self::start_command(command, member, log, data_dir, settings)
    }

    fn start_command(
        mut command: Command,
        mut member: Option<Member>,
        log: Option<File>,
        data_dir: &Path,
        settings: &[&str],
    ) -> Self {
        let mut settings: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        let level = match settings.iter().position(|setting| setting == "--log") {
            Some(at) => settings.drain(at..at + 2).next_back().unwrap(),
            None => "error".to_owned(),
        };
        match (&member, &log) {
            (Some(_), _) => {
                command.arg("--log").arg(format!("{level},{DIRECTIVE}"));
                command.stderr(Stdio::piped());
            }
            (None, log) => {
                command.args(["--log", &level]);
                if let Some(log) = log {
                    command.stderr(log.try_clone().unwrap());
                }
            }
        }
        let mut child = command
            .args(["--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data_dir)
            .args(settings)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(member) = &mut member {
            member.read(child.stderr.take().unwrap(), log);
        }
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = stdout.read_line(&mut line);
            let _ = sender.send((read.map(|_| line), stdout));
        });
        let Ok((line, stdout)) = receiver.recv_timeout(TIMEOUT) else {
            let _ = child.kill();
            panic!("the program says nothing");
        };
        let line = line.unwrap();
        let address = line.trim_end().rsplit('/').next().unwrap_or_default();
        let address = address.parse::<SocketAddr>();
        let Ok(address) = address else {
            let _ = child.kill();
            panic!("no address in {line:?}");
        };
        if let Some(member) = &member {
            member.answers_at(address);
        }
        Self {
            client: Client { address },
            child,
            _stdout: stdout,
            _member: member,
        }
    }

    /// Runs the program until it ends by itself. Returns the status and all output.
    pub fn run(data_dir: &Path, settings: &[&str]) -> (ExitStatus, String) {
        let output = program()
            .args(["--listen", "127.0.0.1:0", "--log", "trace", "--data-dir"])
            .arg(data_dir)
            .args(settings)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status, String::from_utf8(said).unwrap())
    }

    pub fn client(&self) -> Client {
        self.client
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the program with SIGKILL and waits for its end.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM and does not wait.
    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Sends SIGSTOP. The program stops without notice to anyone.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Sends SIGCONT, after which the program continues.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = self.pid().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
    }

    pub async fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        until("the program to end", || {
            let status = child.try_wait().unwrap();
            async move { status }
        })
        .await
    }
}

/// A running program without a banner, which is killed when the value is dropped.
pub struct SilentProgram(Child);

impl Drop for SilentProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program without settings from the environment of the tests.
pub fn program() -> Command {
    without_settings(Command::new(env!("CARGO_BIN_EXE_halfspace")))
}

fn without_settings(mut command: Command) -> Command {
    let is_setting = |name: &str| name.starts_with("HALFSPACE_") || name.starts_with("AWS_");
    for (name, _) in std::env::vars().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
    // The stores of the tests are on this machine, so the program must not use a proxy for them.
    command.env("NO_PROXY", "127.0.0.1");
    command
}

/// Creates an API key in a second process. Returns the id and the secret.
pub fn create_key(data_dir: &Path, settings: &[&str], name: &str) -> (String, String) {
    let said = keys(data_dir, settings, &["create", "--name", name]);
    let field = |name: &str| {
        let line = said.lines().find(|line| line.starts_with(name));
        let word = line.and_then(|line| line.split_whitespace().nth(1));
        word.unwrap_or_else(|| panic!("no {name}: {said}"))
            .to_owned()
    };
    (field("id"), field("secret"))
}

pub fn revoke_key(data_dir: &Path, settings: &[&str], id: &str) {
    keys(data_dir, settings, &["revoke", id]);
}

fn keys(data_dir: &Path, settings: &[&str], command: &[&str]) -> String {
    let mut keys = program();
    keys.args(["keys", "--data-dir"]).arg(data_dir);
    let output = keys.args(settings).args(command).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Processor time of a process in ticks, or `None` where the system does not report it.
pub fn processor_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The process name in parentheses may contain blanks. User and system time are fields 14 and 15.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// Peak memory of a process in bytes, or `None` where the system does not report it.
pub fn memory_peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes = line.trim().strip_suffix("kB")?.trim();
    Some(kilobytes.parse::<u64>().ok()? * 1024)
}
