//! Output for people. Names, details and errors may come from other people's files, stores and servers, so we escape
//! their control characters, which a terminal would obey.

use std::fmt;
use std::io::{self, Write};

/// Standard output or standard error. Everything written to it is escaped as in [`printable`].
pub struct Shown<W>(pub W);

impl<W: Write> Shown<W> {
    /// Writes a text at once. `write!` and `writeln!` call this method.
    ///
    /// # Errors
    /// The text is not written.
    pub fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        self.0.write_all(printable(&text.to_string()).as_bytes())?;
        self.0.flush()
    }
}

/// The text, which may have several lines, with its control characters and those that reorder text escaped. Each
/// becomes `\u` and four digits as in JSON, so an escaped JSON document still means the same.
pub fn printable(text: &str) -> String {
    escaped(text, |character| character != '\n')
}

/// Like [`printable`], but escapes line breaks too, so that the text stays on its line.
pub fn on_one_line(text: &str) -> String {
    escaped(text, |_| true)
}

fn escaped(text: &str, is_refused: impl Fn(char) -> bool) -> String {
    let mut printed = String::with_capacity(text.len());
    for character in text.chars() {
        match steers(character) && is_refused(character) {
            true => printed.push_str(&format!("\\u{:04x}", u32::from(character))),
            false => printed.push(character),
        }
    }
    printed
}

/// Whether a character is a control character, or reorders the text around it.
fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_escaped() {
        for (text, shown) in [
            ("plain \u{e9} \u{1f600}\n", "plain \u{e9} \u{1f600}\n"),
            ("\u{1b}[2J\u{7}", "\\u001b[2J\\u0007"),
            ("\u{9b}31m\u{7f}\r\t", "\\u009b31m\\u007f\\u000d\\u0009"),
            ("\u{202e}txt\u{2066}", "\\u202etxt\\u2066"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(on_one_line("equal\nequal"), "equal\\u000aequal");
        let mut out = Vec::new();
        let told = "\u{1b}]0;title\u{7}";
        writeln!(Shown(&mut out), "damaged: {told}").expect("memory");
        assert_eq!(out, b"damaged: \\u001b]0;title\\u0007\n");
    }

    #[test]
    fn an_escaped_json_document_means_the_same() {
        let document = serde_json::json!({"name": "\u{9b}31m\u{1b}\u{202e}\n"});
        let shown = printable(&format!("{document:#}"));
        assert!(!shown.contains(|c: char| steers(c) && c != '\n'), "{shown}");
        let read: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(read, document);
    }
}
