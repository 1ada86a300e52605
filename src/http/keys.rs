//! Who asks: the API key of a request, and the owner that it speaks for.
//!
//! While no key was ever made the service is open, and everybody is [`Owner::anonymous`]. From then on
//! what is below `/v1` and `/v2` needs a key. What is asked of the store is remembered for
//! [`TRUSTED_FOR`]: so long may a key that was made or revoked elsewhere go unnoticed. Secrets are
//! remembered, and looked up, by their digests only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use crate::records::{Owner, SecretDigest};
use crate::storage::KeyLookup;

use super::App;
use super::problem::{Code, Problem};

/// How long an answer of the store about a key is trusted.
const TRUSTED_FOR: Duration = Duration::from_secs(2);

/// Keys that are remembered at once.
const REMEMBERED_MAX: usize = 4_096;

/// The longest text that is looked up as a secret.
const SECRET_BYTES_MAX: usize = 256;

/// What the store said of late.
#[derive(Clone, Default)]
pub struct Doorkeeper(Arc<Mutex<Remembered>>);

#[derive(Default)]
struct Remembered {
    /// Until when the service is taken to be open.
    open_until: Option<Instant>,
    /// Owners by their secrets, each until it is to be asked for again.
    owners: HashMap<SecretDigest, (Owner, Instant)>,
}

/// Finds out whose a request is and tells the handlers, or refuses it.
pub async fn authenticate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if needs_key(request.uri().path()) {
        match app.doorkeeper.owner(&app, request.headers()).await {
            Ok(owner) => request.extensions_mut().insert(owner),
            Err(problem) => return problem.into_response(),
        };
    }
    next.run(request).await
}

/// Whether what is at this path is anybody's business but the operator's.
pub fn needs_key(path: &str) -> bool {
    let is_below = |root: &str| {
        let rest = path.strip_prefix(root);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_below("/v1") || is_below("/v2")
}

impl Doorkeeper {
    async fn owner(&self, app: &App, headers: &HeaderMap) -> Result<Owner, Problem> {
        let secret = secret(headers);
        let digest = secret.ok().map(SecretDigest::of);
        let asked = Instant::now();
        if let Some(owner) = self.remembered(digest.as_ref(), asked) {
            return Ok(owner);
        }
        let found = app.jobs.store().find_api_key(digest.as_ref()).await?;
        let until = asked + TRUSTED_FOR;
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(found, KeyLookup::NoKeys) {
            memory.open_until = None;
        }
        match (found, digest) {
            (KeyLookup::NoKeys, _) => {
                memory.open_until = Some(until);
                Ok(Owner::anonymous())
            }
            (KeyLookup::Known(key), Some(digest)) => {
                let owner = Owner::from(key.id);
                memory.make_room(asked);
                memory.owners.insert(digest, (owner.clone(), until));
                Ok(owner)
            }
            (KeyLookup::Known(_) | KeyLookup::Unknown, _) => {
                let wrong = "The key is unknown or was revoked.";
                let detail = secret.err().unwrap_or(wrong);
                Err(Problem::new(Code::UNAUTHORIZED, detail))
            }
        }
    }

    fn remembered(&self, digest: Option<&SecretDigest>, now: Instant) -> Option<Owner> {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.open_until.is_some_and(|until| now < until) {
            return Some(Owner::anonymous());
        }
        let (owner, until) = memory.owners.get(digest?)?;
        (now < *until).then(|| owner.clone())
    }
}

impl Remembered {
    /// Forgets what is not trusted any more when there is much of it, and else everything.
    fn make_room(&mut self, now: Instant) {
        if self.owners.len() < REMEMBERED_MAX {
            return;
        }
        self.owners.retain(|_, (_, until)| now < *until);
        if self.owners.len() >= REMEMBERED_MAX {
            self.owners.clear();
        }
    }
}

/// The secret of a request, or why there is none.
fn secret(headers: &HeaderMap) -> Result<&str, &'static str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err("A key is needed: `Authorization: Bearer <secret>`.");
    };
    if values.next().is_some() {
        return Err("There are two Authorization headers.");
    }
    let text = value.to_str().unwrap_or_default();
    let (scheme, secret) = text.split_once(' ').unwrap_or_default();
    let secret = secret.trim();
    let is_secret = (1..=SECRET_BYTES_MAX).contains(&secret.len());
    if !scheme.eq_ignore_ascii_case("bearer") || !is_secret {
        return Err("The Authorization header is not `Bearer <secret>`.");
    }
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn what_is_the_operators_needs_no_key() {
        for path in ["/v1", "/v1/jobs", "/v2/health/live", "/v1/none"] {
            assert!(needs_key(path), "{path}");
        }
        for path in [
            "/livez",
            "/metrics",
            "/openapi.json",
            "/docs/",
            "/",
            "/v11",
            "/problems/v1",
        ] {
            assert!(!needs_key(path), "{path}");
        }
    }

    #[test]
    fn a_secret_is_what_follows_bearer() {
        let read = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
            }
            secret(&headers).map(str::to_owned)
        };
        assert_eq!(read(&["Bearer abc"]), Ok("abc".to_owned()));
        assert_eq!(read(&["bearer  abc "]), Ok("abc".to_owned()));
        for wrong in ["", "abc", "Bearer", "Bearer ", "Basic abc"] {
            assert!(read(&[wrong]).is_err(), "{wrong}");
        }
        assert!(read(&[]).is_err());
        assert!(read(&["Bearer a", "Bearer b"]).is_err());
    }

    #[test]
    fn what_is_remembered_is_little_and_grows_old() {
        let keeper = Doorkeeper::default();
        let now = Instant::now();
        let until = now + TRUSTED_FOR;
        let digest = |number: usize| SecretDigest::of(&number.to_string());
        {
            let mut memory = keeper.0.lock().unwrap();
            for number in 0..2 * REMEMBERED_MAX {
                memory.make_room(now);
                let owner = Owner::new(number.to_string());
                memory.owners.insert(digest(number), (owner, until));
                assert!(memory.owners.len() <= REMEMBERED_MAX);
            }
        }
        let last = digest(2 * REMEMBERED_MAX - 1);
        assert!(keeper.remembered(Some(&last), now).is_some());
        assert!(keeper.remembered(Some(&last), until).is_none());
        assert!(keeper.remembered(None, now).is_none());
    }
}
