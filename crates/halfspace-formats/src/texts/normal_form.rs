//! The normal form of a text: composed (NFC), and in lower case if the extraction says so.
//!
//! Two spellings of a text that Unicode calls canonically equivalent have one normal form. The tables are those of ICU,
//! which Cargo.lock fixes, because the ones of the standard library change with the compiler.

use std::borrow::Cow;

use icu_casemap::CaseMapper;
use icu_locale_core::LanguageIdentifier;
use icu_normalizer::ComposingNormalizer;

/// Writes the normal form of a text to `into`, in place of its content.
pub(super) fn write(text: &str, lower_case: bool, into: &mut String) {
    into.clear();
    if text.is_ascii() {
        into.push_str(text);
        if lower_case {
            into.make_ascii_lowercase();
        }
        return;
    }
    let normalizer = ComposingNormalizer::new_nfc();
    let composed = normalizer.normalize(text);
    let composed: Cow<'_, str> = match lower_case {
        true => {
            let lower =
                CaseMapper::new().lowercase_to_string(&composed, &LanguageIdentifier::UNKNOWN);
            // A lower letter may combine with a mark that its upper letter does not combine with.
            normalizer.normalize(&lower).into_owned().into()
        }
        false => composed,
    };
    into.push_str(&composed);
}
