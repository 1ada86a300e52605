//! Text in any charset, read as UTF-8.
//!
//! The reader of a format sees UTF-8 without a byte order mark, whatever the body is in. A body in UTF-8 passes
//! unchanged. Another one is decoded in pieces as it arrives, and a sequence of bytes that stands for no character is
//! an error: a replacement character would make one name of two.
//!
//! A byte order mark that contradicts the stated charset is refused, as is every option that contradicts the body. The
//! WHATWG standard lets the mark win, but for data a wrong statement is worth knowing.
//!
//! We do not use the crate encoding_rs_io 0.1 of 2019, which can only replace malformed sequences.

use std::io::{self, Read};

use encoding_rs::DecoderResult;

use crate::charset::{Charset, unmarked_utf16};
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::options::ParseLimits;

/// Bytes per read of the source, and of decoded text.
const PIECE_BYTES: usize = 16 * 1024;

/// Bytes of the source that are kept for the message about a malformed sequence, which may begin in an earlier piece.
const KEPT_BYTES: usize = 16;

/// A text as UTF-8. The errors are `io::Error`s, which [`FormatError::from`] converts back.
pub(crate) struct Utf8Reader<R> {
    source: R,
    stated: Option<Charset>,
    body_bytes_max: u64,
    body_limit_name: &'static str,
    /// The first bytes, of which those from `passed` on are still to be read.
    begin: Vec<u8>,
    passed: usize,
    state: State,
}

enum State {
    /// The first bytes have not arrived.
    New,
    /// The text is UTF-8.
    Utf8,
    Decoded(Box<Decoded>),
}

impl<R: Read> Utf8Reader<R> {
    /// Reads a text in the stated charset, or in the one of its byte order mark.
    pub(crate) fn new(source: R, stated: Option<Charset>, limits: &ParseLimits) -> Self {
        Self {
            source,
            stated,
            body_bytes_max: limits.body_bytes_max,
            body_limit_name: limits.body_limit_name,
            begin: Vec::new(),
            passed: 0,
            state: State::New,
        }
    }

    /// Reads the first bytes and decides what the text is in. No answer depends on a text of one byte, so that waiting
    /// for the second one keeps no client waiting.
    ///
    /// A read asks for `wanted` bytes, as the caller does: a decompressor that could give only a few would keep the
    /// others until more bytes of its source arrive.
    fn begin(&mut self, wanted: usize) -> io::Result<()> {
        loop {
            let needed = match self.begin.as_slice() {
                [0xef, 0xbb, ..] => 3,
                [0xff, 0xfe, ..] | [0, 0, ..] => 4,
                _ => 2,
            };
            let length = self.begin.len();
            if length >= needed {
                break;
            }
            self.begin.resize(length + wanted.max(needed), 0);
            let read = self.source.read(&mut self.begin[length..]);
            let ended = length + read.as_ref().map_or(0, |read| *read);
            self.begin.truncate(ended);
            if read? == 0 {
                break;
            }
        }
        let decided = self.decide().map_err(io::Error::other)?;
        self.state = match decided.is_utf8() {
            true => State::Utf8,
            false => {
                let begin = std::mem::take(&mut self.begin);
                State::Decoded(Box::new(Decoded::new(decided, begin, self.passed)))
            }
        };
        Ok(())
    }

