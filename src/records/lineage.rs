//! The data that a model and all models before it learnt from, as far as a service knows them.
//!
//! Generated data are known by their seed, and sent or stored data by their digest. By the digest we recognise the
//! same rows with the same labels in the same order, in every format, but not a part of them, another order, or the
//! same rows among others. A certificate therefore needs the client's declaration too.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A lineage keeps at most this number of seeds and of digests. If there were more, no data can be ruled out.
pub const LINEAGE_MAX: usize = 1000;

/// The data that a model and its ancestors learnt from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Lineage {
    /// The seeds of generated data, ascending.
    #[serde(default)]
    #[schema(max_items = 1000)]
    pub seeds: Vec<u64>,
    /// The digests of sent and stored data, ascending. A session has one per body of at least two examples.
    /// Of a stream that is learnt in steps it has that of the first step.
    #[serde(default)]
    #[schema(max_items = 1000)]
    pub sha256: Vec<String>,
    /// Whether this service generated all data behind the model. False if some were sent, and for models of files and
    /// of first hypotheses that a client gave.
    #[serde(default)]
    pub all_generated: bool,
    /// Whether there were more than 1,000 seeds or digests, so that some are left out.
    #[serde(default)]
    pub cut: bool,
}

impl Lineage {
    /// The lineage of a hypothesis that has learnt nothing.
    pub fn nothing() -> Self {
        Self {
            all_generated: true,
            ..Self::default()
        }
    }

    /// The lineage of a hypothesis of unknown origin.
    pub fn unknown() -> Self {
        Self::default()
    }

    pub fn is_unknown(&self) -> bool {
        *self == Self::unknown()
    }

    /// Adds data: the seed that generated them, if one did, and their digest, if there is one.
    pub fn add(&mut self, seed: Option<u64>, sha256: Option<&str>) {
        self.all_generated &= seed.is_some();
        if let Some(seed) = seed
            && let Err(place) = self.seeds.binary_search(&seed)
        {
            self.seeds.insert(place, seed);
        }
        if let Some(sha256) = sha256
            && let Err(place) = self
                .sha256
                .binary_search_by(|known| known.as_str().cmp(sha256))
        {
            self.sha256.insert(place, sha256.to_owned());
        }
        self.cut |= self.seeds.len() > LINEAGE_MAX || self.sha256.len() > LINEAGE_MAX;
        self.seeds.truncate(LINEAGE_MAX);
        self.sha256.truncate(LINEAGE_MAX);
    }

    /// Whether data of this seed are certain to be new to the model, without any declaration.
    pub fn excludes(&self, seed: u64) -> bool {
        self.all_generated && !self.cut && !self.seeds.contains(&seed)
    }

    /// Checks that data are not known to be among those that the model learnt from.
    ///
    /// # Errors
    /// The reason why they are, or why that cannot be ruled out.
    pub fn check_new(&self, seed: Option<u64>, sha256: Option<&str>) -> Result<(), String> {
        if let Some(seed) = seed.filter(|seed| self.seeds.contains(seed)) {
            return Err(format!(
                "the model or its ancestors learnt from data of the seed {seed}"
            ));
        }
        if sha256.is_some_and(|sha256| self.sha256.iter().any(|known| known == sha256)) {
            return Err("the model or its ancestors learnt from these data".to_owned());
        }
        match self.cut {
            true => Err(format!(
                "the model and its ancestors learnt from more than {LINEAGE_MAX} data sets, too many to compare; \
                 train a model on fewer"
            )),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lineage_knows_its_data_by_seed_and_by_digest() {
        let mut lineage = Lineage::nothing();
        lineage.add(Some(7), None);
        lineage.add(Some(3), Some("b"));
        lineage.add(Some(7), Some("a"));
        assert_eq!(
            (lineage.seeds.as_slice(), lineage.sha256.len()),
            (&[3, 7][..], 2)
        );
        assert!(lineage.excludes(4) && !lineage.excludes(3));
        assert!(lineage.check_new(Some(3), None).is_err());
        assert!(lineage.check_new(Some(4), Some("a")).is_err());
        assert_eq!(lineage.check_new(Some(4), Some("c")), Ok(()));
        // Sent data may equal those of any seed.
        lineage.add(None, Some("c"));
        assert!(!lineage.excludes(4));
        assert!(Lineage::unknown().is_unknown() && !Lineage::unknown().excludes(4));
    }

    #[test]
    fn cut_lineage_certifies_no_new_data() {
        let mut lineage = Lineage::nothing();
        for data in 0..LINEAGE_MAX {
            lineage.add(None, Some(&format!("{data:04}")));
        }
        assert_eq!(lineage.check_new(None, Some("x")), Ok(()));
        lineage.add(None, Some("0000"));
        assert_eq!(lineage.check_new(None, Some("x")), Ok(()));
        lineage.add(None, Some("y"));
        let reason = lineage
            .check_new(None, Some("x"))
            .expect_err("one is left out");
        assert!(reason.contains("1000 data sets"), "{reason}");
        assert_eq!(lineage.sha256.len(), LINEAGE_MAX);
        assert!(!lineage.excludes(1));
    }
}
