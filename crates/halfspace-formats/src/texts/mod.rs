//! Texts: the names that an example gets from them, and the conjunctions of all its names.
//!
//! An [`Extraction`] says which names a text gives. Data sets, sessions and models keep it, so that a text gives the
//! same names in ten years. It therefore has a version, and a test over all code points fails when a table of Unicode
//! moves: then there is a second version, and models of the first keep theirs.
//!
//! In the version `text/1`, a text first gets its normal form (`normal_form`): the composed form NFC and, unless the
//! request says otherwise, lower case. Its words are the segments between the word boundaries of Unicode
//! (UAX #29, as `unicode-segmentation` finds them) that have a letter or a digit. The names are
//!
//! - `column:first second` for each sequence of `words` consecutive words (`sequences`),
//! - `column~abc` for each sequence of `characters` consecutive characters, where white space counts as one space,
//! - `column:word` and `column@-2,-1:of the` around a marked word (`window`).
//!
//! These are the features of SNoW (Carlson, Cumby, Rosen and Roth 1999), and those around a word are the ones of
//! context-sensitive spelling (Golding and Roth 1999). A name that would be longer than a name may be is left out.

pub(crate) mod conjunctions;
mod extraction;
pub(crate) mod extractor;
mod normal_form;
pub(crate) mod sequences;
mod window;

/// What stands between a column and a word, a sequence of characters, or the places of words.
pub(crate) const MARKS: [char; 3] = [WORD, CHARACTERS, PLACES];
const WORD: char = ':';
const CHARACTERS: char = '~';
const PLACES: char = '@';

pub use conjunctions::EXAMPLE_NAMES_MAX;
pub use extraction::{Extraction, Lengths, Occurrences, TextVersion};
