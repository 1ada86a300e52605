//! The names of features and classes. Models keep these names and compare them with the names of other data.

use std::sync::Arc;

use halfspace_formats::{Parsed, TableEncoding};
use serde::{Deserialize, Serialize};

/// The largest size of all names of features that a job and its model keep, in bytes.
pub const NAMES_BYTES_MAX: usize = 1 << 20;

/// The largest number of characters of a name in an error message.
const NAME_SHOWN_MAX: usize = 100;

/// The names of features and classes, and the encoding that made the features, if there are any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Names {
    /// One name per feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// The names of the labels -1 and +1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<[String; 2]>,
    /// The encoding of the table that the features came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Arc<TableEncoding>>,
}

impl Names {
    /// Returns the names that came with a body.
    pub fn of<D>(parsed: &Parsed<D>) -> Self {
        Self {
            features: parsed.feature_names.clone(),
            classes: parsed.class_names.clone(),
            table: parsed.table.clone(),
        }
    }

    /// Keeps the names that are at most [`NAMES_BYTES_MAX`] long together. The encoding has a limit of its own.
    #[must_use]
    pub fn kept(self) -> Self {
        Self {
            features: self.features.filter(|names| is_short(names)),
            classes: self.classes.filter(|names| is_short(names)),
            table: self.table,
        }
    }

    /// Checks whether labelled data with the names `given` fit a model with these names.
    ///
    /// # Errors
    /// The first feature or the classes with another name, or another encoding.
    pub fn check(&self, given: &Self) -> Result<(), String> {
        self.check_encoding(given)?;
        self.check_features(given.features.as_deref())?;
        self.check_classes(given.classes.as_ref())
    }

    /// Checks whether features were made by the same encoding. Features without an encoding always fit.
    ///
    /// # Errors
    /// The option that makes the encodings equal.
    pub fn check_encoding(&self, given: &Self) -> Result<(), String> {
        match (&self.table, &given.table) {
            (Some(own), Some(given)) if !own.fits(given) => Err(
                "the columns of the data are encoded differently from those of the model; upload the data again \
                 with the option `encoding` and the id of the model"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// Checks whether the same number of features has the same names. Data without names always fit.
    ///
    /// # Errors
    /// The first feature with another name.
    pub fn check_features(&self, given: Option<&[String]>) -> Result<(), String> {
        let (Some(own), Some(given)) = (&self.features, given) else {
            return Ok(());
        };
        let mut pairs = own.iter().zip(given).enumerate();
        match pairs.find(|(_, (own, given))| own != given) {
            None => Ok(()),
            Some((index, (own, given))) => Err(format!(
                "feature {} is named {:?} in the data, but {:?} in the model; the option `encoding` with the id of \
                 the model matches columns by name",
                index + 1,
                shown(given),
                shown(own)
            )),
        }
    }

    /// Checks whether labels have the same names. Labels without names always fit.
    ///
    /// # Errors
    /// The labels with other names.
    pub fn check_classes(&self, given: Option<&[String; 2]>) -> Result<(), String> {
        match (&self.classes, given) {
            (Some(own), Some(given)) if own != given => Err(format!(
                "the class of the label 1 is named {:?} in the data, but {:?} in the model; the \
                 class of the label -1 is named {:?} in the data, but {:?} in the model",
                shown(&given[1]),
                shown(&own[1]),
                shown(&given[0]),
                shown(&own[0])
            )),
            _ => Ok(()),
        }
    }
}

/// Whether names are short enough to keep.
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

    fn of(features: Option<Vec<String>>, classes: Option<[String; 2]>) -> Names {
        Names {
            features,
            classes,
            table: None,
        }
    }

    #[test]
    fn the_first_feature_of_another_name_is_told() {
        let own = of(Some(names(&["a", "b", "c"])), None);
        assert_eq!(own.check_features(None), Ok(()));
        assert_eq!(own.check_features(Some(&names(&["a", "b", "c"]))), Ok(()));
        let error = own.check_features(Some(&names(&["a", "c", "b"])));
        let expected = "feature 2 is named \"c\" in the data, but \"b\" in the model;";
        assert!(error.unwrap_err().starts_with(expected));
        let none = Names::default();
        assert_eq!(none.check_features(Some(&names(&["x"]))), Ok(()));
    }

    #[test]
    fn classes_the_other_way_round_are_told() {
        let pair = |texts: [&str; 2]| texts.map(str::to_owned);
        let own = of(None, Some(pair(["no", "yes"])));
        assert_eq!(own.check_classes(Some(&pair(["no", "yes"]))), Ok(()));
        assert!(own.check_classes(Some(&pair(["yes", "no"]))).is_err());
        assert_eq!(own.check_classes(None), Ok(()));
    }

    #[test]
    fn long_names_are_not_kept() {
        let long = vec!["x".repeat(NAMES_BYTES_MAX / 2); 2];
        assert!(of(Some(long.clone()), None).kept().features.is_some());
        let longer = [long, names(&["y"])].concat();
        assert_eq!(of(Some(longer), None).kept(), Names::default());
    }
}
