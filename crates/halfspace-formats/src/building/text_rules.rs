//! Which texts of a body give names, and which names.

use std::sync::Arc;

use crate::encoding::{TEXT, TableEncoding};
use crate::error::{Fault, FormatErrorKind};
use crate::options::{FormatOption, Options};
use crate::texts::Extraction;

/// The texts of a body.
#[derive(Clone, Debug)]
pub(crate) struct TextRules {
    pub(crate) extraction: Extraction,
    /// The options about texts that the request states.
    stated: Vec<FormatOption>,
    columns: TextColumns,
}

/// The members and columns that hold texts.
#[derive(Clone, Debug)]
enum TextColumns {
    /// The usual member.
    Usual,
    /// Those of the encoding that the body must have.
    Of(Arc<TableEncoding>),
    /// None, because the model reads only names.
    None,
}

impl Default for TextRules {
    fn default() -> Self {
        Self {
            extraction: Extraction::usual(),
            stated: Vec::new(),
            columns: TextColumns::Usual,
        }
    }
}

impl TextRules {
    /// The texts that a request describes, or that the encoding does which the body must have.
    ///
    /// # Errors
    /// An option beside an encoding, or options that exclude each other.
    pub(crate) fn of(options: &Options) -> Result<Self, Fault> {
        let stated = FormatOption::EXTRACTION
            .into_iter()
            .filter(|option| option.is_stated(options));
        let stated: Vec<FormatOption> = stated.collect();
        let columns = match &options.table.encoding {
            Some(given) => TextColumns::Of(Arc::clone(given)),
            None if options.table.numbers_only => TextColumns::None,
            None => {
                let extraction = options.extraction.clone().settled();
                let refused = |detail| Fault::new(FormatErrorKind::BadOption, detail);
                return Ok(Self {
                    extraction: extraction.map_err(refused)?,
                    stated,
                    columns: TextColumns::Usual,
                });
            }
        };
        if let Some(option) = stated.first() {
            let detail = format!(
                "The option `{}` is for new data; what the examples are for says already what texts become. Omit the \
                 option.",
                option.name
            );
            return Err(Fault::new(FormatErrorKind::BadOption, detail));
        }
        let given = options.table.encoding.as_deref();
        let extraction = given.and_then(|given| given.extraction.clone());
        Ok(Self {
            extraction: extraction.unwrap_or_else(Extraction::usual),
            stated,
            columns,
        })
    }

    /// Whether a text in this member of an example is one, and not a word.
    ///
    /// # Errors
    /// A text where a model or a session reads none.
    pub(crate) fn is_text(&self, member: &str) -> Result<bool, Fault> {
        let (is_text, is_word) = match &self.columns {
            TextColumns::Usual => (member == TEXT, true),
            TextColumns::Of(given) => {
                let is_text = given.text_columns().any(|text| text == member);
                (is_text, given.has_column(member))
            }
            TextColumns::None => (false, false),
        };
        if member != TEXT || is_text || is_word {
            return Ok(is_text);
        }
        let texts = match &self.columns {
            TextColumns::Of(given) => given.text_columns().next(),
            TextColumns::Usual | TextColumns::None => None,
        };
        let detail = match texts {
            Some(own) => format!(
                "The model or session that the example is for has no texts in the member `text`, but in `{own}`."
            ),
            None => "The model or session that the example is for has no texts in the member `text`. Open a session \
                     with `extraction`, or train on examples with such texts."
                .to_owned(),
        };
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }

    /// Checks that the options which the request states had an effect.
    ///
    /// # Errors
    /// An option without one.
    pub(crate) fn check_used(&self, has_names: bool, has_texts: bool) -> Result<(), Fault> {
        let is_unused = |option: &&FormatOption| match option.name {
            "conjunctions" => !has_names,
            _ => !has_texts,
        };
        let Some(option) = self.stated.iter().find(is_unused) else {
            return Ok(());
        };
        let detail = format!(
            "The option `{}` is for {}. Omit the option.",
            option.name,
            match option.name {
                "conjunctions" => "names, and the features of the examples are numbered",
                _ => {
                    "texts, of which the examples have none. A text is the member `text` of an x, or a column with the \
                     kind text, as in `kinds=message:text`"
                }
            }
        );
        Err(Fault::new(FormatErrorKind::BadOption, detail))
    }
}
