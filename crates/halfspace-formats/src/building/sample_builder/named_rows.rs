//! Rows whose features have names in place of numbers. The first name of a body decides that all features have names.

use crate::building::sample_rules::SampleRules;
use crate::building::sparse_builder::SparseBuilder;
use crate::building::text_rules::TextRules;
use crate::error::{Fault, FormatErrorKind};
use crate::vocabulary::{Vocabulary, name_of};

use super::SampleBuilder;

impl SampleBuilder {
    /// Sets which texts give names, and which names, before the first row.
    pub(crate) fn of_texts(self, texts: TextRules) -> Self {
        Self { texts, ..self }
    }

    /// If the vocabulary is stated to be open, lets features have names, before the first row.
    ///
    /// # Errors
    /// When n is fixed.
    pub(crate) fn of_vocabulary(mut self, is_open: bool) -> Result<Self, Fault> {
        if is_open {
            self.named(true)?;
        }
        Ok(self)
    }

    /// Lets the names of a stated vocabulary keep their order.
    pub(crate) fn keep_names_as_they_come(&mut self) {
        if let Some(named) = &mut self.named {
            named.keep_names_as_they_come();
        }
    }

    /// Reads an example that lists nothing. As the first one it decides that features have names, because rows of
    /// values are not empty.
    ///
    /// # Errors
    /// None, but the end of the row refuses it where rows have values.
    pub(crate) fn no_names(&mut self) -> Result<(), Fault> {
        if self.rows() == 0 && self.row.filled == 0 && self.rules.fixed_n.is_none() {
            self.named(false)?;
        }
        Ok(())
    }

    /// Adds the feature of a name to the row. Returns whether the value made the data real.
    ///
    /// # Errors
    /// When other features have no names, or as for [`SparseBuilder::name`].
    pub(crate) fn name(&mut self, name: &str, value: f64) -> Result<bool, Fault> {
        self.named(false)?.name(name, value)
    }

    /// Adds what a text in a member of an example stands for: a word of the member, or the names of a text.
    ///
    /// # Errors
    /// As for [`Self::name`] and [`SparseBuilder::text`].
    pub(crate) fn member(&mut self, member: &str, text: &str) -> Result<(), Fault> {
        match self.texts.is_text(member)? {
            true => self.named(false)?.text(member, text),
            false => self.name(&name_of(member, text), 1.0).map(drop),
        }
    }

    /// Adds the number in a member of an example.
    ///
    /// # Errors
    /// As for [`Self::name`], and in a member for texts.
    pub(crate) fn number(&mut self, member: &str, value: f64) -> Result<bool, Fault> {
        if matches!(self.texts.is_text(member), Ok(true)) {
            let detail = format!("The member `{member}` holds a text; write {value} in quotes.");
            return Err(Fault::new(FormatErrorKind::BadValue, detail));
        }
        self.name(member, value)
    }

    /// Adds the values of a row, which belong to these names if there are names.
    ///
    /// # Errors
    /// As for [`Self::value`] and [`Self::name`].
    pub(crate) fn values(
        &mut self,
        names: Option<&Vocabulary>,
        values: &[f64],
    ) -> Result<(), Fault> {
        let Some(names) = names else {
            return values
                .iter()
                .try_for_each(|&value| self.value(value).map(drop));
        };
        let mut named = names.names().zip(values);
        named.try_for_each(|(name, &value)| self.name(name, value).map(drop))
    }

    /// Whether features have names and values other than 1.
    pub(crate) fn has_real_names(&self) -> bool {
        self.named.as_ref().is_some_and(|named| named.is_real())
    }

    /// The number of active features of all rows in memory, if they have names.
    pub(crate) fn named_entries(&self) -> usize {
        self.named.as_ref().map_or(0, |named| named.held_entries())
    }

    fn named(&mut self, are_stated: bool) -> Result<&mut SparseBuilder, Fault> {
        if self.named.is_none() {
            SampleRules::check_no_n(self.rules.fixed_n)?;
            if self.rows() > 0 || self.row.filled > 0 {
                let detail = "The example names its features, but the values before it have no names; write all \
                              examples in one form.";
                return Err(Fault::new(FormatErrorKind::BadName, detail));
            }
        }
        let (limits, kind, store) = (&self.rules.limits, self.rules.kind, &mut self.store);
        match &mut self.named {
            Some(named) => Ok(named),
            none => {
                let (spool, texts) = (store.take_spool(), self.texts.clone());
                let named = SparseBuilder::of_names(limits, kind, spool, are_stated, texts)?;
                Ok(none.insert(Box::new(named)))
            }
        }
    }

    /// Checks that a value without a name may follow.
    #[inline]
    pub(super) fn check_unnamed(&self) -> Result<(), Fault> {
        if self.named.is_none() {
            return Ok(());
        }
        let detail = "The value has no name, but features have names; write x as a list or an object of names.";
        Err(Fault::new(FormatErrorKind::BadName, detail))
    }
}