    /// The charset of the text. Passes its byte order mark.
    fn decide(&mut self) -> Result<Charset, FormatError> {
        let begin = self.begin.as_slice();
        if matches!(begin, [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..]) {
            let detail = "The text is UTF-32, which is not supported; convert it to UTF-8.";
            return Err(refusal(detail.to_owned(), 0));
        }
        let marked = Charset::of_mark(begin);
        if let (None, None, Some((label, at))) = (self.stated, marked, unmarked_utf16(begin)) {
            let detail = format!(
                "The text seems to be UTF-16 without a byte order mark, because its first character has the byte 0x00; \
                 name its charset, as in `charset={label}`."
            );
            let fault = Fault::new(FormatErrorKind::Syntax, detail).mended_by("charset", label);
            return Err(fault.placed(Some(Place::Byte(at as u64))));
        }
        let Some((marked, length)) = marked else {
            return Ok(self.stated.unwrap_or(Charset::UTF_8));
        };
        if let Some(stated) = self.stated.filter(|stated| !stated.admits(marked)) {
            let detail = format!(
                "The text begins with the byte order mark of {}, but `charset={}` is stated; leave the charset out.",
                marked.name(),
                stated.name()
            );
            let fault = Fault::new(FormatErrorKind::BadOption, detail);
            let fault = fault.mended_by("charset", marked.name());
            return Err(fault.placed(Some(Place::Byte(0))));
        }
        self.passed = length;
        Ok(marked)
    }
}

impl<R: Read> Read for Utf8Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let State::New = self.state {
            self.begin(buffer.len())?;
        }
        let decoded = match &mut self.state {
            State::Decoded(decoded) => decoded,
            _ if self.passed < self.begin.len() => {
                let read = (&self.begin[self.passed..]).read(buffer)?;
                self.passed += read;
                if self.passed == self.begin.len() {
                    (self.begin, self.passed) = (Vec::new(), 0);
                }
                return Ok(read);
            }
            _ => return self.source.read(buffer),
        };
        let read = decoded.read(&mut self.source, buffer)?;
        if decoded.written > self.body_bytes_max {
            let what = "The body is too large (counted as UTF-8)";
            let fault = Fault::too_large(what, self.body_limit_name, self.body_bytes_max);
            return Err(fault.into_io());
        }
        Ok(read)
    }
}

/// The pieces of a text that is decoded.
struct Decoded {
    charset: Charset,
    decoder: encoding_rs::Decoder,
    /// Bytes of the source. `input[at..end]` are not decoded yet, and those before are kept.
    input: Vec<u8>,
    at: usize,
    end: usize,
    /// Number of bytes of the source before `input`.
    before: u64,
    is_ended: bool,
    /// Decoded text, of which `output[given..filled]` is still to be read.
    output: Vec<u8>,
    given: usize,
    filled: usize,
    /// Number of decoded bytes.
    written: u64,
    /// Why decoding ended, if it did. The text before a malformed sequence is read first.
    outcome: Option<Result<(), FormatError>>,
}

impl Decoded {
    /// Begins with the first bytes of the source, of which the byte order mark is no text.
    fn new(charset: Charset, mut begin: Vec<u8>, mark: usize) -> Self {
        let end = begin.len();
        begin.resize(end.max(KEPT_BYTES + PIECE_BYTES), 0);
        Self {
            charset,
            decoder: charset.decoder(),
            input: begin,
            at: mark,
            end,
            before: 0,
            is_ended: false,
            output: vec![0; PIECE_BYTES],
            given: 0,
            filled: 0,
            written: 0,
            outcome: None,
        }
    }

    fn read(&mut self, source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.filled && !buffer.is_empty() {
            match &self.outcome {
                Some(Ok(())) => return Ok(0),
                Some(Err(error)) => return Err(io::Error::other(error.clone())),
                None => {}
            }
            if self.at == self.end && !self.is_ended {
                self.fill(source)?;
            }
            self.decode();
        }
        let read = (&self.output[self.given..self.filled]).read(buffer)?;
        self.given += read;
        Ok(read)
    }

    /// Reads the next bytes of the source behind those that are kept.
    fn fill(&mut self, source: &mut impl Read) -> io::Result<()> {
        let passed = self.end.saturating_sub(KEPT_BYTES);
        self.input.copy_within(passed..self.end, 0);
        self.before += passed as u64;
        (self.at, self.end) = (self.at - passed, self.end - passed);
        let read = source.read(&mut self.input[self.end..])?;
        self.is_ended = read == 0;
        self.end += read;
        Ok(())
    }

