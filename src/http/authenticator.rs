//! The API keys in force, as this process last heard from the store.
//!
//! The service is open until the operator creates the first key, and every caller of an open service is
//! [`Owner::anonymous`]. We trust the store's answer about a key for [`TRUSTED_FOR`]. While a request lasts longer, the
//! key is looked up again and again, with one lookup for all requests of the same key; if the store does not answer,
//! the request may go on for [`UNCONFIRMED_MAX`]. Lookup and cache see only digests of secrets. The middleware decides
//! which paths need a key.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{Extensions, HeaderMap, header};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::records::{Owner, SecretDigest};
use crate::storage::{KeyLookup, Store, StoreError};

use crate::http::problem::{Code, Problem};

/// Time for which the store's answer about a key is trusted.
const TRUSTED_FOR: Duration = Duration::from_secs(2);

/// Time for which a request continues while the store cannot confirm the key.
const UNCONFIRMED_MAX: Duration = Duration::from_secs(60);

/// Keys in the cache. Keys with running requests may exceed this number.
const REMEMBERED_MAX: usize = 4_096;

/// Bytes of the longest text that is looked up as a secret.
const SECRET_BYTES_MAX: usize = 256;

const NO_KEY: &str = "The request needs an API key: `Authorization: Bearer <secret>`.";
const UNKNOWN_KEY: &str = "The API key is unknown or revoked.";

/// Looks up API keys in the store and caches the results. Clones share one cache.
#[derive(Clone)]
pub struct Authenticator(Arc<KeyCache>);

struct KeyCache {
    store: Arc<Store>,
    remembered: Mutex<Remembered>,
}

/// Rights that the store confirmed recently.
#[derive(Default)]
struct Remembered {
    /// The right of every caller while the service is open.
    open: Option<Arc<Right>>,
    /// Whether a lookup of this process has shown that a key exists.
    has_keys: bool,
    keys: HashMap<SecretDigest, Arc<Right>>,
}

/// The right of all requests of one key, or of every request to an open service.
struct Right {
    owner: Owner,
    /// `None` for an open service.
    digest: Option<SecretDigest>,
    standing: Mutex<KeyStanding>,
    /// Notified after each lookup, because one lookup serves all requests of the right.
    heard: Notify,
}

#[derive(Clone)]
struct KeyStanding {
    /// Start of the latest lookup that confirmed the right.
    confirmed_at: Instant,
    /// Earliest start of the next lookup.
    ask_at: Instant,
    is_asked: bool,
    /// The reason why the right ended.
    over: Option<Problem>,
}

/// The right of one request. The right ends when the key is revoked.
#[derive(Clone)]
pub struct Access {
    right: Arc<Right>,
    authenticator: Authenticator,
}

impl Authenticator {
    /// Creates an authenticator over a store, with an empty cache.
    pub fn new(store: Arc<Store>) -> Self {
        let remembered = Mutex::default();
        Self(Arc::new(KeyCache { store, remembered }))
    }

    /// The right of a request with these headers.
    ///
    /// # Errors
    /// 401 without a key in force. Errors of the store pass through.
    pub async fn access(&self, headers: &HeaderMap) -> Result<Access, Problem> {
        let secret = secret(headers);
        let digest = secret.ok().map(SecretDigest::of);
        let asked = Instant::now();
        let trusted = self.remembered().trusted(digest.as_ref(), asked);
        let right = match trusted {
            Some(right) => right,
            None => {
                let found = self.0.store.find_api_key(digest.as_ref()).await?;
                let confirmed = self.remembered().learn(found, digest.as_ref(), asked);
                confirmed.ok_or_else(|| refused(secret.err().unwrap_or(UNKNOWN_KEY)))?
            }
        };
        Ok(Access {
            right,
            authenticator: self.clone(),
        })
    }

