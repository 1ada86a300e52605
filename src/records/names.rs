//! The names of features and classes, which models keep and compare with those of other data.

use std::sync::Arc;

use halfspace_core::learners::predictor::Predictor;
use halfspace_formats::{
    Classes, FirstIndex, LabelEncoding, LabelRule, Parsed, Recoding, TableEncoding, Vocabulary,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The largest size of all names of features that a job and its model keep, in bytes.
pub const NAMES_BYTES_MAX: usize = 1 << 20;

/// The largest number of characters of a name in an error message.
const NAME_SHOWN_MAX: usize = 100;

/// The names of features and classes, and the encoding that made the features, if there are any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Names {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<FeatureNames>,
    /// The names of the classes. Labels of a model without names are 1 and -1, or 1 and 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Classes>,
    /// The encoding of the table that the features came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Arc<TableEncoding>>,
}

/// What features are called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureNames {
    /// One name for each of a fixed number of features.
    Listed(Vec<String>),
    /// The names of a vocabulary, to which other data may add. They are stored with the examples or the model and not
    /// with the other names, so `None` says only that there are some.
    Open(#[serde(skip)] Option<Arc<Vocabulary>>),
    /// No names, but the indices of LIBSVM, which begin at this one.
    Indexed(FirstIndex),
}

/// Whether the features of data are fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VocabularyKind {
    /// Each example has the same features.
    #[default]
    Fixed,
    /// An example is a set of names, which may be new in any example.
    Open,
}

impl VocabularyKind {
    pub fn is_fixed(&self) -> bool {
        *self == Self::Fixed
    }
}

/// The number that stands for a class in answers: 1 or -1, or the code of one of more than two classes.
pub fn label_number(class: u32, classes: usize) -> i64 {
    match (class, classes) {
        (0, ..=2) => -1,
        (class, _) => class.into(),
    }
}

impl Names {
    /// The names that came with a body.
    pub fn of<D>(parsed: &Parsed<D>) -> Self {
        Self {
            features: match (&parsed.vocabulary, &parsed.feature_names) {
                (Some(vocabulary), _) => Some(FeatureNames::Open(Some(Arc::clone(vocabulary)))),
                (None, Some(names)) => Some(FeatureNames::Listed(names.clone())),
                (None, None) => parsed.first_index.map(FeatureNames::Indexed),
            },
            classes: parsed.classes.clone(),
            table: parsed.table.clone(),
        }
    }

    /// Drops the names of features if they are longer than [`NAMES_BYTES_MAX`] together. The encoding and the names
    /// of classes have limits of their own.
    #[must_use]
    pub fn kept(self) -> Self {
        Self {
            features: self.features.filter(|names| match names {
                FeatureNames::Listed(names) => is_short(names),
                FeatureNames::Open(_) | FeatureNames::Indexed(_) => true,
            }),
            classes: self.classes,
            table: self.table,
        }
    }

    /// The names of a fixed number of features, if they have names.
    pub fn listed(&self) -> Option<&[String]> {
        match &self.features {
            Some(FeatureNames::Listed(names)) => Some(names),
            Some(FeatureNames::Open(_) | FeatureNames::Indexed(_)) | None => None,
        }
    }

    /// The first index of the data, if they came as LIBSVM.
    pub fn first_index(&self) -> Option<FirstIndex> {
        match &self.features {
            Some(FeatureNames::Indexed(first)) => Some(*first),
            Some(FeatureNames::Listed(_) | FeatureNames::Open(_)) | None => None,
        }
    }

    /// These names without a first index.
    #[must_use]
    pub fn without_indices(self) -> Self {
        let features = self.features;
        Self {
            features: features.filter(|names| !matches!(names, FeatureNames::Indexed(_))),
            ..self
        }
    }

    /// The names of a vocabulary, if there is one and it is in memory.
    pub fn vocabulary(&self) -> Option<&Arc<Vocabulary>> {
        match &self.features {
            Some(FeatureNames::Open(vocabulary)) => vocabulary.as_ref(),
            Some(FeatureNames::Listed(_) | FeatureNames::Indexed(_)) | None => None,
        }
    }

    /// The names of an open vocabulary, to add others. A copy is made if others use them meanwhile.
    pub fn vocabulary_mut(&mut self) -> Option<&mut Vocabulary> {
        match &mut self.features {
            Some(FeatureNames::Open(vocabulary)) => {
                Some(Arc::make_mut(vocabulary.get_or_insert_default()))
            }
            Some(FeatureNames::Listed(_) | FeatureNames::Indexed(_)) | None => None,
        }
    }

    /// The names of an open vocabulary in the order of their bytes, and a hypothesis with its features in this order.
    /// Other names and their hypothesis stay as they are.
    #[must_use]
    pub fn in_order(self, predictor: Predictor) -> (Self, Predictor) {
        let Some(vocabulary) = self.vocabulary().filter(|own| !own.is_empty()) else {
            return (self, predictor);
        };
        let (sorted, ids) = vocabulary.sorted();
        let Some(predictor) = predictor.renumbered(ids.ids(), ids.n()) else {
            return (self, predictor);
        };
        let features = Some(FeatureNames::Open(Some(Arc::new(sorted))));
        (Self { features, ..self }, predictor)
    }

