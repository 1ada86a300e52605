//! Scanner of ARFF lines: plain or quoted words, and the marks between them.
//!
//! Both kinds of quotes are accepted. In quotes a backslash escapes the next character, or makes a tab, a line feed
//! or a carriage return from `t`, `n` or `r`. A quoted question mark is a value and not a missing cell, so it keeps
//! its quotes. A percent sign begins a comment where a word could begin. Inside a plain word it is refused, because
//! some readers would end the word there, and so is a quote. A backslash before them escapes both, as in public files
//! of the library Mulan.

use std::borrow::Cow;

use crate::error::{Fault, FormatErrorKind, excerpt, name};

/// A fault and its byte in the line, from 0.
pub(crate) type Misplaced = (usize, Fault);

/// A word of a line.
pub(crate) struct Word<'a> {
    /// Byte of the line, from 0, at which the word begins.
    pub(crate) start: usize,
    pub(crate) text: Cow<'a, [u8]>,
}

impl Word<'_> {
    /// The text as a name.
    ///
    /// # Errors
    /// A byte that is not UTF-8.
    pub(crate) fn to_name(&self) -> Result<String, Misplaced> {
        let name = name(&self.text).map_err(|fault| (self.start, fault))?;
        Ok(name.to_owned())
    }
}

/// The text of a quoted question mark. Without its quotes it would be a missing cell.
const QUOTED_QUESTION_MARK: &[u8] = b"'?'";

const OPEN_QUOTE: &str =
    "The quote is not closed on this line; close it, or write `\\` before a quote inside a word.";

/// Scanner of one line.
pub(crate) struct Scanner<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    /// Returns the next byte after blanks, or `None` where the line ends or a comment begins.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while self.line.get(self.at).is_some_and(|&byte| byte <= b' ') {
            self.at += 1;
        }
        self.line.get(self.at).copied().filter(|&byte| byte != b'%')
    }

    /// Skips blanks and returns the position in the line, from 0.
    pub(crate) fn place(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// Skips a mark if it comes next, and returns whether it did.
    pub(crate) fn take(&mut self, mark: u8) -> bool {
        let is_next = self.peek() == Some(mark);
        self.at += usize::from(is_next);
        is_next
    }

    /// Reads the next word.
    ///
    /// # Errors
    /// When there is no word, or its quotes are wrong.
    pub(crate) fn word(&mut self) -> Result<Word<'a>, Misplaced> {
        match self.peek() {
            None | Some(b',' | b'{' | b'}') => {
                let detail = "A word is missing; write `?` for a missing value, and quote a word with blanks.";
                Err((self.at, Fault::new(FormatErrorKind::Syntax, detail)))
            }
            Some(quote @ (b'\'' | b'"')) => self.quoted(quote),
            Some(_) => self.plain(),
        }
    }

    fn plain(&mut self) -> Result<Word<'a>, Misplaced> {
        let start = self.at;
        let rest = &self.line[start..];
        let end_from = |from: usize| {
            let length = rest[from..].iter().position(|&byte| ends_plain_word(byte));
            length.map_or(rest.len(), |length| from + length)
        };
        let mut end = end_from(0);
        let mut text = Cow::Borrowed(&rest[..end]);
        while rest[..end].ends_with(b"\\") && rest.get(end).is_some_and(|&byte| is_escaped(byte)) {
            let next = end_from(end + 1);
            let word = text.to_mut();
            word.pop();
            word.extend_from_slice(&rest[end..next]);
            end = next;
        }
        self.at = start + end;
        if let Some(byte) = rest.get(end).filter(|&&byte| is_escaped(byte)) {
            let detail = format!("A word contains `{}`; quote the word.", char::from(*byte));
            return Err((self.at, Fault::new(FormatErrorKind::Syntax, detail)));
        }
        Ok(Word { start, text })
    }

    fn quoted(&mut self, quote: u8) -> Result<Word<'a>, Misplaced> {
        let start = self.at;
        let inner = &self.line[start + 1..];
        let fail = |at: usize, detail: &str| Err((at, Fault::new(FormatErrorKind::Syntax, detail)));
        let Some(first) = inner
            .iter()
            .position(|&byte| byte == quote || byte == b'\\')
        else {
            return fail(start, OPEN_QUOTE);
        };
        let mut text = Cow::Borrowed(&inner[..first]);
        let mut at = first;
        loop {
            match (inner.get(at), inner.get(at + 1)) {
                (Some(&byte), _) if byte == quote => break,
                (Some(b'\\'), Some(&escaped)) => {
                    text.to_mut().push(unescaped(escaped));
                    at += 2;
                }
                (Some(&byte), _) if byte != b'\\' => {
                    text.to_mut().push(byte);
                    at += 1;
                }
                _ => return fail(start, OPEN_QUOTE),
            }
        }
        self.at = start + at + 2;
        match self.line.get(self.at) {
            Some(&byte) if !ends_plain_word(byte) || byte == b'\'' || byte == b'"' => fail(
                self.at,
                "A word continues after its closing quote; quote the whole word, and write `\\` before a quote inside.",
            ),
            _ if *text == *b"?" => Ok(Word {
                start,
                text: Cow::Borrowed(QUOTED_QUESTION_MARK),
            }),
            _ => Ok(Word { start, text }),
        }
    }

    /// Skips the range of a numeric attribute, such as `[1,10]`, which Weka reads but does not use.
    ///
    /// # Errors
    /// When the range does not end.
    pub(crate) fn skip_range(&mut self) -> Result<(), Misplaced> {
        if !matches!(self.peek(), Some(b'[' | b'(')) {
            return Ok(());
        }
        let rest = &self.line[self.at..];
        let Some(length) = rest.iter().position(|byte| b"])".contains(byte)) else {
            let detail = "The range of the attribute has no `]`; close it, or remove the range.";
            return Err((self.at, Fault::new(FormatErrorKind::Syntax, detail)));
        };
        self.at += length + 1;
        Ok(())
    }

    /// Checks that at most a comment follows. `what` names the words before it, for the message.
    pub(crate) fn end_after(&mut self, what: &str) -> Result<(), Misplaced> {
        if self.peek().is_none() {
            return Ok(());
        }
        let shown = excerpt(&self.line[self.at..]);
        let detail = format!(
            "Unexpected {shown} after {what}; end the line there, or quote words with blanks."
        );
        Err((self.at, Fault::new(FormatErrorKind::Syntax, detail)))
    }
}

