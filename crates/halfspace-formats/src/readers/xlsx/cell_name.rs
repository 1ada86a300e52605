//! Names of cells and ranges, such as `C7` and `A1:D1`.

use crate::error::Place;

/// The last column of a sheet, `XFD`, from 1.
pub(super) const COLUMNS_MAX: usize = 16_384;

/// Reads the name of a cell as its row and column, from 1.
pub(super) fn parse(name: &str) -> Option<(u64, usize)> {
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (letters, digits) = name.split_at(letters);
    let mut column = 0;
    for letter in letters.bytes() {
        column = column * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1;
        if column > COLUMNS_MAX {
            return None;
        }
    }
    let row = digits
        .parse::<u32>()
        .ok()
        .filter(|_| digits.as_bytes()[0].is_ascii_digit())?;
    (column > 0 && row > 0).then_some((u64::from(row), column))
}

/// Reads a range as its first and last cell. One cell is a range too.
pub(super) fn parse_range(range: &str) -> Option<[(u64, usize); 2]> {
    let (first, last) = range.split_once(':').unwrap_or((range, range));
    Some([parse(first)?, parse(last)?])
}

/// The letters of a column, from 1.
pub(super) fn letters(mut column: usize) -> String {
    let mut letters = Vec::new();
    while column > 0 {
        column -= 1;
        letters.push(char::from(b'A' + (column % 26) as u8));
        column /= 26;
    }
    letters.iter().rev().collect()
}

impl Place {
    /// Makes the place of a cell. The name of the sheet is quoted where formulas need it: `'My data'!C7`.
    pub(super) fn in_sheet(sheet: &str, row: u64, column: usize) -> Self {
        let cell = format!("{}{row}", letters(column));
        Self::SheetCell(match is_plain(sheet) {
            true => format!("{sheet}!{cell}"),
            false => format!("'{}'!{cell}", sheet.replace('\'', "''")),
        })
    }
}

/// Whether formulas can name a sheet without quotes.
fn is_plain(sheet: &str) -> bool {
    let is_digit = |character: char| character.is_ascii_digit();
    let is_part = |character: char| character.is_alphanumeric() || "_.".contains(character);
    sheet.chars().all(is_part) && !sheet.starts_with(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_names_are_read_for_every_column() {
        for column in 1..=COLUMNS_MAX {
            assert_eq!(parse(&format!("{}9", letters(column))), Some((9, column)));
        }
        for (name, cell) in [
            ("A1", (1, 1)),
            ("z26", (26, 26)),
            ("XFD1048576", (1_048_576, 16_384)),
        ] {
            assert_eq!(parse(name), Some(cell));
        }
        for name in [
            "",
            "A",
            "7",
            "A0",
            "XFE1",
            "ZZZZZZZZZZZZZZZZ1",
            "A+1",
            "A-1",
            "$A$1",
            "A1 ",
            "A99999999999",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
        assert_eq!(parse_range("B2:D3"), Some([(2, 2), (3, 4)]));
        assert_eq!(parse_range("B2"), Some([(2, 2), (2, 2)]));
        assert_eq!(parse_range("B2:"), None);
    }

    #[test]
    fn sheet_names_are_quoted_as_in_formulas() {
        let named = |sheet| Place::in_sheet(sheet, 7, 3).to_string();
        assert_eq!(named("Sheet1"), "Sheet1!C7");
        assert_eq!(named("Größe_2.1"), "Größe_2.1!C7");
        assert_eq!(named("My data"), "'My data'!C7");
        assert_eq!(named("2024"), "'2024'!C7");
        assert_eq!(named("Bob's"), "'Bob''s'!C7");
    }
}
