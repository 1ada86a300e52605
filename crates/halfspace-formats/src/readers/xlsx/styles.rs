//! Number formats of cells, as far as they distinguish dates from numbers.

use std::collections::HashMap;

use super::package::Package;
use super::xml::XmlPart;
use crate::error::{Fault, FormatError, FormatErrorKind};

/// Largest number of formats and of styles. Excel itself allows 64,000 styles.
const STYLES_MAX: usize = 1 << 16;

/// The styles of a workbook.
#[derive(Default)]
pub(super) struct Styles {
    /// Whether each style shows a number as a date or a time.
    are_dates: Vec<bool>,
}

impl Styles {
    /// Reads the part of the styles.
    ///
    /// # Errors
    /// When the part is wrong.
    pub(super) fn read(package: &mut Package<'_>, part: &str) -> Result<Self, FormatError> {
        let mut formats = HashMap::new();
        let mut styles = Self::default();
        let mut xml = XmlPart::new(package.part(part)?, b"styleSheet")?;
        while xml.child()? {
            let is_formats = xml.name() == b"numFmts";
            if !is_formats && xml.name() != b"cellXfs" {
                xml.skip()?;
                continue;
            }
            while xml.child()? {
                let [id, code] = xml.attributes(["numFmtId", "formatCode"])?;
                let id = id.and_then(|id| id.parse::<u32>().ok()).unwrap_or(0);
                if is_formats {
                    formats.insert(id, is_date_code(&code.unwrap_or_default()));
                } else {
                    let is_date = formats.get(&id).copied();
                    styles
                        .are_dates
                        .push(is_date.unwrap_or_else(|| is_builtin_date(id)));
                }
                if formats.len().max(styles.are_dates.len()) > STYLES_MAX {
                    let detail = format!("The workbook has more than {STYLES_MAX} styles.");
                    return Err(Fault::new(FormatErrorKind::Unsupported, detail).into());
                }
                xml.skip()?;
            }
        }
        xml.end()?;
        Ok(styles)
    }

    /// Whether the style of this number shows a number as a date or a time.
    pub(super) fn is_date(&self, style: usize) -> bool {
        self.are_dates.get(style) == Some(&true)
    }
}

/// Whether a format without a code shows dates. From 27 on these are formats of East Asian languages.
fn is_builtin_date(id: u32) -> bool {
    matches!(id, 14..=22 | 27..=36 | 45..=47 | 50..=58)
}

/// Whether a format code has a letter of dates outside quotes, escapes and brackets. `[h]` is elapsed time, not a
/// date.
fn is_date_code(code: &str) -> bool {
    let is_letter = |letter: char| "dmyhs".contains(letter.to_ascii_lowercase());
    let mut characters = code.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                characters.find(|&character| character == '"');
            }
            // The next character is shown, gives a width, or fills the cell.
            '\\' | '_' | '*' => {
                characters.next();
            }
            '[' => {
                let inside: String = characters
                    .by_ref()
                    .take_while(|&character| character != ']')
                    .collect();
                if !inside.is_empty()
                    && inside
                        .chars()
                        .all(|letter| "hms".contains(letter.to_ascii_lowercase()))
                {
                    return true;
                }
            }
            character if is_letter(character) => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xlsx_date_formats_differ_from_number_formats() {
        for code in [
            "yyyy-mm-dd",
            "d/m/yy",
            "DD.MM.YYYY",
            "h:mm AM/PM",
            "[h]:mm:ss",
            "[hh]",
            "[mm]",
            "mmm",
            "[$-409]d-mmm",
            "0;m",
            "\"day\" d",
            "ss.0",
            "[Red]yyyy",
        ] {
            assert!(is_date_code(code), "{code}");
        }
        for code in [
            "General",
            "0.00",
            "#,##0",
            "0%",
            "0.00E+00",
            "@",
            "[Red]0;[Blue]-0",
            "\"days\" 0",
            "0 \\d",
            "[$USD-409] 0",
            "_d0",
            "*m0",
            "# ?/?",
            "[>=100]0",
            "0 \"m",
            "[]0",
            "",
        ] {
            assert!(!is_date_code(code), "{code}");
        }
        let ids = [
            0, 13, 14, 22, 23, 26, 27, 36, 37, 44, 45, 47, 48, 49, 50, 58, 59,
        ];
        let dates = ids.map(is_builtin_date);
        let t = true;
        let f = false;
        assert_eq!(dates, [f, f, t, t, f, f, t, t, f, f, t, t, f, f, t, t, f]);
    }
}
