//! The charset of a text: the label that a request states, and the byte order mark with which a text begins.
//!
//! Labels and their meaning are those of the WHATWG standard `Encoding`, which browsers and spreadsheets follow too. So
//! `iso-8859-1` and `latin1` mean windows-1252, which has a character for each of its bytes.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// A charset of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset {
    encoding: &'static Encoding,
    /// Whether a byte order mark may still decide the order of the bytes, as in `utf-16`.
    is_order_open: bool,
}

impl Charset {
    /// UTF-8, in which every text is that states nothing else.
    pub const UTF_8: Self = Self::exactly(UTF_8);

    const fn exactly(encoding: &'static Encoding) -> Self {
        Self {
            encoding,
            is_order_open: false,
        }
    }

    /// The charset with this label, in any case.
    ///
    /// ```
    /// use halfspace_formats::Charset;
    ///
    /// assert_eq!(Charset::of("Latin1").unwrap().name(), "windows-1252");
    /// assert!(Charset::of("latin-9000").is_err());
    /// ```
    ///
    /// # Errors
    /// Some known labels, if this is none.
    pub fn of(label: &str) -> Result<Self, String> {
        // The standard knows some labels only to refuse their texts, and so do we.
        let encoding = Encoding::for_label_no_replacement(label.as_bytes()).ok_or_else(|| {
            let shown: String = label.escape_debug().take(40).collect();
            format!(
                "`{shown}` is not a known charset; some are utf-8, windows-1252, iso-8859-1, utf-16le and shift_jis"
            )
        })?;
        let is_exact = label.trim().to_ascii_lowercase().ends_with("le");
        Ok(Self {
            encoding,
            is_order_open: encoding == UTF_16LE && !is_exact,
        })
    }

    /// The label in the parameter `charset` of a Content-Type.
    pub fn label_in(content_type: &str) -> Option<&str> {
        let mut parameters = content_type.split(';').skip(1);
        parameters.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let value = value.trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("charset").then_some(value)
        })
    }

    /// The first label of the charset, in lower case.
    pub fn name(self) -> String {
        self.encoding.name().to_ascii_lowercase()
    }

    /// Whether a text in the charset is read as it is.
    pub(crate) fn is_utf8(self) -> bool {
        self.encoding == UTF_8
    }

    /// The charset and the length of the byte order mark at the beginning of a text, of which three bytes suffice.
    pub(crate) fn of_mark(begin: &[u8]) -> Option<(Self, usize)> {
        let (encoding, length) = Encoding::for_bom(begin)?;
        Some((Self::exactly(encoding), length))
    }

    /// Whether a text with these first bytes begins with a byte order mark of another charset than UTF-8.
    pub fn is_marked(begin: &[u8]) -> bool {
        Self::of_mark(begin).is_some_and(|(marked, _)| !marked.is_utf8())
    }

    /// Whether a text that was stated to be in this charset may begin with the mark of the other one.
    pub(crate) fn admits(self, marked: Self) -> bool {
        self.encoding == marked.encoding || self.is_order_open && marked.encoding == UTF_16BE
    }

    /// A decoder of texts without a byte order mark.
    pub(crate) fn decoder(self) -> encoding_rs::Decoder {
        self.encoding.new_decoder_without_bom_handling()
    }
}

/// The UTF-16 in which a text seems to be that has no byte order mark: text begins with no zero byte, and ASCII in
/// UTF-16 has one in each character. Returns the label and the position of this byte.
pub(crate) fn unmarked_utf16(begin: &[u8]) -> Option<(&'static str, usize)> {
    match begin {
        [0, 1..=255, ..] => Some(("utf-16be", 0)),
        [1..=255, 0, ..] => Some(("utf-16le", 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charset_labels_are_those_of_the_standard() {
        for (label, name) in [
            ("utf-8", "utf-8"),
            ("UTF8", "utf-8"),
            ("ISO-8859-1", "windows-1252"),
            ("cp1252", "windows-1252"),
            ("us-ascii", "windows-1252"),
            (" latin2 ", "iso-8859-2"),
            ("utf-16", "utf-16le"),
            ("UTF-16BE", "utf-16be"),
            ("sjis", "shift_jis"),
            ("x-user-defined", "x-user-defined"),
        ] {
            assert_eq!(Charset::of(label).unwrap().name(), name, "{label}");
        }
        // The standard has no UTF-32 and no UTF-7, and refuses every text in HZ.
        for label in [
            "",
            "utf-32",
            "utf-7",
            "hz-gb-2312",
            "iso-2022-kr",
            "latin9000",
            "windows1252",
        ] {
            let told = Charset::of(label).unwrap_err();
            assert!(
                told.contains(&format!("`{label}`")) && told.contains("windows-1252"),
                "{told}"
            );
        }
        assert!(Charset::of(&"x".repeat(1000)).unwrap_err().len() < 200);
    }

    #[test]
    fn charset_of_a_content_type_may_be_quoted() {
        for (content_type, label) in [
            ("text/csv", None),
            ("text/csv; header=present", None),
            ("text/csv;charset=latin1", Some("latin1")),
            (
                "text/csv; Charset = \"UTF-16\" ; header=present",
                Some("UTF-16"),
            ),
            ("charset=latin1", None),
        ] {
            assert_eq!(Charset::label_in(content_type), label, "{content_type}");
        }
    }

    #[test]
    fn byte_order_mark_decides_an_open_order() {
        let [big, little] = [b"\xfe\xff".as_slice(), b"\xff\xfe"];
        let admits = |label: &str, begin: &[u8]| {
            let (marked, _) = Charset::of_mark(begin).unwrap();
            Charset::of(label).unwrap().admits(marked)
        };
        assert!(admits("utf-16", big) && admits("utf-16", little));
        assert!(admits("utf-16be", big) && !admits("utf-16be", little));
        assert!(admits("utf-16le", little) && !admits("utf-16le", big));
        assert!(admits("utf8", b"\xef\xbb\xbf") && !admits("latin1", b"\xef\xbb\xbf"));
        assert_eq!(Charset::of_mark(b"\xef\xbb"), None);
    }
}
