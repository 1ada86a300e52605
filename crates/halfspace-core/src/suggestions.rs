//! Suggests the nearest known name in messages about unknown names.

/// Similarity from which a name is suggested, from 0 to 1.
const SIMILAR: f64 = 0.75;

/// The known name that is most similar to `name`, if one is similar enough.
///
/// ```
/// use halfspace_core::suggestions::nearest;
///
/// assert_eq!(nearest("perceptrom", ["winnow", "perceptron"]), Some("perceptron"));
/// assert_eq!(nearest("tree", ["winnow", "perceptron"]), None);
/// ```
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let known = known.into_iter();
    let rated = known.map(|known| (strsim::jaro_winkler(name, known), known));
    let best = rated.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best.0 >= SIMILAR).then_some(best.1)
}

/// The question `(did you mean ...?)` to append to a message about an unknown name, with a space before it. It is
/// empty if no known name is similar.
pub fn question<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let nearest = nearest(name, known);
    nearest.map_or(String::new(), |nearest| {
        format!(" (did you mean `{nearest}`?)")
    })
}
