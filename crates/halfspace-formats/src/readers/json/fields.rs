//! Fields that several JSON forms of data have: the number of features and the declared distribution.

use halfspace_core::learners::engine::assume::Assume;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer};

use crate::error::{Fault, FormatErrorKind};
use crate::readers::json::scope;

/// Reads the number of features, from 1 to the limit.
pub(crate) fn feature_count<'de, D: Deserializer<'de>>(value: D) -> Result<usize, D::Error> {
    let n = u64::deserialize(value)?;
    let n_max = scope::limits().n_max;
    match usize::try_from(n) {
        Ok(0) => {
            let detail = "n is 0; it must be at least 1.";
            Err(scope::raise(Fault::new(
                FormatErrorKind::OutOfRange,
                detail,
            )))
        }
        Ok(n) if n <= n_max => Ok(n),
        _ => {
            let what = format!("n is {n}");
            Err(scope::raise(Fault::too_large(&what, "n_max", n_max as u64)))
        }
    }
}

/// Refuses an `assume` that is not among `allowed`.
pub(crate) fn check_assume(assume: Assume, allowed: &[Assume]) -> Result<Assume, Fault> {
    if allowed.contains(&assume) {
        return Ok(assume);
    }
    let detail = "The value of assume must be independent, uniform-positive or reflected for half-space examples, \
                  and independent or uniform for labelled examples. Unlabelled examples allow no assume.";
    Err(Fault::new(FormatErrorKind::OutOfRange, detail))
}

/// Reads `assume`, which is null or a name. The seed checks the name, so that a fault points to this field.
pub(crate) struct AssumeOf {
    pub(crate) allowed: &'static [Assume],
}

impl<'de> DeserializeSeed<'de> for AssumeOf {
    type Value = Option<Assume>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let assume = Option::<Assume>::deserialize(deserializer)?;
        let checked = assume.map(|assume| check_assume(assume, self.allowed));
        checked.transpose().map_err(scope::raise)
    }
}
