//! A complete answer of the service.

use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// Asserts the status and returns the answer. A failure shows the body.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        self
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    #[track_caller]
    pub fn id(&self) -> String {
        self.json()["id"].as_str().unwrap().to_owned()
    }

    /// Asserts that the answer is a problem with this status, and returns the problem's code.
    #[track_caller]
    pub fn problem(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        let content_type = self.header("content-type");
        assert_eq!(content_type, Some("application/problem+json"));
        self.json()["code"].as_str().unwrap().to_owned()
    }
}
