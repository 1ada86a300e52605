//! Repairs of refused data: the options under which a body can be read after all.
//!
//! A fault carries remedies that may mend it. This module reads the body again under the likeliest ones until the body
//! is accepted, so that each repair with a shape has been tried. A preview shows the faults of all columns in one
//! reading, and columns with the same fault are mended together. How a request states options, as a query or
//! otherwise, is not known here.

use std::collections::HashSet;

use serde::Serialize;

use crate::building::parsed::Parsed;
use crate::building::parsed_rows::ParsedRows;
use crate::error::{Fault, FormatError, FormatErrorKind, Place, listed};
use crate::option_text::{is_list, name_list};
use crate::options::Options;
use crate::remedy::Remedy;
use crate::tables::preview::Preview;
use crate::tables::seen_table::{RefusedColumn, SeenTable};

/// A longer body is not read again: its repairs are those of its first fault, and none has a shape.
pub const TRIED_BYTES_MAX: usize = 4 << 20;

/// The largest number of readings.
const READINGS_MAX: usize = 64;

/// A body is read fewer times if the readings take more bytes than this, but at least [`READINGS_MIN`] times.
const READ_BYTES_MAX: usize = 64 << 20;

/// The least number of readings.
const READINGS_MIN: usize = 8;

/// The largest size of the options of one repair, in bytes, so that they fit in a URL beside others.
const REPAIR_BYTES_MAX: usize = 4096;

/// A detail lists at most this many further columns.
const LISTED_MAX: usize = 10;

/// Options that decide what the columns are. While one of them is in doubt, the faults of columns say nothing.
const STRUCTURAL: [&str; 7] = [
    "labels",
    "header",
    "delimiter",
    "comment",
    "charset",
    "sheet",
    "first_index",
];

/// A fault of a body, with the repairs among which to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The fault.
    pub error: FormatError,
    /// What mends it, the likeliest first. Empty if no option does.
    pub repairs: Vec<Repair>,
}

/// An option that mends a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Name and value. It adds to the lists of a request and replaces any other option.
    pub option: (&'static str, String),
    /// What the option says, in a sentence.
    pub sentence: String,
    /// The data with this repair and the first repair of every other fault. `None` if this was not tried, or if the
    /// data cannot be read even so.
    pub shape: Option<Shape>,
}

/// The size of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = DataShape)]
pub struct Shape {
    /// Number of examples.
    pub examples: u64,
    /// Number of features of an example.
    pub n: u64,
    /// Number of classes of the labels. Null without labels.
    pub classes: Option<u32>,
}

impl Shape {
    /// The shape of data that were read.
    pub fn of(parsed: &Parsed<ParsedRows>) -> Self {
        let header = parsed.data.header();
        let is_labelled = header.labels.is_labelled();
        let classes = parsed
            .classes
            .as_ref()
            .map_or(2, |names| names.count() as u32);
        Self {
            examples: header.examples as u64,
            n: header.n as u64,
            classes: is_labelled.then_some(classes),
        }
    }

    /// Whether there are two classes, or a class has two examples or more on average.
    fn repeats_classes(self) -> bool {
        let repeats = |classes: u32| classes <= 2 || 2 * u64::from(classes) <= self.examples;
        self.classes.is_none_or(repeats)
    }
}

impl Defect {
    /// The fault with repairs that were not tried.
    pub fn untried(error: FormatError) -> Self {
        Mending::of(error).defect()
    }
}

/// Reads a body under options, and shows it to the preview.
pub type Reading<'r> =
    dyn FnMut(&Options, &Preview) -> Result<Parsed<ParsedRows>, FormatError> + 'r;

/// Finds all faults of a body of `bytes` bytes that was refused under these options, and their repairs. `read` reads
/// the body under other options.
pub fn repaired(options: &Options, bytes: usize, read: &mut Reading<'_>) -> Vec<Defect> {
    // The readings keep nothing.
    let base = &Options {
        cells: None,
        ..options.clone()
    };
    let mut search = Search {
        base,
        read,
        readings_left: (READ_BYTES_MAX / bytes.max(1)).clamp(READINGS_MIN, READINGS_MAX),
        mendings: Vec::new(),
    };
    match search.run() {
        Some(shape) => search.compare(shape),
        None => search.mendings.iter_mut().for_each(Mending::keep_taken),
    }
    search.mendings.into_iter().map(Mending::defect).collect()
}

