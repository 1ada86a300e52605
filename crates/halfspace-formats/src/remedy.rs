//! Options that mend a refused body.
//!
//! A fault carries its remedies beside its sentence, so that a client need not pick them out of the prose. The most
//! likely one comes first. This module does not know whether a remedy works: [`repairs`](crate::repairs) tries it.

/// An option that may mend a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// The option with this value.
    Option(&'static str, String),
    /// This kind for the column that the fault is about.
    Kind(&'static str),
    /// That column is left out.
    Ignore,
}

impl Remedy {
    /// The remedy for a column that a request calls `column`, by its name or its number, or for columns from one to
    /// another.
    #[must_use]
    pub(crate) fn of_column(self, column: &str) -> Self {
        match self {
            Self::Kind(kind) => Self::Option("kinds", format!("{}:{kind}", list_item(column))),
            Self::Ignore => Self::Option("ignore", list_item(column)),
            whole @ Self::Option(..) => whole,
        }
    }

    /// The name of the option.
    pub(crate) fn option(&self) -> &'static str {
        match self {
            Self::Option(name, _) => name,
            Self::Kind(_) => "kinds",
            Self::Ignore => "ignore",
        }
    }

    /// The value of the option, unless a column is part of it.
    pub(crate) fn value(&self) -> Option<&str> {
        match self {
            Self::Option(_, value) => Some(value),
            Self::Kind(_) | Self::Ignore => None,
        }
    }
}

/// A text as an item of an option that is a list.
pub(crate) fn list_item(text: &str) -> String {
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