    /// Looks up whether a key exists, unless an earlier lookup has shown that or is recent enough for this request.
    pub async fn look_for_keys(&self, headers: &HeaderMap) {
        if !self.has_keys() {
            // The answer is remembered. Whether this request has the right key is decided later.
            let _ = self.access(headers).await;
        }
    }

    /// Whether a lookup of this process has shown that a key exists. After [`Self::look_for_keys`] the answer is at
    /// most `TRUSTED_FOR` old.
    pub fn has_keys(&self) -> bool {
        self.remembered().has_keys
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        let remembered = self.0.remembered.lock();
        remembered.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Access {
    /// The owner of the request.
    pub fn owner(&self) -> &Owner {
        &self.right.owner
    }

    /// The right that the middleware attached to a request.
    ///
    /// # Errors
    /// [`Code::INTERNAL`] if the route has no authentication, which is a defect.
    pub fn of(extensions: &Extensions) -> Result<Self, Problem> {
        let access = extensions.get::<Self>().cloned();
        access.ok_or_else(|| {
            Problem::new(
                Code::INTERNAL,
                "The request has no owner because of a defect in the service.",
            )
        })
    }

    /// Waits until the right ends, and returns the reason. After a revocation that takes at most [`TRUSTED_FOR`] plus
    /// the duration of one lookup.
    pub async fn ended(&self) -> Problem {
        loop {
            let standing = self.right.standing().clone();
            if let Some(problem) = standing.over {
                return problem;
            }
            sleep_until(standing.ask_at).await;
            // Subscribes before the lookup, so that no notification is missed.
            let mut heard = pin!(self.right.heard.notified());
            heard.as_mut().enable();
            if self.is_asked() {
                heard.await;
            }
        }
    }

    /// Starts a lookup if one is due and no other request of the right has started one. Returns whether a
    /// lookup is running.
    ///
    /// The lookup runs in a separate task. The future of a request makes no progress while its client does
    /// not read the response, and other requests wait for the same lookup.
    fn is_asked(&self) -> bool {
        let asked = Instant::now();
        {
            let mut standing = self.right.standing();
            if standing.over.is_some() || asked < standing.ask_at {
                return false;
            }
            if std::mem::replace(&mut standing.is_asked, true) {
                return true;
            }
        }
        let asking = Asking(Arc::clone(&self.right));
        let store = Arc::clone(&self.authenticator.0.store);
        tokio::spawn(async move {
            let digest = asking.0.digest.as_ref();
            let found = store.find_api_key(digest).await;
            asking.0.standing().heard(found, digest.is_some(), asked);
        });
        true
    }
}

/// A running lookup. Dropping the value wakes every request that waits for the result.
struct Asking(Arc<Right>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.standing().is_asked = false;
        self.0.heard.notify_waiters();
    }
}

impl Right {
    fn standing(&self) -> MutexGuard<'_, KeyStanding> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a new request may use this right without a lookup.
    fn is_trusted(&self, now: Instant) -> bool {
        let standing = self.standing();
        standing.over.is_none() && now < standing.confirmed_at + TRUSTED_FOR
    }

    /// Returns whether a request holds this right.
    fn is_used(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }
}

impl KeyStanding {
    /// Applies the result of a lookup of this right, or the error of the lookup.
    fn heard(&mut self, found: Result<KeyLookup, StoreError>, is_key: bool, asked: Instant) {
        match (found, is_key) {
            (Ok(KeyLookup::Known(_)), true) | (Ok(KeyLookup::NoKeys), false) => self.confirm(asked),
            (Ok(_), true) => self.over = Some(refused("The API key was revoked.")),
            (Ok(_), false) => self.over = Some(refused(NO_KEY)),
            (Err(error), _) => {
                tracing::warn!(%error, "the store cannot report whether a key is valid");
                self.ask_at = asked + TRUSTED_FOR;
                if asked >= self.confirmed_at + UNCONFIRMED_MAX {
                    self.over = Some(error.into());
                }
            }
        }
    }

