//! `Idempotency-Key`: a request that makes something, sent again under its key, makes nothing more and
//! is answered with what it made.
//!
//! The key is stored in the transaction that stores the thing, and nothing is written before: a
//! request that was refused, or whose process died, leaves no key. Of requests that race under one
//! key, the store lets one make the thing; the others find out when they store theirs, and are
//! answered like any that comes later. That two of one process do the same work is spared by
//! [`InFlight`].

use std::collections::HashSet;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use halfspace_formats::FormatError;
use sha2::{Digest, Sha256};
use utoipa::IntoParams;

use crate::jobs::{JobsError, SessionError, hex};
use crate::records::id::{Id, Kind};
use crate::records::{KeyClaim, KeyRecord, Owner};
use crate::storage::StoreError;

use super::App;
use super::body::{self, Effort};
use super::problem::{Code, Problem};

/// The header of requests.
pub const KEY: &str = "Idempotency-Key";

/// The header of answers that were given before: `true`.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The longest key.
const CHARACTERS_MAX: usize = 255;

/// What makes it safe to send the request again.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "a shape: `key` reads it")]
pub struct KeyHeader {
    /// A name that the client gives this request, drawn at random. Sent again under it within 24
    /// hours, the same request makes nothing more: the answer is what it made, as it is now, with
    /// the header `idempotency-replayed`. Another request under it is refused.
    #[param(
        rename = "Idempotency-Key",
        min_length = 1,
        max_length = 255,
        pattern = "^[!-~]{1,255}$"
    )]
    key: Option<String>,
}

/// Answers a request that may have a key: by `make`, or, where something was made under its key
/// before, by `replay`, which says none when that is gone.
///
/// # Errors
/// What either says; 409 while this process answers another request under the key; 422 when another
/// request made something under it; 410 when what was made is gone.
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
    if let Some(record) = app.jobs.store().idempotency_key(owner, &key).await? {
        digest_body(app, request, digest.clone()).await?;
        return replayed(record, &digest.fingerprint(), replay).await;
    }
    let _held = app.in_flight.hold(owner, &key)?;
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
    let wrong = |detail: &str| Err(Problem::parameter(Code::INVALID_PARAMETER, KEY, detail));
    let mut values = headers.get_all(KEY).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return wrong("given twice");
    }
    let is_key = |text: &&str| {
        let is_short = (1..=CHARACTERS_MAX).contains(&text.len());
        is_short && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    match value.to_str().ok().filter(is_key) {
        Some(text) => Ok(Some(text.to_owned())),
        None => wrong("a key is 1 to 255 visible characters of ASCII"),
    }
}

/// Reads a body only to see whether it is the one sent before.
async fn digest_body(app: &App, request: Request, digest: RequestDigest) -> Result<(), Problem> {
    let (parts, body) = request.into_parts();
    // The longest that any of these requests may have.
    let limits = app.limits.of_datasets();
    let effort = Effort::AsItsBytes;
    let read = body::read(app, &parts, body, &limits, effort, move |reader| {
        let read = io::copy(&mut digest.over(reader), &mut io::sink());
        Ok(read.map(|_| ()).map_err(FormatError::from)?)
    });
    read.await.map(|_| ())
}

/// The id of what a request made.
///
/// # Errors
/// When the store says that it made a thing of another kind, which no request of its path does.
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
        let detail = "Another request was sent under this key: its path, query, Content-Type or body \
                      differs. A new request needs a new key.";
        return Err(Problem::parameter(Code::IDEMPOTENCY_MISMATCH, KEY, detail));
    }
    let thing = record.thing.clone();
    let Some(mut response) = replay(record).await? else {
        let detail = format!("What this request made, {thing}, was deleted since.");
        return Err(Problem::new(Code::IDEMPOTENCY_GONE, detail));
    };
    let headers = response.headers_mut();
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}

/// The key of a request, if it has one, for whoever makes what it asks for.
#[derive(Clone)]
pub struct Keyed(Option<(String, RequestDigest)>);

impl Keyed {
    /// What the store is to keep with the thing made. To be asked when the body has been read.
    pub fn claim(&self) -> Option<KeyClaim> {
        self.0.as_ref().map(|(key, digest)| KeyClaim {
            key: key.clone(),
            fingerprint: digest.fingerprint(),
            answer: None,
        })
    }

    /// Reads the body of a request that needs none: what was sent is part of the request.
    ///
    /// # Errors
    /// What is wrong with the body.
    pub async fn pass_over_body(&self, app: &App, request: Request) -> Result<(), Problem> {
        match &self.0 {
            Some((_, digest)) => digest_body(app, request, digest.clone()).await,
            None => Ok(()),
        }
    }
}

/// Why a request made nothing.
#[derive(Debug)]
pub enum NotMade {
    /// It is at fault, or the service is.
    Refused(Problem),
    /// Something was made under its key meanwhile.
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
            NotMade::KeyTaken(_) => in_flight(),
        }
    }
}

/// The digest of a request: method, path, query, Content-Type, and the body, decompressed, as far as
/// it was read. `Prefer` is none of it: who asks again may wait longer.
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
            // No part can hold a line's end.
            digest.update(part);
            digest.update(b"\n");
        }
        Self(Arc::new(Mutex::new(digest)))
    }

    /// A reader of the body whose bytes are digested as they are read.
    pub fn over<'r>(&self, body: &'r mut dyn Read) -> impl Read + 'r {
        Digesting {
            body,
            digest: self.clone(),
        }
    }

    /// The digest, in hexadecimal.
    fn fingerprint(&self) -> String {
        let digest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hex(&digest.clone().finalize())
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

/// The keys under which this process answers requests just now.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<HashSet<(Owner, String)>>>);

impl InFlight {
    /// Holds a key until the answer is there, or its client is gone.
    fn hold(&self, owner: &Owner, key: &str) -> Result<Held, Problem> {
        let entry = (owner.clone(), key.to_owned());
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.insert(entry.clone()) {
            return Err(in_flight());
        }
        Ok(Held {
            keys: self.clone(),
            entry,
        })
    }
}

/// Another request under the key has no answer yet.
pub fn in_flight() -> Problem {
    let detail = "A request under this key is being answered; ask again for its answer.";
    Problem::parameter(Code::IDEMPOTENCY_IN_FLIGHT, KEY, detail)
}

struct Held {
    keys: InFlight,
    entry: (Owner, String),
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.keys.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&self.entry);
    }
}