    /// Whether examples are sets of names, which may be new in any example.
    pub fn vocabulary_kind(&self) -> VocabularyKind {
        match &self.features {
            Some(FeatureNames::Open(_)) => VocabularyKind::Open,
            Some(FeatureNames::Listed(_) | FeatureNames::Indexed(_)) | None => {
                VocabularyKind::Fixed
            }
        }
    }

    pub fn is_open(&self) -> bool {
        self.vocabulary_kind() == VocabularyKind::Open
    }

    /// The names of the features so far, if they have names in memory.
    pub fn features(&self) -> Option<Box<dyn Iterator<Item = &str> + '_>> {
        match &self.features {
            Some(FeatureNames::Listed(names)) => Some(Box::new(names.iter().map(String::as_str))),
            Some(FeatureNames::Open(Some(vocabulary))) => Some(Box::new(vocabulary.names())),
            Some(FeatureNames::Open(None) | FeatureNames::Indexed(_)) | None => None,
        }
    }

    /// The names of all features for a document.
    pub fn feature_list(&self) -> Option<Vec<String>> {
        self.features()
            .map(|names| names.map(str::to_owned).collect())
    }

    /// The number of classes. Labels without names tell two apart.
    pub fn class_count(&self) -> usize {
        self.classes.as_ref().map_or(2, Classes::count)
    }

    /// The names of the classes as an answer shows them. Plain labels have none.
    pub fn class_names(&self) -> Option<Vec<String>> {
        self.classes.as_ref().and_then(Classes::names)
    }

    /// The most names in a conjunction, where each example also has the conjunctions of its names.
    fn conjunctions(&self) -> u8 {
        let table = self.table.as_ref();
        let extraction = table.and_then(|table| table.extraction.as_ref());
        extraction.map_or(1, |extraction| extraction.conjunctions)
    }

    /// Whether every label except the name of +1 means -1.
    pub fn is_against_rest(&self) -> bool {
        self.classes.as_ref().is_some_and(Classes::is_against_rest)
    }

    /// The rule by which a body for the model or session reads labels.
    pub fn label_rule(&self) -> LabelRule {
        LabelRule::of(self.classes.as_ref())
    }

    /// Checks whether labelled data with the names `given` fit a model with these names, and returns the class codes
    /// that the model gives to the data. `occurs` says which codes the data have.
    ///
    /// # Errors
    /// The first feature with another name, another encoding, or a label that the model does not know.
    pub fn fit(&self, given: &Self, occurs: &[bool]) -> Result<Recoding, String> {
        self.check_encoding(given)?;
        self.check_features(given)?;
        self.recoding(given, occurs)
    }

    /// The class codes that a model with these names gives to data with the names `given`. Labels that do not occur
    /// always fit.
    ///
    /// # Errors
    /// A label that the model does not know.
    pub fn recoding(&self, given: &Self, occurs: &[bool]) -> Result<Recoding, String> {
        let plain = Classes::plain();
        let own = self.classes.as_ref().unwrap_or(&plain);
        let given = match &given.classes {
            Some(given) => given,
            // Labels without names are 1 and -1, which the two classes of any model read.
            None if own.count() <= 2 => return Ok(Recoding::default()),
            None => &plain,
        };
        own.recoding(given, |code| occurs.get(code as usize) == Some(&true))
    }

    /// An open vocabulary without any name yet.
    pub fn of_vocabulary() -> Self {
        Self {
            features: Some(FeatureNames::Open(None)),
            ..Self::default()
        }
    }

    /// The names of these classes alone.
    pub fn of_classes(classes: Option<Classes>) -> Self {
        Self {
            classes,
            ..Self::default()
        }
    }

    /// These names of data, with the classes of the model that reads their labels. An open vocabulary keeps the columns
    /// and the extraction of the model.
    #[must_use]
    pub fn read_by(self, model: &Self) -> Self {
        let label = |table: &Arc<TableEncoding>| {
            let own = model.table.as_ref().and_then(|own| own.label.clone());
            let read = |label: &LabelEncoding| LabelEncoding {
                classes: model
                    .classes
                    .clone()
                    .unwrap_or_else(|| label.classes.clone()),
                ..label.clone()
            };
            let table = TableEncoding {
                label: own.or_else(|| table.label.as_ref().map(read)),
                ..table.as_ref().clone()
            };
            Arc::new(table)
        };
        let given = self.table.as_ref().map(label);
        let table = match (&model.table, given) {
            (Some(own), Some(given)) if self.is_open() => Some(Arc::new(own.united(&given))),
            (Some(own), None) if self.is_open() => Some(Arc::clone(own)),
            (_, given) => given,
        };
        Self {
            features: self.features,
            classes: model.classes.clone(),
            table,
        }
    }

    /// Checks whether features were made by the same encoding. Features without an encoding always fit.
    ///
    /// # Errors
    /// The option that makes the encodings equal.
    pub fn check_encoding(&self, given: &Self) -> Result<(), String> {
        let (own, other) = (self.conjunctions(), given.conjunctions());
        if self.is_open() && given.is_open() && own != other {
            return Err(format!(
                "the names of the data are joined to conjunctions of at most {other}, and those of the data of the \
                 model of at most {own}; upload the data again with the option `encoding` and the id of the model"
            ));
        }
        let scales = |table: &TableEncoding| table.columns.iter().any(|own| own.scale.is_some());
        match (&self.table, &given.table) {
            (Some(own), Some(given)) if own.is_open() == given.is_open() && !own.fits(given) => Err(
                "the columns of the data are encoded differently from those of the model; upload the data again \
                 with the option `encoding` and the id of the model, or encode the dataset so"
                    .to_owned(),
            ),
            (Some(own), None) if scales(own) => Err(
                "the model scales the columns of its table, and nothing tells whether these numbers are scaled; \
                 send a table, or a dataset that was encoded with the option `encoding` and the id of the model"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// Checks whether the same number of features has the same names. Data without names always fit, except that an
    /// open vocabulary reads only names.
    ///
    /// # Errors
    /// The first feature with another name, or names where there can be none.
    pub fn check_features(&self, given: &Self) -> Result<(), String> {
        match (self.is_open(), given.is_open()) {
            (true, true) => return Ok(()),
            (true, false) => {
                let detail = "the model reads features by their names; write x as a list or an object of names";
                return Err(detail.to_owned());
            }
            (false, true) => {
                let detail = "the features of the data have names, but the model reads a fixed number of features; \
                              write x as bits or numbers";
                return Err(detail.to_owned());
            }
            (false, false) => {}
        }
        if let (Some(own), Some(given)) = (self.first_index(), given.first_index())
            && own != given
        {
            let (own, given) = (u8::from(own), u8::from(given));
            return Err(format!(
                "the indices of the data begin at {given}, but those of the data of the model began at {own}; read \
                 the data again with `first_index={own}` if that is where they begin"
            ));
        }
        let (Some(own), Some(given)) = (self.listed(), given.listed()) else {
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
}

/// Whether names are short enough to keep.
pub fn is_short(names: impl IntoIterator<Item = impl AsRef<str>>) -> bool {
    let bytes = names.into_iter().map(|name| name.as_ref().len());
    bytes.sum::<usize>() <= NAMES_BYTES_MAX
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

    fn of(features: Option<Vec<String>>, classes: Option<Classes>) -> Names {
        Names {
            features: features.map(FeatureNames::Listed),
            classes,
            table: None,
        }
    }

    #[test]
    fn error_names_the_first_feature_of_another_name() {
        let own = of(Some(names(&["a", "b", "c"])), None);
        let given = |texts: &[&str]| of(Some(names(texts)), None);
        assert_eq!(own.check_features(&Names::default()), Ok(()));
        assert_eq!(own.check_features(&given(&["a", "b", "c"])), Ok(()));
        let error = own.check_features(&given(&["a", "c", "b"]));
        let expected = "feature 2 is named \"c\" in the data, but \"b\" in the model;";
        assert!(error.unwrap_err().starts_with(expected));
        let none = Names::default();
        assert_eq!(none.check_features(&given(&["x"])), Ok(()));
        let open = Names {
            features: Some(FeatureNames::Open(None)),
            ..Names::default()
        };
        assert_eq!(open.check_features(&open), Ok(()));
        assert!(open.check_features(&own).is_err() && own.check_features(&open).is_err());
        let written = serde_json::to_string(&open).unwrap();
        assert_eq!(written, r#"{"features":"open"}"#);
        assert_eq!(serde_json::from_str::<Names>(&written).unwrap(), open);
    }

    #[test]
    fn class_names_of_data_are_mapped_to_those_of_the_model() {
        let pair = |[negative, positive]: [&str; 2]| {
            Classes::new(Some(negative.to_owned()), positive.to_owned())
        };
        let own = of(None, Some(pair(["no", "yes"])));
        let fit = |given| own.fit(&of(None, given), &[true; 2]);
        assert!(fit(Some(pair(["no", "yes"]))).unwrap().is_identity());
        assert!(!fit(Some(pair(["yes", "no"]))).unwrap().is_identity());
        assert!(fit(None).unwrap().is_identity());
        let error = fit(Some(pair(["no", "maybe"]))).unwrap_err();
        assert!(
            error.contains("`maybe`") && error.contains("`yes`"),
            "{error}"
        );
        let plain = Names::default();
        assert!(plain.fit(&own, &[true; 2]).is_err());
        assert!(plain.fit(&own, &[false; 2]).unwrap().is_identity());
    }

    #[test]
    fn names_beyond_names_bytes_max_are_not_kept() {
        let long = vec!["x".repeat(NAMES_BYTES_MAX / 2); 2];
        assert!(of(Some(long.clone()), None).kept().features.is_some());
        let longer = [long, names(&["y"])].concat();
        assert_eq!(of(Some(longer), None).kept(), Names::default());
    }
}
