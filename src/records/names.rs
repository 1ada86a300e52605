//! The names that features and classes came with: kept with models, and compared where other data
//! with names come before a model.

use serde::{Deserialize, Serialize};

/// Bytes of all names of features up to which they are kept with a job and its model.
pub const NAMES_BYTES_MAX: usize = 1 << 20;

/// Characters of a name that an error repeats.
const NAME_SHOWN_MAX: usize = 100;

/// The names of features and classes, where there are any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// One a feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Of the labels -1 and +1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<[String; 2]>,
}

impl Names {
    /// What is kept of names: none that are longer than [`NAMES_BYTES_MAX`] together.
    pub fn kept(features: Option<Vec<String>>, classes: Option<[String; 2]>) -> Self {
        Self {
            features: features.filter(|names| is_short(names)),
            classes: classes.filter(|names| is_short(names)),
        }
    }

    /// Whether labelled data with these names are what a model with the own ones is about.
    ///
    /// # Errors
    /// What is named otherwise.
    pub fn check(&self, given: &Self) -> Result<(), String> {
        self.check_features(given.features.as_deref())?;
        self.check_classes(given.classes.as_ref())
    }

    /// Whether other features of the same number have these names; data without names fit.
    ///
    /// # Errors
    /// The first that has another.
    pub fn check_features(&self, given: Option<&[String]>) -> Result<(), String> {
        let (Some(own), Some(given)) = (&self.features, given) else {
            return Ok(());
        };
        let mut pairs = own.iter().zip(given).enumerate();
        match pairs.find(|(_, (own, given))| own != given) {
            None => Ok(()),
            Some((index, (own, given))) => Err(format!(
                "feature {} is named {:?} in the data, but {:?} in the model",
                index + 1,
                shown(given),
                shown(own)
            )),
        }
    }

    /// Whether other labels have these names; labels without names fit.
    ///
    /// # Errors
    /// What is named otherwise.
    pub fn check_classes(&self, given: Option<&[String; 2]>) -> Result<(), String> {
        match (&self.classes, given) {
            (Some(own), Some(given)) if own != given => Err(format!(
                "the class of the label 1 is named {:?} in the data, but {:?} in the model; that \
                 of -1 {:?}, but {:?}",
                shown(&given[1]),
                shown(&own[1]),
                shown(&given[0]),
                shown(&own[0])
            )),
            _ => Ok(()),
        }
    }
}

/// Whether names are short enough to be kept.
pub fn is_short(names: &[String]) -> bool {
    names.iter().map(String::len).sum::<usize>() <= NAMES_BYTES_MAX
}

fn shown(name: &str) -> String {
    name.chars().take(NAME_SHOWN_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn the_first_feature_of_another_name_is_told() {
        let own = Names::kept(Some(names(&["a", "b", "c"])), None);
        assert_eq!(own.check_features(None), Ok(()));
        assert_eq!(own.check_features(Some(&names(&["a", "b", "c"]))), Ok(()));
        let error = own.check_features(Some(&names(&["a", "c", "b"])));
        let expected = "feature 2 is named \"c\" in the data, but \"b\" in the model";
        assert_eq!(error, Err(expected.to_owned()));
        let none = Names::default();
        assert_eq!(none.check_features(Some(&names(&["x"]))), Ok(()));
    }

    #[test]
    fn classes_the_other_way_round_are_told() {
        let pair = |texts: [&str; 2]| texts.map(str::to_owned);
        let own = Names::kept(None, Some(pair(["no", "yes"])));
        assert_eq!(own.check_classes(Some(&pair(["no", "yes"]))), Ok(()));
        assert!(own.check_classes(Some(&pair(["yes", "no"]))).is_err());
        assert_eq!(own.check_classes(None), Ok(()));
    }

    #[test]
    fn long_names_are_not_kept() {
        let long = vec!["x".repeat(NAMES_BYTES_MAX / 2); 2];
        assert!(Names::kept(Some(long.clone()), None).features.is_some());
        let longer = [long, names(&["y"])].concat();
        assert_eq!(Names::kept(Some(longer), None), Names::default());
    }
}