    fn confirm(&mut self, asked: Instant) {
        // An earlier lookup may finish later.
        self.confirmed_at = self.confirmed_at.max(asked);
        self.ask_at = self.confirmed_at + TRUSTED_FOR;
    }
}

impl Remembered {
    /// Returns a cached right that needs no lookup.
    fn trusted(&self, digest: Option<&SecretDigest>, now: Instant) -> Option<Arc<Right>> {
        let is_trusted = |right: &&Arc<Right>| right.is_trusted(now);
        let of_key = || self.keys.get(digest?).filter(is_trusted);
        self.open
            .as_ref()
            .filter(is_trusted)
            .or_else(of_key)
            .cloned()
    }

    /// Applies the result of a lookup. Returns the right if the result confirms one.
    fn learn(
        &mut self,
        found: KeyLookup,
        digest: Option<&SecretDigest>,
        asked: Instant,
    ) -> Option<Arc<Right>> {
        let is_open = matches!(found, KeyLookup::NoKeys);
        self.has_keys |= !is_open;
        if let Some(open) = self.open.take_if(|_| !is_open) {
            open.standing().over = Some(refused(NO_KEY));
        }
        match (found, digest) {
            (KeyLookup::NoKeys, _) => {
                let open = self.open.take();
                let right = confirmed(open, asked, || Right::new(Owner::anonymous(), None, asked));
                self.open = Some(Arc::clone(&right));
                Some(right)
            }
            (KeyLookup::Known(key), Some(digest)) => {
                let known = self.keys.remove(digest);
                self.evict(asked);
                let new = || Right::new(Owner::from(key.id), Some(*digest), asked);
                let right = confirmed(known, asked, new);
                self.keys.insert(*digest, Arc::clone(&right));
                Some(right)
            }
            (KeyLookup::Known(_) | KeyLookup::Unknown, _) => {
                if let Some(known) = digest.and_then(|digest| self.keys.remove(digest)) {
                    known.standing().over = Some(refused(UNKNOWN_KEY));
                }
                None
            }
        }
    }

