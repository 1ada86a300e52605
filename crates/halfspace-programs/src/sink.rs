//! The text of a program while it is written. It has a limit, so that no program takes more memory than a small
//! multiple of that.
//!
//! Writing fails at the limit. Before the text grows, it asks the memory budget.

use std::fmt::{self, Display, Write};

use halfspace_core::memory::{self, NoMemory};

/// The longest program in bytes.
pub const SOURCE_BYTES_MAX: usize = 16 << 20;

/// A number in a list takes at least this many bytes in every language, with the comma.
pub(super) const NUMBER_BYTES_MIN: usize = 3;

/// The text so far.
pub(super) struct Sink {
    text: String,
    refused: Option<NoMemory>,
}

/// The reason why the writing of a program ends early.
pub(super) enum Stop {
    /// The language cannot state the hypothesis.
    Limit(String),
    /// The budget has too little memory.
    NoMemory(NoMemory),
    /// The sink takes no more text. It knows the reason.
    Cut,
}

impl From<fmt::Error> for Stop {
    fn from(_: fmt::Error) -> Self {
        Self::Cut
    }
}

impl From<String> for Stop {
    fn from(limit: String) -> Self {
        Self::Limit(limit)
    }
}

impl From<NoMemory> for Stop {
    fn from(full: NoMemory) -> Self {
        Self::NoMemory(full)
    }
}

impl Sink {
    /// Returns the text that `write` has written.
    ///
    /// # Errors
    /// The limit, or the refusal of the budget. Never [`Stop::Cut`].
    pub(super) fn filled(
        write: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<String, Stop> {
        let mut sink = Self {
            text: String::new(),
            refused: None,
        };
        match (write(&mut sink), sink.refused) {
            (Ok(()), _) => Ok(sink.text),
            (Err(Stop::Cut), Some(full)) => Err(full.into()),
            (Err(Stop::Cut), None) => Err(too_long().into()),
            (Err(stop), _) => Err(stop),
        }
    }

    /// The text so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Writes the items between commas.
    pub(super) fn list<T: Display>(&mut self, items: impl IntoIterator<Item = T>) -> fmt::Result {
        for (at, item) in items.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(self, "{comma}{item}")?;
        }
        Ok(())
    }
}

impl Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let length = self.text.len() + text.len();
        if length > SOURCE_BYTES_MAX {
            return Err(fmt::Error);
        }
        let held = self.text.capacity();
        if length > held {
            let capacity = length.max(2 * held).min(SOURCE_BYTES_MAX);
            if let Err(full) = memory::need(capacity as u64) {
                self.refused = Some(full);
                return Err(fmt::Error);
            }
            self.text.reserve_exact(capacity - self.text.len());
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// A section of a template. Each section begins after a line of `@@` and the name.
pub(super) fn section<'t>(template: &'t str, name: &str) -> &'t str {
    let mut sections = template
        .split("@@ ")
        .filter_map(|section| section.split_once('\n'));
    let found = sections.find(|(own, _)| *own == name);
    found.map_or("", |(_, text)| text)
}

pub(super) fn too_long() -> String {
    format!("a program has at most {SOURCE_BYTES_MAX} bytes")
}
