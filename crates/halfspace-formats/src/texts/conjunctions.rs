//! Conjunctions of the names of an example, as names of their own.
//!
//! A conjunction joins its names by `&`, in the order of their bytes. A `\` before each `&` and `\` of a name tells
//! where it ends, so that no two conjunctions have one name. Where there are conjunctions, a name alone is written so
//! too. A linear hypothesis over these names is one over the monotone conjunctions of at most so many names, which a
//! kernel reaches without listing them (Khardon, Roth and Servedio 2005).

use std::borrow::Cow;

use crate::error::{Fault, FormatErrorKind, excerpt};
use crate::vocabulary::{self, NAME_BYTES_MAX};

/// The most names of an example together with their conjunctions.
pub const EXAMPLE_NAMES_MAX: u64 = 1 << 20;

const JOINT: char = '&';

/// The number of conjunctions of 1 to `most` of the names of an example, before they are made.
///
/// # Errors
/// When there are too many.
pub(crate) fn count(names: usize, most: u8) -> Result<usize, Fault> {
    // Ids have 32 bits.
    let names = names.min(u32::MAX as usize) as u128;
    let (mut of_size, mut all) = (1, 0);
    for size in 1..=u128::from(most) {
        of_size = of_size * (names + 1).saturating_sub(size) / size;
        all += of_size;
    }
    if all <= u128::from(EXAMPLE_NAMES_MAX) {
        return Ok(all as usize);
    }
    let what = format!(
        "The example has {names} names, which have {all} conjunctions of at most {most}; send fewer names, or a \
         smaller `conjunctions`"
    );
    Err(Fault::too_large(
        &what,
        "example_names_max",
        EXAMPLE_NAMES_MAX,
    ))
}

/// A name as it stands in a conjunction.
///
/// # Errors
/// A name that is too long so.
pub(crate) fn escaped(name: &str) -> Result<Cow<'_, str>, Fault> {
    if !name.contains([JOINT, '\\']) {
        return Ok(name.into());
    }
    let mut escaped = String::with_capacity(name.len() + 1);
    vocabulary::push_escaped(name, &[JOINT], &mut escaped);
    checked(escaped).map(Cow::Owned)
}

/// The conjunction of names as they stand in one, the last of which has the largest bytes.
///
/// # Errors
/// A conjunction that is too long for a name.
pub(crate) fn of(earlier: &str, last: &str) -> Result<String, Fault> {
    let mut name = String::with_capacity(earlier.len() + 1 + last.len());
    name.push_str(earlier);
    name.push(JOINT);
    name.push_str(last);
    checked(name)
}

fn checked(name: String) -> Result<String, Fault> {
    if name.len() <= NAME_BYTES_MAX {
        return Ok(name);
    }
    let detail = format!(
        "The conjunction {} has {} bytes; a name has at most {NAME_BYTES_MAX}. Send shorter names, or a smaller \
         `conjunctions`.",
        excerpt(name.as_bytes()),
        name.len()
    );
    Err(Fault::new(FormatErrorKind::BadName, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conjunctions_are_counted_before_they_are_made() {
        assert_eq!(count(0, 3), Ok(0));
        assert_eq!(count(1, 3), Ok(1));
        assert_eq!(count(20, 2), Ok(210));
        assert_eq!(count(4, 3), Ok(4 + 6 + 4));
        let refused = count(10_000, 2).unwrap_err().detail;
        assert!(refused.contains("50005000"), "{refused}");
        assert!(count(usize::MAX, 3).is_err());
    }

    #[test]
    fn escaped_names_end_where_they_ended() {
        let pairs = [
            ["a", "b&c"],
            ["a&b", "c"],
            ["a\\", "b"],
            ["a\\&b", "c"],
            ["a\\", "&b&c"],
        ];
        let joined = |[first, last]: [&str; 2]| of(&escaped(first)?, &escaped(last)?);
        let mut names = pairs.map(|pair| joined(pair).unwrap());
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn conjunctions_are_no_longer_than_names() {
        assert!(of(&"a".repeat(511), &"b".repeat(512)).is_ok());
        assert!(of(&"a".repeat(512), &"b".repeat(512)).is_err());
        assert!(escaped(&"&".repeat(512)).is_ok());
        assert!(escaped(&"&".repeat(513)).is_err());
    }
}
