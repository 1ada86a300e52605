//! A fleet of processes over one store, which a test kills and restarts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::service::{Client, Program, SECRET, until};

/// Settings of every member besides its role: short leases, frequent checkpoints, an attempt limit that no
/// fault reaches, and callbacks to this machine.
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

pub const TWO_AND_TWO: [&str; 4] = ["api", "api", "worker", "worker"];

/// The processes over one data directory and one database.
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

/// Addresses of the processes that answer clients, or did so before they were killed.
#[derive(Clone, Default)]
pub struct Doors(Arc<Mutex<Vec<Client>>>);

impl Doors {
    /// The address for a number, in rotation.
    pub fn one(&self, number: usize) -> Client {
        let doors = self.0.lock().unwrap();
        doors[number % doors.len()]
    }

    pub fn lead_to(&self, programs: impl Iterator<Item = Client>) {
        *self.0.lock().unwrap() = programs.collect();
    }
}

impl Fleet {
    /// Starts one process per role, one after the other.
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

    pub fn doors(&self) -> Doors {
        self.doors.clone()
    }

    /// The data directory of all processes.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn kill(&mut self, members: &[usize]) {
        for &member in members {
            let program = self.members[member].program.take();
            program.expect("it lives").kill();
        }
    }

    /// Restarts these killed processes concurrently. Returns the time until all were ready.
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

    /// Waits until every living member is ready.
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
