//! `Idempotency-Key`: makes it safe to retry a request. Under the same key a retry creates nothing more and is
//! answered with what the first request created.
//!
//! The store inserts the key in the transaction that creates the thing and not before, so a request that was refused or
//! whose process died leaves no key. If requests race under one key, the store lets one of them create the thing; the
//! others fail to store theirs and are answered like later retries. [`InFlight`](crate::http::in_flight::InFlight)
//! keeps a single process from doing the same work twice.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use halfspace_formats::{Format, FormatError};
use sha2::{Digest, Sha256};
use utoipa::IntoParams;

use crate::jobs::{JobsError, SessionError};
use crate::records::id::{Id, Kind};
use crate::records::{KeyClaim, KeyRecord, Owner};
use crate::storage::StoreError;

use crate::http::app_state::App;
use crate::http::extract::body::{self, Content, Effort};
use crate::http::problem::{Code, IDEMPOTENCY_KEY, Problem};

/// The header `true` on answers to retries.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Longest key in characters.
const CHARACTERS_MAX: usize = 255;

/// The header that makes a retry safe.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "a shape: `key` reads it")]
pub struct KeyHeader {
    /// A random name that the client gives to this request. Within 24 hours, the same request under the same
    /// key creates nothing more. The answer is the created thing in its current state, with the header
    /// `idempotency-replayed`. A different request under the same key is refused.
    #[param(
        rename = "Idempotency-Key",
        min_length = 1,
        max_length = 255,
        pattern = "^[!-~]{1,255}$"
    )]
    key: Option<String>,
}

/// Answers a request with or without a key. `make` creates the thing, unless an earlier request under the key did:
/// then `replay` answers, with `None` if the thing was deleted.
///
/// # Errors
/// Errors of `make` and `replay`; 409 while this process answers another request under the key; 422 if a different
/// request used the key; 410 if the thing was deleted.
pub async fn once<M, R>(
    app: &App,
    owner: &Owner,
    mut request: Request,
    make: impl FnOnce(Request, Keyed) -> M,
    replay: impl FnOnce(KeyRecord) -> R,
) -> Result<Response, Problem>
where
    M: Future<Output = Result<Response, NotMade>>,
    R: Future<Output = Result<Option<Response>, Problem>>,
{
    let Some(key) = key(request.headers())? else {
        return make(request, Keyed(None)).await.map_err(Problem::from);
    };
    let digest = RequestDigest::of(&request);
    if let Some(record) = app.jobs.store.idempotency_key(owner, &key).await? {
        digest_body(app, request, digest.clone()).await?;
        return replayed(record, &digest.fingerprint(), replay).await;
    }
    let held = app.in_flight.hold(owner, &key);
    let _held = held.ok_or_else(Problem::in_flight)?;
    request.extensions_mut().insert(digest.clone());
    let keyed = Keyed(Some((key, digest.clone())));
    match make(request, keyed).await {
        Ok(response) => Ok(response),
        Err(NotMade::Refused(problem)) => Err(problem),
        Err(NotMade::KeyTaken(record)) => replayed(*record, &digest.fingerprint(), replay).await,
    }
}

/// The key of a request.
fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let wrong = |detail: &str| {
        Err(Problem::parameter(
            Code::INVALID_PARAMETER,
            IDEMPOTENCY_KEY,
            detail,
        ))
    };
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return wrong("the parameter or header is given more than once");
    }
    let is_key = |text: &&str| {
        let is_short = (1..=CHARACTERS_MAX).contains(&text.len());
        is_short && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    match value.to_str().ok().filter(is_key) {
        Some(text) => Ok(Some(text.to_owned())),
        None => wrong("a key has 1 to 255 visible ASCII characters"),
    }
}

/// Reads a body only to compare the digest with that of the first request.
async fn digest_body(app: &App, request: Request, digest: RequestDigest) -> Result<(), Problem> {
    let (parts, body) = request.into_parts();
    // The highest body limit of all requests that take a key.
    let limits = app.limits.of_datasets();
    let media_type = parts.headers.get(header::CONTENT_TYPE);
    let format = media_type.and_then(|own| Format::from_media_type(own.to_str().ok()?));
    let how = (Effort::AsItsBytes, Content::of(format));
    let read = body::read(app, &parts, body, &limits, how, move |reader| {
        let read = io::copy(&mut digest.over(reader), &mut io::sink());
        Ok(read.map(|_| ()).map_err(FormatError::from)?)
    });
    read.await.map(|_| ())
}

