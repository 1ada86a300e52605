//! The sheets of a workbook, and the relationships that lead to their parts.

use halfspace_core::memory;

use super::package::{Package, RECORDS_MAX};
use super::xml::XmlPart;
use crate::error::{Fault, FormatError, FormatErrorKind, excerpt, listed};

/// An error lists at most this many sheets.
const LISTED_MAX: usize = 40;

/// An error proposes at most this many of them.
const PROPOSED_MAX: usize = 3;

/// The days from 1899-12-30 to 1904-01-01, the first day of workbooks from old Macintosh programs.
const DAYS_UNTIL_1904: f64 = 1462.0;

/// A workbook as its first part describes it.
pub(super) struct Workbook {
    sheets: Vec<Sheet>,
    pub(super) shared_strings: Option<String>,
    pub(super) styles: Option<String>,
    /// The day on which the days of dates begin, counted from 1899-12-30.
    pub(super) first_day: f64,
}

/// A sheet of a workbook.
pub(super) struct Sheet {
    pub(super) name: String,
    is_hidden: bool,
    /// The part with the cells. A chart has none.
    pub(super) part: Option<String>,
}

/// A reference from one part to another.
struct Relationship {
    id: String,
    /// The last word of the type, which comes after one of two namespaces.
    kind: String,
    part: String,
}

impl Workbook {
    /// Reads the list of sheets.
    ///
    /// # Errors
    /// When a part is missing or wrong.
    pub(super) fn read(package: &mut Package<'_>) -> Result<Self, FormatError> {
        let root = relationships(package, "")?;
        let workbook = root
            .into_iter()
            .find(|found| found.kind == "officeDocument");
        let workbook = workbook.map_or_else(|| "xl/workbook.xml".to_owned(), |found| found.part);
        if workbook.ends_with(".bin") {
            let detail = "The workbook has the format .xlsb; save the workbook as .xlsx.";
            return Err(Fault::new(FormatErrorKind::Unsupported, detail).into());
        }
        let related = relationships(package, &workbook)?;
        let part = |kind: &str| {
            let mut found = related.iter().filter(|found| found.kind == kind);
            found.next().map(|found| found.part.clone())
        };
        let mut xml = XmlPart::new(package.part(&workbook)?, b"workbook")?;
        let mut sheets = Vec::new();
        let mut first_day = 0.0;
        while xml.child()? {
            if xml.name() == b"workbookPr" {
                let [is_later] = xml.attributes(["date1904"])?;
                if matches!(is_later.as_deref(), Some("1" | "true")) {
                    first_day = DAYS_UNTIL_1904;
                }
            }
            if xml.name() != b"sheets" {
                xml.skip()?;
                continue;
            }
            while xml.child()? {
                let [name, state, id] = xml.attributes(["name", "state", ":id"])?;
                let is_hidden = matches!(state.as_deref(), Some("hidden" | "veryHidden"));
                let id = id.unwrap_or_default();
                let found = related
                    .iter()
                    .find(|found| found.id == id && found.kind == "worksheet");
                let part = found.map(|found| found.part.clone());
                let name = name.unwrap_or_default().into_owned();
                push(
                    &mut sheets,
                    Sheet {
                        name,
                        is_hidden,
                        part,
                    },
                )?;
                xml.skip()?;
            }
        }
        xml.end()?;
        Ok(Self {
            sheets,
            shared_strings: part("sharedStrings"),
            styles: part("styles"),
            first_day,
        })
    }

    /// The sheets that may hold the table: the one that the request names, or all visible sheets with cells.
    ///
    /// # Errors
    /// When there is no such sheet.
    pub(super) fn chosen(&self, name: Option<&str>) -> Result<Vec<&Sheet>, Fault> {
        let wrong = |detail: String| {
            let fault = Fault::new(FormatErrorKind::BadOption, detail);
            let with_cells = self.sheets.iter().filter(|sheet| sheet.part.is_some());
            Err(with_cells
                .take(PROPOSED_MAX)
                .fold(fault, |fault, sheet| fault.mended_by("sheet", &*sheet.name)))
        };
        let Some(name) = name else {
            let is_chosen = |sheet: &&Sheet| !sheet.is_hidden && sheet.part.is_some();
            return Ok(self.sheets.iter().filter(is_chosen).collect());
        };
        let by_name = self.sheets.iter().find(|sheet| sheet.name == name);
        let by_number = || self.sheets.get(name.parse::<usize>().ok()?.checked_sub(1)?);
        match by_name.or_else(by_number) {
            Some(sheet) if sheet.part.is_some() => Ok(vec![sheet]),
            Some(_) => wrong(format!(
                "The option `sheet` names {}, which is no sheet with cells; the sheets are {}.",
                excerpt(name.as_bytes()),
                self.listed()
            )),
            None => wrong(format!(
                "The option `sheet` names {}, which the workbook does not have; the sheets are {}.",
                excerpt(name.as_bytes()),
                self.listed()
            )),
        }
    }

    /// Lists the names of the sheets.
    pub(super) fn listed(&self) -> String {
        let sheets = self.sheets.iter();
        listed(
            sheets.map(|sheet| excerpt(sheet.name.as_bytes())),
            LISTED_MAX,
        )
    }
}

/// Appends a record of a part, as far as memory and the limit allow.
fn push<T>(records: &mut Vec<T>, record: T) -> Result<(), FormatError> {
    memory::check()?;
    if records.len() == RECORDS_MAX {
        let detail = format!("A list in the workbook has more than {RECORDS_MAX} records.");
        return Err(Fault::new(FormatErrorKind::Unsupported, detail).into());
    }
    records.push(record);
    Ok(())
}

/// Reads the relationships of a part, or of the whole package if the name is empty. If there are none, the list is
/// missing.
fn relationships(package: &mut Package<'_>, of: &str) -> Result<Vec<Relationship>, FormatError> {
    let (folder, file) = of.rsplit_once('/').unwrap_or(("", of));
    let list = resolve(folder, &format!("_rels/{file}.rels"));
    let mut found = Vec::new();
    if !package.has(&list) {
        return Ok(found);
    }
    let mut xml = XmlPart::new(package.part(&list)?, b"Relationships")?;
    while xml.child()? {
        let [id, kind, target, mode] = xml.attributes(["Id", "Type", "Target", "TargetMode"])?;
        let kind = kind.as_deref().and_then(|kind| kind.rsplit('/').next());
        let wanted = ["officeDocument", "worksheet", "sharedStrings", "styles"];
        let kind = kind.filter(|kind| wanted.contains(kind) && mode.as_deref() != Some("External"));
        if let Some(kind) = kind {
            let relationship = Relationship {
                id: id.unwrap_or_default().into_owned(),
                kind: kind.to_owned(),
                part: resolve(folder, &target.unwrap_or_default()),
            };
            push(&mut found, relationship)?;
        }
        xml.skip()?;
    }
    xml.end()?;
    Ok(found)
}

/// The name of the part to which a target in this folder leads.
fn resolve(folder: &str, target: &str) -> String {
    let (folder, target) = match target.strip_prefix('/') {
        Some(absolute) => ("", absolute),
        None => (folder, target),
    };
    let mut steps = Vec::new();
    for step in folder.split('/').chain(target.split('/')) {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    steps.join("/")
}