    fn decode(&mut self) {
        let input = &self.input[self.at..self.end];
        let (result, read, written) =
            self.decoder
                .decode_to_utf8_without_replacement(input, &mut self.output, self.is_ended);
        self.at += read;
        (self.given, self.filled) = (0, written);
        self.written += written as u64;
        match result {
            DecoderResult::InputEmpty if self.is_ended => self.outcome = Some(Ok(())),
            DecoderResult::InputEmpty | DecoderResult::OutputFull => {}
            DecoderResult::Malformed(length, after) => {
                self.outcome = Some(Err(self.malformed(length.into(), after.into())));
            }
        }
    }

    /// The error of a sequence of `length` bytes, behind which `after` more were decoded.
    fn malformed(&self, length: usize, after: usize) -> FormatError {
        let end = self.at.saturating_sub(after);
        let start = end.saturating_sub(length);
        let bytes = self.input[start..end].iter();
        let bytes: Vec<String> = bytes.map(|byte| format!("0x{byte:02X}")).collect();
        let name = self.charset.name();
        let detail = format!(
            "The text is not {name}: {} is no character there; name the charset that the text has, as in \
             `charset=windows-1252`.",
            bytes.join(" ")
        );
        refusal(detail, self.before + start as u64)
    }
}

fn refusal(detail: String, offset: u64) -> FormatError {
    Fault::new(FormatErrorKind::Syntax, detail).placed(Some(Place::Byte(offset)))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use encoding_rs::{GB18030, ISO_2022_JP, SHIFT_JIS, WINDOWS_1252};

    use super::*;
    use crate::error::excerpt;

    /// A source whose reads give so many bytes at most, and fail with `WouldBlock` in between.
    struct Pieces<'a> {
        left: &'a [u8],
        length: usize,
        is_blocked: bool,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_blocked = !self.is_blocked;
            if self.is_blocked {
                return Err(ErrorKind::WouldBlock.into());
            }
            let length = self.length.min(buffer.len());
            (&mut self.left).take(length as u64).read(buffer)
        }
    }

    /// Reads a text whose pieces have one length, into a buffer of another length.
    fn read_pieces(
        text: &[u8],
        label: Option<&str>,
        (piece, buffer): (usize, usize),
    ) -> Result<Vec<u8>, Box<(Vec<u8>, FormatError)>> {
        let source = Pieces {
            left: text,
            length: piece,
            is_blocked: false,
        };
        let stated = label.map(|label| Charset::of(label).unwrap());
        let mut reader = Utf8Reader::new(source, stated, &ParseLimits::default());
        let (mut read, mut buffer) = (Vec::new(), vec![0; buffer]);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(read),
                Ok(length) => read.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(Box::new((read, error.into()))),
            }
        }
    }

    fn read_all(text: &[u8], label: Option<&str>) -> Result<Vec<u8>, FormatError> {
        read_pieces(text, label, (usize::MAX, 1 << 16)).map_err(|broken| broken.1)
    }

    const SIZES: [(usize, usize); 8] = [
        (1, 1),
        (1, 64),
        (2, 3),
        (3, 5),
        (5, 2),
        (7, 1000),
        (16, 16),
        (1000, 1),
    ];

    const TEXT: &str = "name,class\nMüller,1\nMöller €,2\n日本語,3\n𝄞 clef\u{10ffff},4\n";

    fn utf16(text: &str, order: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn utf8_passes_unchanged_but_for_its_mark() {
        for text in ["", "a", "ab", "é", TEXT] {
            let marked = format!("\u{feff}{text}");
            for label in [None, Some("utf-8")] {
                for sizes in SIZES {
                    let read = |text: &str| read_pieces(text.as_bytes(), label, sizes).unwrap();
                    assert_eq!(read(text), text.as_bytes());
                    assert_eq!(read(&marked), text.as_bytes());
                }
            }
        }
        // The reader of the format finds the place of a byte that is not UTF-8.
        for text in [
            b"\xef".as_slice(),
            b"\xef\xbb",
            b"\xff",
            b"\xfe",
            b"\xefa\xbb",
            b"a\xff",
            b"\0\0",
        ] {
            assert_eq!(read_all(text, None).unwrap(), text, "{}", excerpt(text));
        }
    }

    #[test]
    fn utf16_is_decoded_in_pieces_of_any_length() {
        let big = utf16(TEXT, u16::to_be_bytes);
        let little = utf16(TEXT, u16::to_le_bytes);
        let marked = |mark: &[u8], text: &[u8]| [mark, text].concat();
        let (marked_big, marked_little) = (marked(b"\xfe\xff", &big), marked(b"\xff\xfe", &little));
        for (text, label) in [
            (&big, Some("utf-16be")),
            (&little, Some("utf-16le")),
            (&little, Some("utf-16")),
            (&marked_big, None),
            (&marked_big, Some("utf-16")),
            (&marked_big, Some("utf-16be")),
            (&marked_little, None),
            (&marked_little, Some("utf-16")),
            (&marked_little, Some("utf-16le")),
        ] {
            for sizes in SIZES {
                let read = read_pieces(text, label, sizes).unwrap();
                assert_eq!(str::from_utf8(&read).unwrap(), TEXT, "{label:?} {sizes:?}");
            }
        }
        let long = "日本".repeat(PIECE_BYTES);
        let read = read_all(&utf16(&long, u16::to_le_bytes), Some("utf-16le"));
        assert_eq!(read.unwrap(), long.as_bytes());
        assert_eq!(read_all(b"\xff\xfe", None).unwrap(), b"");
    }

    #[test]
    fn windows_1252_has_a_character_for_each_byte() {
        let bytes: Vec<u8> = (0..=255).collect();
        let read = read_all(&bytes, Some("iso-8859-1")).unwrap();
        let (expected, had_errors) = WINDOWS_1252.decode_without_bom_handling(&bytes);
        assert_eq!(str::from_utf8(&read).unwrap(), expected);
        assert!(!had_errors);
        assert_eq!(expected.chars().count(), 256);
        for (byte, character) in bytes.iter().copied().zip(expected.chars()) {
            if !(0x80..0xa0).contains(&byte) {
                assert_eq!(character, char::from(byte));
            }
        }
        assert_eq!(
            read_all(b"\x80", Some("windows-1252")).unwrap(),
            "€".as_bytes()
        );
    }

    #[test]
    fn multi_byte_charsets_are_decoded_in_pieces_of_any_length() {
        let text = "name,class\n日本,1\nカナ,2\n";
        for encoding in [SHIFT_JIS, GB18030, ISO_2022_JP] {
            let (bytes, _, is_lossy) = encoding.encode(text);
            assert!(!is_lossy);
            for sizes in SIZES {
                let read = read_pieces(&bytes, Some(encoding.name()), sizes).unwrap();
                assert_eq!(
                    str::from_utf8(&read).unwrap(),
                    text,
                    "{} {sizes:?}",
                    encoding.name()
                );
            }
        }
    }

    /// What stands before a malformed sequence is read first, so that its lines are answered.
    #[test]
    fn malformed_sequence_is_an_error_at_its_byte() {
        let lone = [
            utf16("a\n", u16::to_le_bytes),
            vec![0x34, 0xd8],
            utf16("b", u16::to_le_bytes),
        ];
        let [lone, cut] = [lone.concat(), lone[..2].concat()];
        let late = [
            b"a".repeat(PIECE_BYTES + 1),
            b"\x81".to_vec(),
            b" \n".to_vec(),
        ]
        .concat();
        let marked = [b"\xff\xfe", lone.as_slice()].concat();
        for (text, label, before, offset, bytes) in [
            (lone.as_slice(), "utf-16le", "a\n", 4, "0x34 0xD8"),
            (&marked, "utf-16", "a\n", 6, "0x34 0xD8"),
            (&cut, "utf-16le", "a\n", 4, "0x34 0xD8"),
            (&lone[..3], "utf-16le", "a", 2, "0x0A"),
            (b"ab\x81\n", "shift_jis", "ab", 2, "0x81"),
            (b"ab\x81", "shift_jis", "ab", 2, "0x81"),
            (b"ab\xff\n", "shift_jis", "ab", 2, "0xFF"),
            (b"ab\xa5\n", "iso-8859-3", "ab", 2, "0xA5"),
            (
                &late,
                "big5",
                &"a".repeat(PIECE_BYTES + 1),
                PIECE_BYTES as u64 + 1,
                "0x81",
            ),
        ] {
            for sizes in SIZES.into_iter().chain([(usize::MAX, 1 << 16)]) {
                let (read, error) = *read_pieces(text, Some(label), sizes).unwrap_err();
                let shown = format!("{label} {sizes:?} {error}");
                assert_eq!(read, before.as_bytes(), "{shown}");
                assert_eq!(error.kind, FormatErrorKind::Syntax, "{shown}");
                assert_eq!(error.place, Some(Place::Byte(offset)), "{shown}");
                let told = [
                    format!(": {bytes} is no"),
                    "`charset=windows-1252`".to_owned(),
                ];
                assert!(
                    told.iter().all(|told| error.detail.contains(told)),
                    "{shown}"
                );
            }
        }
    }

    #[test]
    fn contradicting_mark_is_refused() {
        for (text, label, told) in [
            (
                b"\xef\xbb\xbfa".as_slice(),
                "windows-1252",
                "mark of utf-8, but `charset=windows-1252`",
            ),
            (
                b"\xff\xfea\0",
                "utf-8",
                "mark of utf-16le, but `charset=utf-8`",
            ),
            (
                b"\xff\xfea\0",
                "utf-16be",
                "mark of utf-16le, but `charset=utf-16be`",
            ),
            (
                b"\xfe\xff\0a",
                "utf-16le",
                "mark of utf-16be, but `charset=utf-16le`",
            ),
        ] {
            let error = read_all(text, Some(label)).unwrap_err();
            assert_eq!(error.kind, FormatErrorKind::BadOption, "{error}");
            assert!(error.detail.contains(told), "{error}");
        }
    }

    #[test]
    fn unmarked_utf16_and_utf32_are_refused_with_a_remedy() {
        for (text, offset, told) in [
            (b"a\0b\0".as_slice(), 1, "`charset=utf-16le`"),
            (b"\0a\0b", 0, "`charset=utf-16be`"),
            (b"\xff\xfe\0\0a\0\0\0", 0, "UTF-32"),
            (b"\0\0\xfe\xff\0\0\0a", 0, "UTF-32"),
        ] {
            for sizes in SIZES {
                let (_, error) = *read_pieces(text, None, sizes).unwrap_err();
                assert_eq!(error.kind, FormatErrorKind::Syntax, "{error}");
                assert_eq!(error.place, Some(Place::Byte(offset)), "{error}");
                assert!(error.detail.contains(told), "{error}");
            }
        }
    }

    #[test]
    fn decoded_bytes_count_against_the_limit_of_the_body() {
        let text = b"\x80".repeat(1000);
        for (body_bytes_max, is_read) in [(3000, true), (2999, false)] {
            let limits = ParseLimits {
                body_bytes_max,
                body_limit_name: "some_bytes_max",
                ..ParseLimits::default()
            };
            let stated = Some(Charset::of("windows-1252").unwrap());
            let mut reader = Utf8Reader::new(text.as_slice(), stated, &limits);
            let read = reader
                .read_to_end(&mut Vec::new())
                .map_err(FormatError::from);
            let kind = FormatErrorKind::TooLarge {
                limit: "some_bytes_max",
                value: 2999,
            };
            match is_read {
                true => assert_eq!(read, Ok(3000)),
                false => assert_eq!(read.unwrap_err().kind, kind),
            }
        }
    }
}
