//! A cache of parsed models, because parsing a model takes longer than most predictions with it.
//!
//! A stored model never changes, so a cached one stays right until it is deleted. We ask the store again after
//! [`TRUST`]: a model that another process has deleted is used for no longer than that, and one that this process has
//! deleted only by requests in progress.
//!
//! We do not use `moka` 0.12, which exceeds its limits until a later maintenance run: with the limits below and models
//! of 16 MiB, the largest that are kept, it held 1,664 MiB instead of 64. It would also leave us the checks of owner,
//! confirmation and deletion.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::records::{Model, ModelId, Owner};

use super::loaded::LoadedModel;

/// How long a cached model is used without asking the store.
const TRUST: Duration = Duration::from_secs(1);

/// Limits of the cache: bytes of model documents, and number of models.
const BYTES_MAX: u64 = 64 << 20;
const MODELS_MAX: usize = 1024;

#[derive(Default)]
pub(crate) struct ModelCache(Mutex<All>);

#[derive(Default)]
struct All {
    models: HashMap<ModelId, CachedModel>,
    /// How many deleted models were removed from the cache.
    gone: u64,
}

/// The number of removals before the store was asked: see [`ModelCache::before_asking`].
#[derive(Clone, Copy)]
pub(crate) struct Gone(u64);

struct CachedModel {
    owner: Owner,
    model: LoadedModel,
    bytes: u64,
    /// When the store last had the model.
    seen: Instant,
    used: Instant,
}

impl ModelCache {
    /// The owner's model, if the store had it less than [`TRUST`] before `now`.
    pub(crate) fn trusted(&self, owner: &Owner, id: ModelId, now: Instant) -> Option<LoadedModel> {
        self.find(owner, id, now, |kept| {
            now.saturating_duration_since(kept.seen) < TRUST
        })
    }

    /// The owner's cached model, now that the store has confirmed it at the time `seen`.
    pub(crate) fn still_there(
        &self,
        owner: &Owner,
        id: ModelId,
        seen: Instant,
    ) -> Option<LoadedModel> {
        self.find(owner, id, seen, |kept| {
            kept.seen = seen;
            true
        })
    }

    fn find(
        &self,
        owner: &Owner,
        id: ModelId,
        now: Instant,
        take: impl FnOnce(&mut CachedModel) -> bool,
    ) -> Option<LoadedModel> {
        let mut all = self.all();
        let kept = all
            .models
            .get_mut(&id)
            .filter(|kept| kept.owner == *owner)?;
        if !take(kept) {
            return None;
        }
        kept.used = now;
        Some(kept.model.clone())
    }

    /// Call this before you ask the store for a model to cache.
    pub(crate) fn before_asking(&self) -> Gone {
        Gone(self.all().gone)
    }

    /// Caches the model of a record that the store had at the time `seen`, in place of those that were used longest
    /// ago. If any model was deleted since `before`, nothing is cached, because it may have been this one.
    pub(crate) fn keep(&self, record: &Model, model: &LoadedModel, seen: Instant, before: Gone) {
        // The document is about as long as the model in memory.
        let bytes = record.document.len() as u64;
        if bytes > BYTES_MAX / 4 {
            return;
        }
        let kept = CachedModel {
            owner: record.summary.owner.clone(),
            model: model.clone(),
            bytes,
            seen,
            used: seen,
        };
        let mut all = self.all();
        if all.gone != before.0 {
            return;
        }
        let all = &mut all.models;
        all.insert(record.summary.id, kept);
        while all.len() > MODELS_MAX || all.values().map(|kept| kept.bytes).sum::<u64>() > BYTES_MAX
        {
            let oldest = all.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(id, _)| *id) else {
                return;
            };
            all.remove(&oldest);
        }
    }

    pub(crate) fn forget(&self, id: ModelId) {
        let mut all = self.all();
        all.models.remove(&id);
        all.gone += 1;
    }

    fn all(&self) -> MutexGuard<'_, All> {
        // A map stays valid when its holder panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use halfspace_core::bits::BitVector;
    use halfspace_core::learners::hypothesis::Hypothesis;

    use super::*;
    use crate::records::{ModelSummary, Timestamp};

    fn record(number: i64, length: usize) -> Model {
        let mut random = [0; 10];
        random[..8].copy_from_slice(&number.to_be_bytes());
        let at = Timestamp::from_milliseconds(number);
        Model {
            summary: ModelSummary {
                id: ModelId::new(at, random),
                owner: Owner::anonymous(),
                job: None,
                name: None,
                learner: "a learner".to_owned(),
                kind: "a kind".to_owned(),
                n: 1,
                created_at: at,
            },
            document: "x".repeat(length),
        }
    }

    fn loaded() -> LoadedModel {
        Hypothesis::BinaryWeights(BitVector::zeros(1)).into()
    }

    #[test]
    fn model_cache_trusts_a_model_for_its_owner_and_for_a_while() {
        let (cache, record) = (ModelCache::default(), record(1, 10));
        let (owner, other, id) = (
            &record.summary.owner,
            &Owner::new("other"),
            record.summary.id,
        );
        let begun = Instant::now();
        let later = begun + TRUST;
        assert_eq!(cache.trusted(owner, id, begun), None);
        cache.keep(&record, &loaded(), begun, cache.before_asking());
        assert_eq!(cache.trusted(owner, id, begun), Some(loaded()));
        assert_eq!(cache.trusted(other, id, begun), None);
        assert_eq!(cache.trusted(owner, id, later), None);
        assert_eq!(cache.still_there(other, id, later), None);
        assert_eq!(cache.still_there(owner, id, later), Some(loaded()));
        assert_eq!(cache.trusted(owner, id, later), Some(loaded()));
        let before = cache.before_asking();
        cache.forget(id);
        assert_eq!(cache.trusted(owner, id, later), None);
        // A request that read the model before the deletion does not cache the model again.
        cache.keep(&record, &loaded(), later, before);
        assert_eq!(cache.trusted(owner, id, later), None);
    }

    #[test]
    fn model_cache_drops_the_least_recently_used() {
        let cache = ModelCache::default();
        let begun = Instant::now();
        let all: Vec<Model> = (0..5).map(|number| record(number, 15 << 20)).collect();
        let is_kept = |record: &Model, now| {
            let ModelSummary { id, owner, .. } = &record.summary;
            cache.trusted(owner, *id, now).is_some()
        };
        for (milliseconds, record) in (0..).zip(&all) {
            let now = begun + Duration::from_millis(milliseconds);
            cache.keep(record, &loaded(), now, cache.before_asking());
            // The first model stays in use.
            assert!(is_kept(&all[0], now));
        }
        let kept: Vec<bool> = all.iter().map(|record| is_kept(record, begun)).collect();
        assert_eq!(kept, [true, false, true, true, true]);
        let large = record(9, 17 << 20);
        cache.keep(&large, &loaded(), begun, cache.before_asking());
        assert!(!is_kept(&large, begun));
    }
}
