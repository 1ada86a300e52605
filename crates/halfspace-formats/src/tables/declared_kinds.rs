//! The kinds of columns that a file declares beside its rows.

use super::columns::TableColumns;
use super::table_column::TableColumn;
use crate::encoding::KindName;
use crate::options::Options;

impl Options {
    /// The options for a table whose file declares kinds of columns. A column with texts makes the vocabulary open.
    pub(crate) fn with_declared(
        mut self,
        declared: Vec<(String, KindName)>,
        names: Vec<String>,
    ) -> Self {
        let has_texts = declared.iter().any(|(_, kind)| *kind == KindName::Text);
        self.table.declared = declared;
        if has_texts
            && !names.is_empty()
            && self.table.encoding.is_none()
            && !self.table.numbers_only
        {
            self.open_vocabulary |= self.reads_texts(names);
        }
        self
    }

    /// Whether a column with texts gives features. If an option is at fault, the table says so.
    fn reads_texts(&self, names: Vec<String>) -> bool {
        let count = names.len();
        let Ok(mut table) = TableColumns::named(Some(names), count) else {
            return false;
        };
        let assigned = table.assign(self.labels.as_ref(), &self.table);
        let is_text = |(at, column): (usize, &TableColumn)| {
            let is_read = !table.is_beside(at) && column.ignored.is_none();
            is_read && column.kind == Some(KindName::Text)
        };
        assigned.is_ok() && table.columns.iter().enumerate().any(is_text)
    }
}
