//! A prefix of its own in the bucket of an S3 server.
//!
//! `scripts/with-s3 COMMAND` starts a server and tells the tests where it is; without one, what needs
//! it is skipped, and says so. With `HALFSPACE_TEST_BLOBS=s3` every service inside a test's process
//! has its blobs there.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::database::told;

const SERVER: &str = "HALFSPACE_TEST_S3";
const BLOBS: &str = "HALFSPACE_TEST_BLOBS";

/// What no log and no message may show.
pub const S3_SECRET: &str = "s3cret-of-the-store";

/// A place for blobs in the bucket that the tests were told.
pub struct TestBucket {
    endpoint: String,
    name: String,
    prefix: String,
}

impl TestBucket {
    /// An empty place; none where there is no server.
    pub fn new() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let Some(endpoint) = told(SERVER) else {
            eprintln!("skipped: no {SERVER}; scripts/with-s3 COMMAND starts a server");
            return None;
        };
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("it/{}_{number}", std::process::id());
        let name = "halfspace".to_owned();
        Some(Self {
            endpoint,
            name,
            prefix,
        })
    }

    /// One for a service, where all services of this run are to have their blobs there.
    pub fn if_told() -> Option<Self> {
        match told(BLOBS).as_deref() {
            None | Some("folder") => None,
            Some("s3") => Some(Self::new().expect("a server")),
            Some(other) => panic!("{BLOBS} is {other}, not folder or s3"),
        }
    }

    /// A bucket of another server.
    pub fn at(server: SocketAddr) -> Self {
        Self {
            endpoint: format!("http://{server}"),
            name: "halfspace".to_owned(),
            prefix: "it".to_owned(),
        }
    }

    /// The same place behind another address.
    pub fn by(&self, proxy: SocketAddr) -> Self {
        Self {
            endpoint: format!("http://{proxy}"),
            name: self.name.clone(),
            prefix: self.prefix.clone(),
        }
    }

    /// Where the server listens.
    pub fn server(&self) -> SocketAddr {
        let (_, address) = self.endpoint.split_once("//").unwrap();
        address.parse().unwrap()
    }

    /// The setting.
    pub fn url(&self) -> String {
        format!("s3://{}/{}", self.name, self.prefix)
    }

    /// All that a service is told of it.
    pub fn settings(&self) -> Vec<String> {
        let url = self.url();
        let settings = [
            ("--blob-url", url.as_str()),
            ("--aws-endpoint-url", &self.endpoint),
            ("--aws-access-key-id", "ada"),
            ("--aws-secret-access-key", S3_SECRET),
        ];
        let settings = settings.iter().flat_map(|(name, value)| [*name, *value]);
        settings.map(str::to_owned).collect()
    }
}