/// What to change in data that are accepted: columns of words that seem to name the rows.
pub fn advice(preview: &Preview) -> Vec<Defect> {
    let identifiers = preview.of_table(SeenTable::identifiers).into_iter();
    let advice = |(column, cells, words): (String, u64, u32)| {
        let detail = format!(
            "The column `{column}` has {words} different words in {cells} cells, so it seems to name the rows, and \
             what is learnt of one row says nothing about another."
        );
        let fault = Fault::new(FormatErrorKind::TableOption, detail);
        Defect::untried(fault.with(Remedy::Ignore.of_column(&column)).into())
    };
    identifiers.map(advice).collect()
}

/// The readings so far, and what they found.
struct Search<'s> {
    base: &'s Options,
    read: &'s mut Reading<'s>,
    readings_left: usize,
    mendings: Vec<Mending>,
}

/// A fault with the ways to mend it.
#[derive(Clone)]
struct Mending {
    error: FormatError,
    ways: Vec<Way>,
    /// Index of the way that is taken. Past the last way, none is.
    taken: usize,
}

#[derive(Clone, PartialEq)]
struct Way {
    option: (&'static str, String),
    shape: Option<Shape>,
}

/// How good a way is to say what the columns are, by the outcome of a reading. The best comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The data are accepted, and classes occur repeatedly.
    Accepted,
    /// Another fault is left.
    Mended,
    /// The data are accepted, but nearly every example has a class of its own.
    Doubtful,
    /// The data have no labels, so that nothing can be learnt from them, or there was no reading left.
    Last,
}

/// What came of a reading.
enum Outcome {
    Accepted(Shape),
    Refused(Vec<Mending>),
    /// Memory, time or readings ended.
    Spent,
}

