//! A prefix of its own for each test, in the bucket of an S3 server.
//!
//! `scripts/with-s3 COMMAND` starts a server and passes its address to the tests. Without one, tests that need it
//! print a message and pass. With `HALFSPACE_TEST_BLOBS=s3` every service inside a test process keeps its blobs
//! there.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::database::told;
use super::skipped;

const SERVER: &str = "HALFSPACE_TEST_S3";
const BLOBS: &str = "HALFSPACE_TEST_BLOBS";

/// A secret that no log and no message may show.
pub const S3_SECRET: &str = "s3cret-of-the-store";

/// A place for blobs in the bucket of the test server.
pub struct TestBucket {
    endpoint: String,
    name: String,
    prefix: String,
}

impl TestBucket {
    /// A new empty place, or `None` if there is no server.
    pub fn new() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let Some(endpoint) = told(SERVER) else {
            skipped(format_args!(
                "no {SERVER}; scripts/with-s3 COMMAND starts a server"
            ));
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

    /// A place for a service, if all services of this run keep their blobs in a bucket.
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

    pub fn server(&self) -> SocketAddr {
        let (_, address) = self.endpoint.split_once("//").unwrap();
        address.parse().unwrap()
    }

    pub fn url(&self) -> String {
        format!("s3://{}/{}", self.name, self.prefix)
    }

    /// All settings of a service that uses this place.
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
