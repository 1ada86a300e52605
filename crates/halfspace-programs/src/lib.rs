//! Hypotheses as stand-alone programs: source text that turns raw rows into predictions without the service.
//!
//! A program holds the encoding of the table, or the names of the features, and the hypothesis in one file, and answers
//! exactly as a prediction of the service does. `computation.rs` and `scores.rs` describe it without the terms of any
//! language. Each language is one file, which writes the data of this description as source text, and one entry in
//! [`Language`]. The code of a program is in `templates/`, in its own language. The two databases have common files.
//!
//! | language | hypotheses |
//! |---|---|
//! | Python | all |
//! | PostgreSQL | integral ones, in `numeric` |
//! | C, Rust | integral ones whose absolute sum fits into 64 bits, and real ones in the order of the service |
//! | SQLite | integral ones whose absolute sum fits into 64 bits |
//! | Excel | integral ones whose absolute sum is below 2^47, or 2^39 with several classes; at most 8,192 characters |
//!
//! Integral hypotheses are sums of weights and conjunction kernels. Their score is a whole number, or a fraction with
//! a denominator that all rows share. An export takes little memory whatever the model is, because the text goes into
//! a sink of at most [`SOURCE_BYTES_MAX`] bytes and columns are described one at a time.
//!
//! A model that reads dates, scales its columns or fills missing cells has no program in any language, and programs
//! read numbers that are written in the plain way. A formula of Excel has a fixed number of cells, so it reads no
//! names.
//!
//! If the service refuses a value, the program gives no label for it. In Python, C or Rust it ends with an error, SQL
//! gives NULL, and Excel gives #N/A.
//!
//! ```
//! use halfspace_core::bits::BitVector;
//! use halfspace_core::learners::hypothesis::Hypothesis;
//! use halfspace_programs::{Language, Program, Rows};
//!
//! let mut weights = BitVector::zeros(3);
//! weights.set(0, true);
//! let predictor = Hypothesis::BinaryWeights(weights).into();
//! let program = Program { title: "majority", predictor: &predictor, rows: Rows::Numbers(None), classes: None };
//! let source = program.source(Language::Sqlite).expect("small weights");
//! assert!(source.contains("AS predicted"));
//! ```

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod c;
mod computation;
mod decimals;
mod dialects;
mod excel;
mod python;
mod rust;
mod scores;
mod sink;
mod sql;
mod sql_names;
#[cfg(test)]
mod tests;

use halfspace_core::memory::NoMemory;

use computation::{Computation, with_unknown};
use sink::{Sink, Stop, too_long};

pub use computation::{Program, Rows};
pub use sink::SOURCE_BYTES_MAX;

/// A language of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A module of Python 3.8 without dependencies.
    Python,
    /// A file of C99.
    C,
    /// A file of Rust without dependencies.
    Rust,
    /// A query of SQLite 3.38.
    Sqlite,
    /// A query of PostgreSQL 12.
    Postgresql,
    /// A formula of Excel 2010.
    Excel,
}

/// The reason why a language cannot state a hypothesis exactly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{language} cannot state this hypothesis exactly: {limit}", language = .language.title())]
pub struct Inexact {
    /// The language.
    pub language: Language,
    /// The limit of the language.
    pub limit: String,
}

/// The reason why there is no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    /// The language cannot state the hypothesis.
    #[error(transparent)]
    Inexact(#[from] Inexact),
    /// The budget has too little memory for the program.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
}

type Write = fn(&Computation, title: &str, &mut Sink) -> Result<(), Stop>;

impl Language {
    /// Every language.
    pub const ALL: [Self; 6] = [
        Self::Python,
        Self::C,
        Self::Rust,
        Self::Sqlite,
        Self::Postgresql,
        Self::Excel,
    ];

    /// The name in requests, the name in prose, the media type, the file extension and the writer.
    fn entry(
        self,
    ) -> (
        &'static str,
        &'static str,
        &'static str,
        &'static str,
        Write,
    ) {
        match self {
            Self::Python => ("python", "Python", "text/x-python", "py", python::write),
            Self::C => ("c", "C", "text/x-c", "c", c::write),
            Self::Rust => ("rust", "Rust", "text/x-rust", "rs", rust::write),
            Self::Sqlite => (
                "sqlite",
                "SQLite",
                "application/sql",
                "sql",
                sql::write_sqlite,
            ),
            Self::Postgresql => (
                "postgresql",
                "PostgreSQL",
                "application/sql",
                "sql",
                sql::write_postgresql,
            ),
            Self::Excel => ("excel", "Excel", "text/plain", "txt", excel::write),
        }
    }

    /// The name in requests.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// The name in prose.
    pub fn title(self) -> &'static str {
        self.entry().1
    }

    /// The media type of the source text.
    pub fn media_type(self) -> &'static str {
        self.entry().2
    }

    /// The extension of a file with the source text.
    pub fn file_extension(self) -> &'static str {
        self.entry().3
    }
}

impl Program<'_> {
    /// The source text. The work takes at most a small multiple of [`SOURCE_BYTES_MAX`], from the grant of the
    /// thread.
    ///
    /// # Errors
    /// The limit of the language that the hypothesis exceeds, or a lack of memory.
    pub fn source(&self, language: Language) -> Result<String, NoProgram> {
        let write = language.entry().4;
        let source = Sink::filled(|sink| {
            let known;
            let program = match self.rows {
                Rows::Names(_) => {
                    known = with_unknown(self.predictor)?;
                    &Program {
                        predictor: &known,
                        ..*self
                    }
                }
                Rows::Table(_) | Rows::Numbers(_) => self,
            };
            write(&Computation::new(program)?, self.title, sink)
        });
        source.map_err(|stop| match stop {
            Stop::NoMemory(full) => full.into(),
            Stop::Limit(limit) => Inexact { language, limit }.into(),
            Stop::Cut => Inexact {
                language,
                limit: too_long(),
            }
            .into(),
        })
    }
}
