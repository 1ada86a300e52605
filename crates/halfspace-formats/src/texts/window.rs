//! The words around a marked word: the target of a task that decides what stands in a place.
//!
//! The text marks the word as `[[word]]`, and the word itself gives no name. The names are those of the words within
//! some places, and patterns: one or two neighbours together with their places, of which two stand beside each other or
//! on both sides of the marked word. These are the context words and the collocations of Golding and Roth (1999).

use unicode_segmentation::UnicodeSegmentation;

use crate::error::{Fault, FormatErrorKind, excerpt};

/// What stands around the marked word.
const MARKS: [&str; 2] = ["[[", "]]"];

/// The places of the patterns, beside the marked word at 0.
const PATTERNS: [&[i8]; 5] = [&[-1], &[1], &[-2, -1], &[-1, 1], &[1, 2]];

/// Splits a text at its marked word.
///
/// # Errors
/// When no word is marked, or several are.
pub(super) fn sides(text: &str) -> Result<[&str; 2], Fault> {
    let parts = text.split_once(MARKS[0]).and_then(|(left, rest)| {
        let (inside, right) = rest.split_once(MARKS[1])?;
        Some((inside, [left, right]))
    });
    let found = parts.map_or("no word", |(inside, [_, right])| {
        match (inside.unicode_words().count(), right.contains(MARKS[0])) {
            (0, _) => "no word",
            (1, false) => "",
            _ => "several words",
        }
    });
    match parts {
        Some((_, sides)) if found.is_empty() => Ok(sides),
        _ => {
            let detail = format!(
                "The text {} marks {found}; with `window`, [[ and ]] stand around one word.",
                excerpt(text.as_bytes())
            );
            Err(Fault::new(FormatErrorKind::BadValue, detail))
        }
    }
}

/// The words within `window` places before and after the marked word, the nearest first.
pub(super) fn neighbours([left, right]: [&str; 2], window: u8) -> [Vec<&str>; 2] {
    let window = usize::from(window);
    [
        left.unicode_words().rev().take(window).collect(),
        right.unicode_words().take(window).collect(),
    ]
}

/// Passes each pattern to `see`, with its places before a colon, behind what is in `name` already.
///
/// # Errors
/// The first error of `see`.
pub(super) fn patterns<E>(
    sides: &[Vec<&str>; 2],
    name: &mut String,
    mut see: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let prefix = name.len();
    let word = |place: i8| {
        let side = &sides[usize::from(place > 0)];
        side.get(usize::from(place.unsigned_abs()) - 1)
    };
    for places in PATTERNS {
        let Some(words) = places
            .iter()
            .map(|&place| word(place))
            .collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        for (at, place) in places.iter().enumerate() {
            name.push_str(if at > 0 { "," } else { "" });
            name.push_str(&place.to_string());
        }
        for (at, word) in words.iter().enumerate() {
            name.push(if at > 0 { ' ' } else { ':' });
            name.push_str(word);
        }
        see(name)?;
        name.truncate(prefix);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns_of(text: &str) -> Vec<String> {
        let around = neighbours(sides(text).unwrap(), 2);
        let (mut name, mut seen) = (String::from("@"), Vec::new());
        let seen_all: Result<(), ()> = patterns(&around, &mut name, |name| {
            seen.push(name.to_owned());
            Ok(())
        });
        assert_eq!((seen_all, name.as_str()), (Ok(()), "@"));
        seen
    }

    #[test]
    fn patterns_have_the_places_of_their_words() {
        assert_eq!(
            patterns_of("a large [[piece]] of the cake"),
            [
                "@-1:large",
                "@1:of",
                "@-2,-1:a large",
                "@-1,1:large of",
                "@1,2:of the"
            ]
        );
        assert_eq!(patterns_of("[[Peace]]!"), [""; 0]);
        assert_eq!(patterns_of("in [[peace]]"), ["@-1:in"]);
    }

    #[test]
    fn window_holds_the_nearest_words() {
        let around = neighbours(sides("a b c [[x]] d e f").unwrap(), 2);
        assert_eq!(around, [vec!["c", "b"], vec!["d", "e"]]);
    }

    #[test]
    fn window_needs_one_marked_word() {
        for (text, why) in [
            ("no word here", "marks no word"),
            ("one [[side", "marks no word"),
            ("]] other [[", "marks no word"),
            ("an [[]] here", "marks no word"),
            ("[[two words]]", "marks several words"),
            ("[[one]] and [[two]]", "marks several words"),
        ] {
            let detail = sides(text).unwrap_err().detail;
            assert!(detail.contains(why), "{detail}");
        }
    }
}