/// Whether a plain word ends before this byte.
pub(crate) fn ends_plain_word(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, b',' | b'{' | b'}' | b'%' | b'\'' | b'"')
}

/// Whether a plain word needs a backslash before this byte.
fn is_escaped(byte: u8) -> bool {
    matches!(byte, b'%' | b'\'' | b'"')
}

/// The byte that a backslash and this byte stand for.
fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arff_words_are_plain_or_quoted() {
        let cases: [(&str, &str); 14] = [
            ("a,b", "a"),
            ("  a\tb", "a"),
            ("a{b", "a"),
            ("'a b' % c", "a b"),
            ("\"it's\",", "it's"),
            (r"'it\'s'}", "it's"),
            (r"'50\% \\ \t'", "50% \\ \t"),
            ("''", ""),
            ("'?'", "'?'"),
            ("\"?\"", "'?'"),
            (r"m\'usica {0,1}", "m'usica"),
            (r#"\'a\"b\%c,d"#, r#"'a"b%c"#),
            (r"a\b\ c", r"a\b\"),
            (r"a\'\'", "a''"),
        ];
        for (line, expected) in cases {
            let word = Scanner::new(line.as_bytes()).word();
            let word = word.unwrap_or_else(|(_, fault)| panic!("{line}: {fault}"));
            assert_eq!(word.text, expected.as_bytes(), "{line}");
        }
    }

    #[test]
    fn arff_scanner_points_at_a_malformed_word() {
        let cases = [
            ("", 0),
            ("  ", 2),
            ("% a", 0),
            (" ,a", 1),
            ("'a", 0),
            (r"'a\'", 0),
            (r"'a\", 0),
            ("50%", 2),
            ("it's", 2),
            (r"it\'s'", 5),
            (r"a\b'", 3),
            ("'a'b", 3),
            ("'a'\"b\"", 3),
        ];
        for (line, place) in cases {
            let word = Scanner::new(line.as_bytes()).word();
            let (at, fault) = word.map(|word| word.text).expect_err(line);
            assert_eq!((at, fault.kind), (place, FormatErrorKind::Syntax), "{line}");
        }
    }
}
