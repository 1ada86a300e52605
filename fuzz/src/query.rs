//! The target of query strings: their pairs, and the parameters that routes make of them.

use std::collections::HashSet;

use form_urlencoded::Serializer;
use halfspace_formats::{Format, ParseLimits};
use halfspace::http::fuzzing;
use halfspace_core::learners::catalogue;

/// The input is one byte that picks a learner, then the query.
pub fn query(bytes: &[u8]) {
    let Some((&learner, text)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    if let Ok(pairs) = fuzzing::query_pairs(text) {
        let names: HashSet<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), pairs.len(), "a name stands twice");
        assert!(pairs.len() <= text.matches('&').count() + 1);
        let written = Serializer::new(String::new()).extend_pairs(&pairs).finish();
        let again = fuzzing::query_pairs(&written).unwrap_or_else(|_| panic!("{written}"));
        assert_eq!(again, pairs);
    }
    let limits = ParseLimits::default();
    let learners = catalogue::CATALOGUE;
    let learner = &learners[usize::from(learner) % learners.len()];
    let _ = fuzzing::train_query(learner.name, text, &limits);
    let _ = fuzzing::dataset_query(text, &limits);
    for format in [Format::Ndjson, Format::Csv, Format::Octets] {
        let _ = fuzzing::predict_query(text, format, 3, &limits);
    }
}