    /// Removes rights from a cache that holds [`REMEMBERED_MAX`] keys: first the rights that are neither
    /// trusted nor used, and if the cache is still full, all unused rights.
    fn evict(&mut self, now: Instant) {
        if self.keys.len() < REMEMBERED_MAX {
            return;
        }
        self.keys
            .retain(|_, right| right.is_used() || right.is_trusted(now));
        if self.keys.len() >= REMEMBERED_MAX {
            self.keys.retain(|_, right| right.is_used());
        }
    }
}

impl Right {
    fn new(owner: Owner, digest: Option<SecretDigest>, asked: Instant) -> Self {
        Self {
            owner,
            digest,
            standing: Mutex::new(KeyStanding {
                confirmed_at: asked,
                ask_at: asked + TRUSTED_FOR,
                is_asked: false,
                over: None,
            }),
            heard: Notify::new(),
        }
    }
}

/// Confirms and returns the known right, or a new one if the known right is missing or over.
fn confirmed(known: Option<Arc<Right>>, asked: Instant, new: impl FnOnce() -> Right) -> Arc<Right> {
    let alive = known.filter(|right| right.standing().over.is_none());
    let right = alive.unwrap_or_else(|| Arc::new(new()));
    right.standing().confirm(asked);
    right
}

fn refused(detail: &str) -> Problem {
    Problem::new(Code::UNAUTHORIZED, detail)
}

/// Returns the secret of a request, or the reason why the request has none.
fn secret(headers: &HeaderMap) -> Result<&str, &'static str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(NO_KEY);
    };
    if values.next().is_some() {
        return Err("The request has more than one Authorization header.");
    }
    let text = value.to_str().unwrap_or_default();
    let (scheme, secret) = text.split_once(' ').unwrap_or_default();
    let secret = secret.trim();
    let is_secret = (1..=SECRET_BYTES_MAX).contains(&secret.len());
    if !scheme.eq_ignore_ascii_case("bearer") || !is_secret {
        return Err("The Authorization header does not have the form `Bearer <secret>`.");
    }
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::schedule::Weight;
    use crate::records::{ApiKey, ApiKeyId, KeyQuotas, Timestamp};
    use axum::http::HeaderValue;

    #[test]
    fn authorization_secret_follows_bearer() {
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

    fn key(number: usize) -> KeyLookup {
        KeyLookup::Known(ApiKey {
            id: ApiKeyId::new(Timestamp::from_milliseconds(number as i64), [0; 10]),
            name: String::new(),
            created_at: Timestamp::from_milliseconds(0),
            revoked_at: None,
            quotas: KeyQuotas::default(),
            weight: Weight::default(),
        })
    }

    fn digest(number: usize) -> SecretDigest {
        SecretDigest::of(&number.to_string())
    }

    #[test]
    fn remembered_keys_are_bounded_and_expire() {
        let mut memory = Remembered::default();
        let now = Instant::now();
        let until = now + TRUSTED_FOR;
        let first = memory.learn(key(0), Some(&digest(0)), now);
        for number in 1..2 * REMEMBERED_MAX {
            assert!(
                memory
                    .learn(key(number), Some(&digest(number)), now)
                    .is_some()
            );
            assert!(memory.keys.len() <= REMEMBERED_MAX + 1);
        }
        let last = digest(2 * REMEMBERED_MAX - 1);
        assert!(memory.trusted(Some(&last), now).is_some());
        assert!(memory.trusted(Some(&last), until).is_none());
        assert!(memory.trusted(None, now).is_none());
        // The right of a running request stays in the cache, so one lookup serves both requests.
        let again = memory.trusted(Some(&digest(0)), now);
        assert!(Arc::ptr_eq(&again.unwrap(), &first.unwrap()));
    }

    #[test]
    fn silent_store_keeps_a_key_valid_for_a_minute() {
        let begun = Instant::now();
        let right = Right::new(Owner::new("key_1"), Some(digest(1)), begun);
        let silent = || Err(StoreError::unavailable("silence"));
        let mut asked = begun;
        while asked < begun + UNCONFIRMED_MAX {
            right.standing().heard(silent(), true, asked);
            assert!(right.standing().over.is_none());
            asked = right.standing().ask_at;
        }
        right.standing().heard(silent(), true, asked);
        let over = right.standing().over.clone().map(|problem| problem.code());
        assert_eq!(over, Some(Code::UNAVAILABLE));
        // A successful lookup restarts the minute.
        let right = Right::new(Owner::new("key_1"), Some(digest(1)), begun);
        right
            .standing()
            .heard(Ok(key(1)), true, begun + UNCONFIRMED_MAX);
        right
            .standing()
            .heard(silent(), true, begun + UNCONFIRMED_MAX);
        assert!(right.standing().over.is_none());
        right.standing().heard(Ok(KeyLookup::Unknown), true, begun);
        assert!(right.standing().over.is_some());
    }

    #[test]
    fn first_key_ends_anonymous_access() {
        let mut memory = Remembered::default();
        let now = Instant::now();
        let open = memory.learn(KeyLookup::NoKeys, None, now).unwrap();
        assert!(memory.trusted(None, now).is_some() && open.owner.is_anonymous());
        assert!(memory.learn(key(1), Some(&digest(1)), now).is_some());
        assert!(memory.trusted(None, now).is_none());
        assert!(open.standing().over.is_some());
        // When the store no longer knows a key, the requests that began under this key end.
        let right = memory.trusted(Some(&digest(1)), now).unwrap();
        assert!(
            memory
                .learn(KeyLookup::Unknown, Some(&digest(1)), now)
                .is_none()
        );
        assert!(right.standing().over.is_some());
        assert!(memory.trusted(Some(&digest(1)), now).is_none());
    }
}
