//! The idempotency keys of the requests that this process is answering, so that it never does the same work twice. This
//! module does not answer the second request under such a key.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::records::Owner;

#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<HashSet<(Owner, String)>>>);

/// A held key. Dropping the value releases it.
pub struct InFlightKey {
    keys: InFlight,
    entry: (Owner, String),
}

impl InFlight {
    /// Holds a key until the request is answered or the client leaves. Returns `None` while another request holds it.
    pub fn hold(&self, owner: &Owner, key: &str) -> Option<InFlightKey> {
        let entry = (owner.clone(), key.to_owned());
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(entry.clone()).then(|| InFlightKey {
            keys: self.clone(),
            entry,
        })
    }
}

impl Drop for InFlightKey {
    fn drop(&mut self) {
        let mut held = self.keys.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&self.entry);
    }
}