impl Search<'_> {
    /// Mends one fault after the other, and returns the shape of the data once they are accepted. If a fault cannot be
    /// mended, an earlier choice may have been wrong. If all were, the first attempt says why.
    fn run(&mut self) -> Option<Shape> {
        let mut attempt = None;
        loop {
            let found = match self.reading() {
                Outcome::Accepted(shape) => return Some(shape),
                Outcome::Refused(found) => found,
                Outcome::Spent => break,
            };
            let first = self.mendings.len();
            let mut is_stuck = false;
            for own in found {
                is_stuck |= !self.note(own);
            }
            if is_stuck {
                attempt.get_or_insert_with(|| self.mendings.clone());
                if !self.take_back() {
                    break;
                }
            } else if self.mendings.get(first).is_some_and(Mending::is_structural) {
                self.choose(first);
            }
        }
        if let Some(first) = attempt {
            self.mendings = first;
        }
        None
    }

    /// Takes the next way of the last choice among structures, and forgets what followed from it. Returns false if no
    /// way is left.
    fn take_back(&mut self) -> bool {
        let is_open = |own: &Mending| own.is_structural() && own.taken + 1 < own.ways.len();
        let Some(last) = self.mendings.iter().rposition(is_open) else {
            return false;
        };
        self.mendings.truncate(last + 1);
        self.mendings[last].taken += 1;
        true
    }

    /// Adds a fault, or takes the next way to mend it if it is known. Returns whether a way is left.
    fn note(&mut self, mut found: Mending) -> bool {
        let is_same = |known: &&mut Mending| known.error.detail == found.error.detail;
        let mending = match self.mendings.iter_mut().find(is_same) {
            Some(known) => {
                known.taken += 1;
                known
            }
            None => {
                let taken: Vec<&Way> = self.mendings.iter().filter_map(Mending::way).collect();
                let is_taken = |way: &Way| taken.iter().any(|taken| way.is_in_place_of(taken));
                let may_help = |way: &Way| !is_taken(way) && way.suits(self.base);
                found.ways.retain(may_help);
                self.mendings.push(found);
                self.mendings.last_mut().expect("one was pushed")
            }
        };
        mending.way().is_some()
    }

    /// Sorts the ways to mend a fault by what comes of them. What the columns are is decided so, because nothing but
    /// the rest of the table tells.
    fn choose(&mut self, at: usize) {
        let detail = self.mendings[at].error.detail.clone();
        let mut ranked = Vec::new();
        for index in 0..self.mendings[at].ways.len() {
            self.mendings[at].taken = index;
            let stays = |found: &[Mending]| found.iter().any(|own| own.error.detail == detail);
            let way = self.mendings[at].ways[index].clone();
            let rank = match self.reading() {
                Outcome::Refused(found) if stays(&found) => continue,
                Outcome::Spent => Rank::Last,
                _ if way.is_unlabelled() => Rank::Last,
                Outcome::Accepted(shape) if shape.repeats_classes() => Rank::Accepted,
                Outcome::Refused(_) => Rank::Mended,
                Outcome::Accepted(_) => Rank::Doubtful,
            };
            ranked.push((rank, way));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        self.mendings[at].ways = ranked.into_iter().map(|(_, way)| way).collect();
        self.mendings[at].taken = 0;
    }

    /// Keeps the ways under which the data are accepted, and puts those that were taken first.
    fn compare(&mut self, shape: Shape) {
        for at in 0..self.mendings.len() {
            let taken = self.mendings[at].taken;
            let mut kept = Vec::new();
            for (index, way) in self.mendings[at].ways.clone().into_iter().enumerate() {
                self.mendings[at].taken = index;
                let shape = match index == taken {
                    true => Some(shape),
                    false => self.reading().shape(),
                };
                if shape.is_some() {
                    let place = if index == taken { 0 } else { kept.len() };
                    kept.insert(place, Way { shape, ..way });
                }
            }
            self.mendings[at].ways = kept;
            self.mendings[at].taken = 0;
        }
    }

    /// Reads the body under the ways that are taken.
    fn reading(&mut self) -> Outcome {
        let Some(left) = self.readings_left.checked_sub(1) else {
            return Outcome::Spent;
        };
        self.readings_left = left;
        let mut options = self.base.clone();
        for (name, value) in self
            .mendings
            .iter()
            .filter_map(Mending::way)
            .map(|way| &way.option)
        {
            // An option that contradicts another one changes nothing, and then its fault stays.
            let _ = options.add(name, value);
        }
        let preview = Preview::new(0);
        match (self.read)(&options, &preview) {
            Ok(parsed) => Outcome::Accepted(Shape::of(&parsed)),
            Err(error) => match preview.explained(error) {
                Ok(error) => Outcome::Refused(found(error, &preview)),
                Err(error) if error.kind.is_of_content() => {
                    Outcome::Refused(vec![Mending::of(error)])
                }
                Err(_) => Outcome::Spent,
            },
        }
    }
}

impl Outcome {
    /// The shape of accepted data.
    fn shape(self) -> Option<Shape> {
        match self {
            Self::Accepted(shape) => Some(shape),
            Self::Refused(_) | Self::Spent => None,
        }
    }
}

impl Mending {
    fn of(error: FormatError) -> Self {
        let way = |remedy: &Remedy| match remedy {
            Remedy::Option(name, value) => Some(Way::of(name, value.clone())),
            Remedy::Kind(_) | Remedy::Ignore => None,
        };
        let ways = error.remedies.iter().filter_map(way).collect();
        Self {
            error,
            ways,
            taken: 0,
        }
    }

    /// Whether the fault leaves open what the columns are.
    fn is_structural(&self) -> bool {
        let is_one = |remedy: &Remedy| STRUCTURAL.contains(&remedy.option());
        self.error.remedies.iter().any(is_one)
    }

    /// Forgets the ways that were not taken, because the data cannot be read under any.
    fn keep_taken(&mut self) {
        self.ways.drain(..self.taken.min(self.ways.len()));
        self.ways.truncate(1);
        self.taken = 0;
    }

    /// Adds columns that may hold the labels, before the way without labels.
    fn propose(&mut self, columns: Vec<String>) {
        for column in columns {
            let way = Way::of("labels", column);
            if !self.ways.contains(&way) {
                let none = self.ways.iter().rposition(Way::is_about_labels);
                self.ways.insert(none.unwrap_or(self.ways.len()), way);
            }
        }
    }

