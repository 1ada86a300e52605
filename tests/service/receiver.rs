//! A receiver of callbacks, which takes requests one by one and answers each on command.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use halfspace::callbacks::{Secret, Signer};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::TIMEOUT;

/// The secret with which services sign callbacks in these tests.
pub const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

pub struct Receiver(TcpListener);

/// A complete request that waits for its answer.
pub struct Call {
    stream: TcpStream,
    head: String,
    pub body: String,
}

impl Receiver {
    pub async fn start() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// The URL for callbacks.
    pub fn url(&self) -> String {
        format!("http://{}/hook?of=test", self.0.local_addr().unwrap())
    }

    pub async fn call(&self) -> Call {
        let accepted = timeout(TIMEOUT, async {
            let (stream, _) = self.0.accept().await.unwrap();
            Call::read(stream).await.expect("a whole call")
        });
        accepted.await.expect("a call in time")
    }

    /// Accepts every call from now on. Callers may disconnect.
    pub fn welcome_all(self) -> Calls {
        let calls = Calls::default();
        let bodies = Arc::clone(&calls.0);
        tokio::spawn(async move {
            while let Ok((stream, _)) = self.0.accept().await {
                let bodies = Arc::clone(&bodies);
                tokio::spawn(async move {
                    if let Some(call) = Call::read(stream).await {
                        call.assert_signed();
                        let id = call.header("webhook-id").to_owned();
                        let known = &mut *bodies.lock().unwrap();
                        known.entry(id).or_default().push(call.body.clone());
                        // The caller may have disconnected by now.
                        tokio::spawn(call.try_answer("204 No Content"));
                    }
                });
            }
        });
        calls
    }
}

/// The bodies of the calls so far, by their ids.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<HashMap<String, Vec<String>>>>);

impl Calls {
    pub fn of(&self, id: &str) -> Vec<String> {
        self.0.lock().unwrap().get(id).cloned().unwrap_or_default()
    }
}

impl Call {
    /// Reads a call. Returns `None` if the caller disconnects.
    async fn read(mut stream: TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        loop {
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
            let text = String::from_utf8(bytes.clone()).unwrap();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let call = Self {
                head: head.to_owned(),
                body: body.to_owned(),
                stream,
            };
            if call.body.len().to_string() == call.header("content-length") {
                return Some(call);
            }
            stream = call.stream;
        }
    }

    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.unwrap_or_else(|| panic!("no {name}")).1
    }

    pub fn document(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Asserts that the call is signed with [`SECRET`].
    #[track_caller]
    pub fn assert_signed(&self) {
        let secret: Secret = SECRET.parse().unwrap();
        let signer = Signer::new(vec![secret]).unwrap();
        let seconds = self.header("webhook-timestamp").parse().unwrap();
        let signature = signer.sign(self.header("webhook-id"), seconds, self.body.as_bytes());
        assert_eq!(self.header("webhook-signature"), signature);
    }

    /// Answers with this status and an empty body.
    pub async fn answer(self, status: &'static str) {
        self.try_answer(status).await.unwrap();
    }

    async fn try_answer(mut self, status: &'static str) -> std::io::Result<()> {
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        self.stream.write_all(answer.as_bytes()).await?;
        self.stream.shutdown().await
    }
}
