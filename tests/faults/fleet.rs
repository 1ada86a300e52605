//! Processes over one store, which die and come back.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::service::{Client, Program, SECRET, until};

/// What every member is told besides its role: short leases, checkpoints as often as they may be, so many
/// attempts that no fault poisons a job, and callbacks to this machine.
pub const SETTINGS: [&str; 12] = [
    "--lease-seconds",
    "2",
    "--attempts-max",
    "1000",
    "--workers",
    "1",
    "--checkpoint-seconds",
    "1",
    "--callback-secret",
    SECRET,
    "--callback-allow",
    "127.0.0.0/8",
];

/// Two processes that answer and two that compute.
pub const TWO_AND_TWO: [&str; 4] = ["api", "api", "worker", "worker"];

/// The processes, over one data directory and one database.
pub struct Fleet {
    directory: TempDir,
    database_url: String,
    members: Vec<Member>,
    doors: Doors,
}

struct Member {
    role: &'static str,
    program: Option<Program>,
}

/// Where clients knock: the addresses of those that answer, or did before they died.
#[derive(Clone, Default)]
pub struct Doors(Arc<Mutex<Vec<Client>>>);

impl Doors {
    /// One of them, the next for the next number.
    pub fn one(&self, number: usize) -> Client {
        let doors = self.0.lock().unwrap();
        doors[number % doors.len()]
    }

    /// These answer from now on.
    pub fn lead_to(&self, programs: impl Iterator<Item = Client>) {
        *self.0.lock().unwrap() = programs.collect();
    }
}

impl Fleet {
    /// Starts one process for each role, one after the other.
    pub async fn start(database_url: &str, roles: &[&'static str]) -> Self {
        let members = roles.iter().map(|&role| Member {
            role,
            program: None,
        });
        let mut fleet = Self {
            directory: tempfile::tempdir().unwrap(),
            database_url: database_url.to_owned(),
            members: members.collect(),
            doors: Doors::default(),
        };
        for member in 0..roles.len() {
            fleet.restart(&[member]).await;
        }
        fleet
    }

    /// Where clients knock.
    pub fn doors(&self) -> Doors {
        self.doors.clone()
    }

    /// The data directory of all of them.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// How many processes there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// SIGKILL for each of these, at once.
    pub fn kill(&mut self, members: &[usize]) {
        for &member in members {
            let program = self.members[member].program.take();
            program.expect("it lives").kill();
        }
    }

    /// Starts these that were killed, at once; how long it took until each was ready.
    pub async fn restart(&mut self, members: &[usize]) -> Duration {
        let begun = Instant::now();
        let started = members.iter().map(|&member| {
            let (directory, settings) = self.settings(member);
            spawn_blocking(move || {
                let settings: Vec<_> = settings.iter().map(String::as_str).collect();
                Program::start(&directory, &settings)
            })
        });
        for (&member, program) in members.iter().zip(join_all(started).await) {
            self.members[member].program = Some(program.unwrap());
        }
        let answering = self.members.iter().filter(|member| member.role != "worker");
        let programs = answering.filter_map(|member| member.program.as_ref());
        self.doors.lead_to(programs.map(Program::client));
        self.until_ready().await;
        begun.elapsed()
    }

    /// Waits until every member that lives says that it can meet requests.
    pub async fn until_ready(&self) {
        let living = self.members.iter();
        for program in living.filter_map(|member| member.program.as_ref()) {
            until("a process to be ready", async || {
                let ready = program.client().send("GET", "/readyz", &[], b"").await;
                ready.is_ok_and(|answer| answer.status == 200).then_some(())
            })
            .await;
        }
    }

    fn settings(&self, member: usize) -> (PathBuf, Vec<String>) {
        let own = [
            "--database-url",
            &self.database_url,
            "--role",
            self.members[member].role,
        ];
        let settings = SETTINGS.iter().chain(&own).map(|&text| text.to_owned());
        (self.directory.path().to_owned(), settings.collect())
    }
}