    fn way(&self) -> Option<&Way> {
        self.ways.get(self.taken)
    }

    /// The fault with the ways that are left, the taken one first.
    fn defect(self) -> Defect {
        let repair = |way: Way| Repair {
            sentence: sentence(way.option.0, &way.option.1),
            option: way.option,
            shape: way.shape,
        };
        Defect {
            error: self.error,
            repairs: self.ways.into_iter().skip(self.taken).map(repair).collect(),
        }
    }
}

impl Way {
    fn of(name: &'static str, value: String) -> Self {
        Self {
            option: (name, value),
            shape: None,
        }
    }

    /// Whether the option suits those of the request, whatever the body is.
    fn suits(&self, base: &Options) -> bool {
        let (name, value) = &self.option;
        !(self.is_unlabelled() && base.needs_labels()) && base.clone().add(name, value) == Ok(true)
    }

    /// Whether the request cannot have both ways, or need not.
    fn is_in_place_of(&self, other: &Self) -> bool {
        let ((name, value), (other, before)) = (&self.option, &other.option);
        name == other && (value == before || !is_list(name))
    }

    fn is_about_labels(&self) -> bool {
        self.option.0 == "labels"
    }

    fn is_unlabelled(&self) -> bool {
        self.is_about_labels() && self.option.1 == "none"
    }
}

/// The faults that one reading shows: the one about the whole body, or those of all columns.
fn found(error: FormatError, preview: &Preview) -> Vec<Mending> {
    let mut whole = Mending::of(error);
    if whole.is_structural() {
        if whole.ways.iter().any(Way::is_about_labels) {
            whole.propose(preview.of_table(SeenTable::label_candidates));
        }
        return vec![whole];
    }
    let error = &whole.error;
    let mut groups: Vec<Vec<RefusedColumn>> = Vec::new();
    for column in preview.of_table(SeenTable::refused_columns) {
        let is_alike = |group: &&mut Vec<RefusedColumn>| alike(&group[0], &column);
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(column),
            None => groups.push(vec![column]),
        }
    }
    let is_in = |group: &Vec<RefusedColumn>| {
        let mut details = group.iter().map(|column| &column.told.detail);
        details.any(|detail| *detail == error.detail)
    };
    let is_known = groups.iter().any(is_in);
    let place = |group: &Vec<RefusedColumn>| error.place.clone().filter(|_| is_in(group));
    let of_columns = groups.iter().map(|group| together(group, place(group)));
    let of_columns: Vec<Mending> = of_columns.collect();
    match is_known {
        true => of_columns,
        false => [vec![whole], of_columns].concat(),
    }
}

