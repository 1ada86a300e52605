//! A column of a table: its name, its role, and whether it may be no feature.

use super::unnamed::Unnamed;
use crate::cell::Cell;
use crate::encoding::KindName;
use crate::error::{Fault, excerpt};
use crate::remedy::Remedy;

/// A column of the table.
#[derive(Clone)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    /// The reason why the column has no features.
    pub(crate) ignored: Option<&'static str>,
    /// The kind that the request states.
    pub(crate) kind: Option<KindName>,
    /// Whether the numbers are known to have marks between thousands.
    pub(crate) has_thousands: bool,
    pub(super) unnamed: Unnamed,
}

impl TableColumn {
    /// Reads the next cell of a column that may be no feature.
    pub(crate) fn watch(&mut self, cell: &Cell<&[u8]>) {
        self.unnamed = self.unnamed.after(cell);
    }

    /// Gives the column the kind that the request states.
    pub(super) fn state(&mut self, kind: KindName) {
        match kind {
            KindName::Ignored => self.ignored = Some("the request ignores the column"),
            kind => {
                self.kind = Some(kind);
                self.unnamed = Unnamed::No;
            }
        }
    }

    /// Lets the column hold something else than features.
    pub(super) fn become_no_feature(&mut self) {
        self.unnamed = Unnamed::No;
    }

    /// Whether every cell of a column without a name was missing.
    pub(crate) fn is_empty(&self) -> bool {
        self.unnamed == Unnamed::Empty
    }

    /// Whether we do not know yet that the column has features.
    pub(crate) fn is_open(&self) -> bool {
        self.unnamed != Unnamed::No
    }

    /// The reason why the column has no features, as far as the rows tell by now.
    pub(crate) fn no_feature(&self) -> Option<&'static str> {
        self.unnamed.no_feature()
    }

    /// Names the column in a fault about its cells. Options call the column `said`.
    pub(crate) fn about(&self, said: &str, fault: Fault) -> Fault {
        let detail = format!(
            "The column {} {}; `ignore={said}` leaves the column out.",
            excerpt(self.name.as_bytes()),
            fault.detail,
        );
        let own = fault.with(Remedy::Ignore);
        let remedies = own.remedies.into_iter();
        Fault {
            kind: own.kind,
            remedies: remedies.map(|remedy| remedy.of_column(said)).collect(),
            detail,
        }
    }
}
