//! Texts of a workbook: the shared strings, and the texts of single cells.
//!
//! The shared strings are kept in memory or in a file, with the end of each text in a second file. We do not rely on
//! the number of strings that the part states.

use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use super::package::Package;
use super::xml::XmlPart;
use crate::error::{Fault, FormatError};
use crate::stored::overflow::Overflow;
use crate::stored::spool::{OpenSpool, SpoolFile};

/// Bytes of an offset.
const OFFSET_BYTES: u64 = size_of::<u64>() as u64;

/// The strings that cells name by their number.
pub(super) struct SharedStrings {
    texts: Box<dyn SpoolFile>,
    /// The start of each text and the end of the last one.
    offsets: Box<dyn SpoolFile>,
    pub(super) count: u64,
}

impl SharedStrings {
    /// Reads the part of the shared strings, which a workbook may lack.
    ///
    /// # Errors
    /// When the part is wrong, or when memory or a file fails.
    pub(super) fn read(
        package: &mut Package<'_>,
        part: Option<&str>,
        open: Option<(u64, OpenSpool)>,
    ) -> Result<Self, FormatError> {
        let mut texts = BufWriter::new(Overflow::new(open.clone()));
        let mut offsets = BufWriter::new(Overflow::new(open));
        let (mut count, mut end) = (0, 0_u64);
        let mut text = Vec::new();
        if let Some(part) = part {
            let mut xml = XmlPart::new(package.part(part)?, b"sst")?;
            while xml.child()? {
                if xml.name() != b"si" {
                    xml.skip()?;
                    continue;
                }
                text.clear();
                rich_text(&mut xml, &mut text)?;
                let text = unescaped(&mut text);
                offsets
                    .write_all(&end.to_le_bytes())
                    .map_err(Fault::unspooled)?;
                texts.write_all(text).map_err(Fault::unspooled)?;
                end += text.len() as u64;
                count += 1;
            }
            xml.end()?;
        }
        offsets
            .write_all(&end.to_le_bytes())
            .map_err(Fault::unspooled)?;
        Ok(Self {
            texts: finished(texts)?,
            offsets: finished(offsets)?,
            count,
        })
    }

    /// Appends the text of a string to `text`, or returns false if there is no such string.
    ///
    /// # Errors
    /// When the file fails.
    pub(super) fn append(&mut self, index: u64, text: &mut Vec<u8>) -> Result<bool, Fault> {
        if index >= self.count {
            return Ok(false);
        }
        self.append_known(index, text).map_err(Fault::unspooled)?;
        Ok(true)
    }

    fn append_known(&mut self, index: u64, text: &mut Vec<u8>) -> io::Result<()> {
        let mut ends = [[0; OFFSET_BYTES as usize]; 2];
        self.offsets.seek(SeekFrom::Start(index * OFFSET_BYTES))?;
        self.offsets.read_exact(ends.as_flattened_mut())?;
        let [start, end] = ends.map(u64::from_le_bytes);
        self.texts.seek(SeekFrom::Start(start))?;
        let from = text.len();
        text.resize(from + (end - start) as usize, 0);
        self.texts.read_exact(&mut text[from..])
    }
}

fn finished(writer: BufWriter<Overflow>) -> Result<Box<dyn SpoolFile>, FormatError> {
    let overflow = writer
        .into_inner()
        .map_err(|error| Fault::unspooled(error.into_error()))?;
    Ok(overflow.into_file())
}

/// Appends the text of an element with text runs, without phonetic runs (`rPh`).
///
/// # Errors
/// When the part is wrong or the text too long.
pub(super) fn rich_text(xml: &mut XmlPart<'_, '_>, text: &mut Vec<u8>) -> Result<(), FormatError> {
    while xml.child()? {
        match xml.name() {
            b"t" => xml.text(text)?,
            b"r" => {
                while xml.child()? {
                    match xml.name() {
                        b"t" => xml.text(text)?,
                        _ => xml.skip()?,
                    }
                }
            }
            _ => xml.skip()?,
        }
    }
    Ok(())
}

/// Replaces the escapes `_xHHHH_` of UTF-16 units with their characters, and returns the text without blanks around.
pub(super) fn unescaped(text: &mut Vec<u8>) -> &[u8] {
    if memchr::memmem::find(text, b"_x").is_some() {
        let mut read = Vec::with_capacity(text.len());
        let mut rest = text.as_slice();
        while let Some((&first, after)) = rest.split_first() {
            let Some(unit) = escape(rest) else {
                read.push(first);
                rest = after;
                continue;
            };
            // A character beyond 16 bits takes two escapes.
            rest = &rest[ESCAPE_BYTES..];
            let low = escape(rest).filter(|low| (0xDC00..0xE000).contains(low));
            let low = low.filter(|_| (0xD800..0xDC00).contains(&unit));
            if low.is_some() {
                rest = &rest[ESCAPE_BYTES..];
            }
            for character in char::decode_utf16([unit].into_iter().chain(low)) {
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                read.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        *text = read;
    }
    text.trim_ascii()
}

/// Bytes of an escape.
const ESCAPE_BYTES: usize = 7;

/// The UTF-16 unit of an escape at the start of a text.
fn escape(text: &[u8]) -> Option<u16> {
    let [b'_', b'x', digits @ .., b'_'] = text.first_chunk::<ESCAPE_BYTES>()? else {
        return None;
    };
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(digits).ok().filter(|_| is_hex)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xlsx_string_escapes_become_characters() {
        let cases = [
            ("a_x000D_", "a"),
            ("a_x000D_b", "a\rb"),
            ("_x0041__x00e9_", "Aé"),
            ("_x005F_x000D_", "_x000D_"),
            ("_xD83D__xDE00_", "\u{1F600}"),
            ("_xD83D_", "\u{FFFD}"),
            ("_xD83D__x0041_", "\u{FFFD}A"),
            (
                " _x_ _x00_ _x+123_ _x000G_ x",
                "_x_ _x00_ _x+123_ _x000G_ x",
            ),
            ("_x004", "_x004"),
        ];
        for (text, expected) in cases {
            let mut text = text.as_bytes().to_vec();
            assert_eq!(unescaped(&mut text), expected.as_bytes());
        }
    }
}