/// The id of what a request created.
///
/// # Errors
/// A damaged store, if the id is of another kind than the path creates.
pub fn made_id<K: Kind>(record: &KeyRecord) -> Result<Id<K>, Problem> {
    let damaged = |error| Problem::from(StoreError::corrupt(error));
    record.id().map_err(damaged)
}

async fn replayed<R>(
    record: KeyRecord,
    fingerprint: &str,
    replay: impl FnOnce(KeyRecord) -> R,
) -> Result<Response, Problem>
where
    R: Future<Output = Result<Option<Response>, Problem>>,
{
    if record.fingerprint != fingerprint {
        let detail = "Another request used this Idempotency-Key with a different path, query, \
                      Content-Type or body. Use a new key for a new request.";
        return Err(Problem::parameter(
            Code::IDEMPOTENCY_MISMATCH,
            IDEMPOTENCY_KEY,
            detail,
        ));
    }
    let thing = record.thing.clone();
    let Some(mut response) = replay(record).await? else {
        let detail = format!(
            "This request created {thing}, which was deleted later. Use a new Idempotency-Key to create another one."
        );
        return Err(Problem::new(Code::IDEMPOTENCY_GONE, detail));
    };
    let headers = response.headers_mut();
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}

/// The idempotency key of a request, if any, for the code that creates the thing.
#[derive(Clone)]
pub struct Keyed(Option<(String, RequestDigest)>);

impl Keyed {
    /// The key for the store to keep with the thing. Its digest covers the body, so read that first.
    pub fn claim(&self) -> Option<KeyClaim> {
        self.0.as_ref().map(|(key, digest)| KeyClaim {
            key: key.clone(),
            fingerprint: digest.fingerprint(),
            answer: None,
        })
    }

    /// Reads a body that the operation does not need, if there is a key: its digest covers the body.
    ///
    /// # Errors
    /// Errors in the body.
    pub async fn pass_over_body(&self, app: &App, request: Request) -> Result<(), Problem> {
        match &self.0 {
            Some((_, digest)) => digest_body(app, request, digest.clone()).await,
            None => Ok(()),
        }
    }
}

/// Reasons why a request created nothing.
#[derive(Debug)]
pub enum NotMade {
    /// The request or the service is at fault.
    Refused(Problem),
    /// Another request created a thing under the key in the meantime.
    KeyTaken(Box<KeyRecord>),
}

impl From<Problem> for NotMade {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl From<JobsError> for NotMade {
    fn from(error: JobsError) -> Self {
        match error {
            JobsError::KeyTaken(record) => Self::KeyTaken(record),
            error => Self::Refused(error.into()),
        }
    }
}

impl From<SessionError> for NotMade {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Store(StoreError::KeyTaken(record)) => Self::KeyTaken(record),
            error => Self::Refused(error.into()),
        }
    }
}

impl From<NotMade> for Problem {
    fn from(not_made: NotMade) -> Self {
        match not_made {
            NotMade::Refused(problem) => problem,
            NotMade::KeyTaken(_) => Problem::in_flight(),
        }
    }
}

/// The digest of a request: method, path, query, Content-Type and the decompressed body as far as it was read.
/// `Prefer` is left out, so that a retry may wait longer.
#[derive(Clone)]
pub struct RequestDigest(Arc<Mutex<Sha256>>);

impl RequestDigest {
    fn of(request: &Request) -> Self {
        let uri = request.uri();
        let media_type = request.headers().get(header::CONTENT_TYPE);
        let mut digest = Sha256::new();
        for part in [
            request.method().as_str().as_bytes(),
            uri.path().as_bytes(),
            uri.query().unwrap_or_default().as_bytes(),
            media_type.map_or(&b""[..], HeaderValue::as_bytes),
        ] {
            // No part contains a line break, so the parts cannot run into each other.
            digest.update(part);
            digest.update(b"\n");
        }
        Self(Arc::new(Mutex::new(digest)))
    }

    /// A reader of the body that adds every byte to the digest.
    pub fn over<'r>(&self, body: &'r mut dyn Read) -> impl Read + 'r {
        Digesting {
            body,
            digest: self.clone(),
        }
    }

    /// The digest in hexadecimal.
    fn fingerprint(&self) -> String {
        let digest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hex::encode(digest.clone().finalize())
    }
}

struct Digesting<'r> {
    body: &'r mut dyn Read,
    digest: RequestDigest,
}

impl Read for Digesting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.body.read(buffer)?;
        let mut digest = self.digest.0.lock().unwrap_or_else(PoisonError::into_inner);
        digest.update(&buffer[..length]);
        Ok(length)
    }
}