/// Whether the same options mend both columns.
fn alike(one: &RefusedColumn, other: &RefusedColumn) -> bool {
    let (one, other) = (&one.fault.remedies, &other.fault.remedies);
    let is_same = |(one, other): (&Remedy, &Remedy)| match (one, other) {
        (Remedy::Option(name, _), Remedy::Option(same, _)) if is_list(name) => name == same,
        (one, other) => one == other,
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

/// Mends the faults of several columns by the same options. The first column stands for all in the detail.
fn together(group: &[RefusedColumn], place: Option<Place>) -> Mending {
    let first = &group[0];
    let mut error = first.told.clone().placed(place);
    let others = &group[1..];
    let names = others.iter().map(|column| format!("`{}`", column.said));
    let names = listed(names, LISTED_MAX);
    error.detail += &match others.len() {
        0 => String::new(),
        1 => format!(" The column {names} has the same fault."),
        count => format!(" {count} other columns have the same fault: {names}."),
    };
    let columns = ranges(group);
    let own = &first.fault.remedies;
    let ignore = (!own.contains(&Remedy::Ignore)).then_some(&Remedy::Ignore);
    let remedies = own.iter().chain(ignore);
    let way = |(index, remedy): (usize, &Remedy)| {
        let mut values: Vec<String> = match remedy {
            Remedy::Option(name, _) if is_list(name) => {
                let own = group.iter().map(|column| &column.fault.remedies[index]);
                own.filter_map(|own| own.value())
                    .map(str::to_owned)
                    .collect()
            }
            Remedy::Option(_, value) => vec![value.clone()],
            of_column => {
                let own = columns
                    .iter()
                    .map(|column| of_column.clone().of_column(column));
                own.filter_map(|own| own.value().map(str::to_owned))
                    .collect()
            }
        };
        let mut is_new = HashSet::new();
        values.retain(|value| is_new.insert(value.clone()));
        let value = values.join(",");
        (value.len() <= REPAIR_BYTES_MAX).then(|| Way::of(remedy.option(), value))
    };
    Mending {
        error,
        ways: remedies.enumerate().filter_map(way).collect(),
        taken: 0,
    }
}

/// The columns as items of an option, where neighbours are joined.
fn ranges(group: &[RefusedColumn]) -> Vec<String> {
    let neighbours = group.chunk_by(|one, next| one.at + 1 == next.at);
    let item = |columns: &[RefusedColumn]| match columns {
        [first, .., last] => format!("{}..{}", first.said, last.said),
        columns => columns[0].said.clone(),
    };
    neighbours.map(item).collect()
}

/// What an option says about the data.
fn sentence(name: &str, value: &str) -> String {
    match (name, value) {
        ("labels", "none") => "There are no labels.".to_owned(),
        ("labels", "first" | "last") => format!("The {value} column holds the labels."),
        ("labels", _) => format!("The column `{value}` holds the labels."),
        ("header", "true") => "The first row holds the names of the columns.".to_owned(),
        ("header", _) => "The first row is an example.".to_owned(),
        ("delimiter", "tab" | "blank") => format!("There is a {value} between the fields."),
        ("delimiter", _) => format!("There is a `{value}` between the fields."),
        ("comment", _) => format!("Lines that begin with `{value}` are comments."),
        ("charset", _) => format!("The text is in the charset {value}."),
        ("sheet", _) => format!("The table is the sheet `{value}`."),
        ("decimal", ",") => "A comma stands before the fraction of a number.".to_owned(),
        ("decimal", _) => "A point stands before the fraction of a number.".to_owned(),
        ("dates", "dmy") => "The day comes first, as in 31/12/2024.".to_owned(),
        ("dates", _) => "The month comes first, as in 12/31/2024.".to_owned(),
        ("missing", "drop") => "Rows with a missing cell are left out.".to_owned(),
        ("missing", "mean") => "A missing number is the mean of its column.".to_owned(),
        ("missing", _) => "A missing cell is a value of its own.".to_owned(),
        ("missing_values", _) => match items(value).as_slice() {
            [word] => format!("The text `{word}` means a missing cell."),
            words => format!("These texts mean a missing cell: {}.", words.join(", ")),
        },
        ("numbers", "thermometer") => {
            "Numbers become bits, one per threshold; a missing cell has one of its own.".to_owned()
        }
        ("kinds", _) => match (value.rsplit_once(':'), items(value).len()) {
            (Some((column, kind)), 1) => {
                format!("The column `{column}` is read as {}.", read_as(kind))
            }
            _ => format!("These columns have these kinds: {value}."),
        },
        ("ignore", _) => match items(value).as_slice() {
            [column] if !column.contains("..") => format!("The column `{column}` is left out."),
            columns => format!("These columns are left out: {}.", columns.join(", ")),
        },
        ("unknown", _) => "Values that the model does not know are read as 0.".to_owned(),
        ("vocabulary", _) => "Each word of the table becomes a feature of its own.".to_owned(),
        ("positive", _) => format!("The label `{value}` stands against all others."),
        ("label_threshold", _) => {
            format!("Labels from {value} on are one class, and those below it the other.")
        }
        ("first_index", _) => format!("The first feature has the index {value}."),
        _ => format!("{name} is {value}."),
    }
}

/// The items of an option that is a list.
fn items(value: &str) -> Vec<String> {
    name_list(value).unwrap_or_default()
}

/// What the cells of a column of this kind are.
fn read_as(kind: &str) -> &str {
    match kind {
        "nominal" => "words",
        "number" => "numbers",
        "date" => "dates",
        "text" => "texts",
        kind => kind,
    }
}
