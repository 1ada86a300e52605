//! The differential test: programs of all learners of the catalogue on generated tables, some of whose cells are hard
//! to read.
//!
//! As soon as the catalogue has a new learner, a new kind of hypothesis or a new reading, it is tested here too. The
//! labels of the service come from its own readers. If the service refuses a cell, the row has no label.

use std::collections::HashSet;

use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::check::check;
use halfspace_core::learners::engine::entry::LearnerEntry;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::parameters::{ParameterKind, Parameters};
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::predict::check_fit;
use halfspace_core::learners::sample::classes::ClassCodes;
use halfspace_core::learners::sample::data::{Data, Labels};
use rand::seq::IndexedRandom;
use serde_json::{Map, Value, json};

use super::super::decimals::Bound;
use super::*;
use halfspace_formats::{ColumnEncoding, Content, DecimalMark, FormatError};

/// Rows of the short form, and of the long one.
const SHORT_ROWS: usize = 300;

const NAMES: [&str; 10] = [
    "select",
    "it's \"x\"",
    "back\\slash",
    "\u{e4}\u{1F600}",
    "a, b",
    "rows",
    "x;--",
    "/* %s {} */",
    "two\nlines",
    "?x:",
];

const VALUES: [&str; 18] = [
    "red",
    "Red",
    "it's \"x\"",
    "back\\slash?",
    "comma, \u{e4}\u{1F600}",
    "</*-- #{%",
    "two\nlines",
    "=1+1",
    "@cmd",
    "'",
    "\"",
    "\\",
    "E'x'",
    "$$",
    "??/",
    "\u{e9}",
    "e\u{301}",
    "1.50",
];

const CLASSES: [[&str; 3]; 4] = [
    ["it's", "=cmd|' /C calc'!A0", "\u{1F600}"],
    ["back\\", "\"; DROP TABLE \"rows\"; --", "'"],
    ["-1", "two\nlines", "two"],
    ["\u{e4}", "@SUM(1)", "??/"],
];

/// Thresholds whose neighbours and spellings are tried.
const THRESHOLDS: [f64; 12] = [
    -f64::MAX,
    -1e16,
    -0.1,
    -5e-324,
    0.0,
    5e-324,
    2.2250738585072014e-308,
    0.1,
    0.30000000000000004,
    9007199254740993.0,
    2.886446958095602e-307,
    f64::MAX,
];

/// Cells that are no numbers, or odd spellings of numbers.
const ODD_NUMBERS: [&str; 26] = [
    "1e400",
    "-1e400",
    "0x10",
    "1_000",
    "\u{0663}",
    "1e",
    ".",
    "+",
    "--1",
    "inf",
    "-Infinity",
    "1,5",
    "1 2",
    "12abc",
    "1.2.3",
    "1e5.0",
    "0e99999999999999999999",
    "-0",
    "-0.0e-7",
    "1e-99999999999",
    "+.5",
    "5.",
    "1E+05",
    "007.50",
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692\
     887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842\
     914819860834936475292719074168444365510704342711559699508093042880e0",
    "9007199254740993",
];

/// A generated table: an encoding or numbers alone, and rows of cells.
struct Table {
    encoding: Option<Arc<TableEncoding>>,
    n: usize,
    rows: Vec<Vec<String>>,
}

/// The columns of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// Every kind of column that becomes bits.
    Bits,
    /// Every kind of column.
    Mixed,
    /// Columns of -1 and 1.
    Signs,
    /// Numbers with names.
    Numbers,
    /// One feature per number, without an encoding.
    Bare(&'static [&'static str]),
    /// The same with any numbers.
    BareNumbers,
}

const SHAPES: [Shape; 7] = [
    Shape::Bits,
    Shape::Mixed,
    Shape::Signs,
    Shape::Numbers,
    Shape::Bare(&["0", "1"]),
    Shape::Bare(&["-1", "1"]),
    Shape::BareNumbers,
];

impl Shape {
    fn kinds(self, rng: &mut StdRng) -> Vec<(ColumnKind, bool)> {
        let flag = |off: &str, on: &str| ColumnKind::Boolean {
            values: [off, on].map(str::to_owned),
        };
        let mut values = |count| ColumnKind::Nominal {
            values: VALUES
                .sample(rng, count)
                .map(|&value| value.to_owned())
                .collect(),
        };
        let values = [values(5), values(3)];
        let mut thresholds: Vec<f64> = THRESHOLDS.sample(rng, 6).copied().collect();
        thresholds.push(rng.random_range(-1.0..1.0));
        thresholds.sort_by(f64::total_cmp);
        let thermometer = ColumnKind::Thermometer { thresholds };
        let [first, second] = values;
        match self {
            Self::Bits => vec![
                (flag("no", "yes"), true),
                (first, true),
                (flag("0", "1"), false),
                (flag("-1", "1"), false),
                (second, false),
                (flag("x", "back\\"), false),
                (thermometer, rng.random()),
            ],
            Self::Mixed => vec![
                (ColumnKind::Number, false),
                (flag("-1", "1"), false),
                (first, true),
                (ColumnKind::Number, true),
                (thermometer, false),
            ],
            Self::Signs => vec![(flag("-1", "1"), false); 5],
            Self::Numbers => vec![(ColumnKind::Number, false); 4],
            Self::Bare(_) | Self::BareNumbers => Vec::new(),
        }
    }

    fn table(self, rng: &mut StdRng, rows: usize, is_hostile: bool) -> Table {
        let kinds = self.kinds(rng);
        let names: Vec<&str> = NAMES.sample(rng, kinds.len()).copied().collect();
        let columns = kinds
            .iter()
            .zip(names)
            .map(|((kind, missing), name)| StatedColumn {
                name: name.to_owned(),
                kind: kind.clone(),
                missing: *missing,
                scale: None,
                fill: None,
            });
        let encoding = match kinds.is_empty() {
            true => None,
            false => {
                let mut stated = TableEncoding::stated(columns.collect(), None).expect("columns");
                stated.missing.words = vec![DECLARED.to_owned()];
                Some(Arc::new(stated))
            }
        };
        let mut table = Table {
            n: encoding
                .as_ref()
                .map_or(6, |table| table.feature_names().len()),
            encoding,
            rows: Vec::new(),
        };
        table.rows = (0..rows)
            .map(|_| self.row(&table, rng, is_hostile))
            .collect();
        table
    }

    fn row(self, table: &Table, rng: &mut StdRng, is_hostile: bool) -> Vec<String> {
        let Some(encoding) = &table.encoding else {
            let cell = |_| match self {
                Self::Bare(words) => (*words.choose(rng).expect("words")).to_owned(),
                _ => number(rng, is_hostile),
            };
            return (0..table.n).map(cell).collect();
        };
        let cell = |column: &ColumnEncoding| match &column.kind {
            _ if column.missing && rng.random_ratio(1, 8) => {
                let among_numbers = ["N/A", "-", "-nan"];
                let further = among_numbers.iter().filter(|_| column.is_of_numbers());
                let words = ["", "?", "NA", "NULL", DECLARED];
                let words: Vec<&&str> = words.iter().chain(further).collect();
                (**words.choose(rng).expect("words")).to_owned()
            }
            ColumnKind::Boolean { values } => spelled(values.choose(rng).expect("two"), rng),
            ColumnKind::Nominal { values } => values.choose(rng).expect("values").clone(),
            ColumnKind::Number => number(rng, is_hostile),
            ColumnKind::Thermometer { thresholds } => {
                near(*thresholds.choose(rng).expect("thresholds"), rng)
            }
            ColumnKind::Names { .. } => unreachable!("the table has a fixed number of features"),
        };
        encoding.columns.iter().map(cell).collect()
    }
}

/// A text that the tables declare a missing cell.
const DECLARED: &str = "n.d.";

/// A spelling of a flag that is the same value.
fn spelled(value: &str, rng: &mut StdRng) -> String {
    match (value, rng.random_range(0..4)) {
        ("0", 0) => "-0.0".to_owned(),
        ("1", 0) => "+1.00".to_owned(),
        ("-1", 0) => "-1e0".to_owned(),
        ("yes" | "no", 0) => value.to_uppercase(),
        (_, 1) => format!(" {value}\t"),
        _ => value.to_owned(),
    }
}

/// A number for real features. Hostile ones have any magnitude.
fn number(rng: &mut StdRng, is_hostile: bool) -> String {
    match rng.random_range(0..6) {
        _ if !is_hostile => format!("{:?}", rng.random_range(0.0..1.0)),
        0 => "-1".to_owned(),
        1 => near(*THRESHOLDS.choose(rng).expect("thresholds"), rng),
        2 => format!("{:?}", finite(rng)),
        3 => (*["0", "1", "-0.0", "+1", "0.5"].choose(rng).expect("words")).to_owned(),
        _ => format!("{:?}", rng.random_range(-2.0..2.0)),
    }
}

/// Any finite double.
fn finite(rng: &mut StdRng) -> f64 {
    let mut any = std::iter::repeat_with(|| f64::from_bits(rng.random()));
    any.find(|number| number.is_finite()).expect("endless")
}

/// A finite number at a threshold, beside it or between both.
fn near(threshold: f64, rng: &mut StdRng) -> String {
    let mut any = std::iter::repeat_with(|| any_near(threshold, rng));
    let is_finite = |text: &String| text.trim().parse().is_ok_and(f64::is_finite);
    any.find(is_finite).expect("endless")
}

fn any_near(threshold: f64, rng: &mut StdRng) -> String {
    let beside = [
        threshold,
        threshold.next_up(),
        threshold.next_down(),
        finite(rng),
    ];
    let number = *beside.choose(rng).expect("four");
    let bound = Bound::of(threshold);
    let sign = if bound.is_negative { "-" } else { "" };
    let middle = |last: &str| format!("{sign}0.{}{last}e{}", bound.digits, bound.exponent);
    match rng.random_range(0..9) {
        0 => middle(""),
        1 => middle("00001"),
        2 => format!(
            "{sign}0.{}e{}",
            &bound.digits[..bound.digits.len() - 1],
            bound.exponent
        ),
        3 => format!("{number:E}"),
        4 if number.abs() < 1e20 => format!("{number:.60}"),
        5 if number >= 0.0 => format!("+00{number:?}"),
        6 => format!("\t{number:?} "),
        _ => format!("{number:?}"),
    }
}

impl Table {
    /// The labels of the service.
    fn parsed(&self, rows: &[Vec<String>]) -> Parsed {
        self.read(rows).expect("rows of the table")
    }

    fn read(&self, rows: &[Vec<String>]) -> Result<Parsed, FormatError> {
        let mut options = Options {
            labels: Some(LabelsColumn::None),
            ..Options::default()
        };
        let Some(encoding) = &self.encoding else {
            options.table.numbers_only = true;
            options.header = halfspace_formats::Header::False;
            let lines: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
            return halfspace_formats::parse(Format::Csv, lines.join("\n").as_bytes(), &options);
        };
        options.table.encoding = Some(encoding.clone());
        let mut lines = String::new();
        for row in rows {
            let members = encoding.columns.iter().zip(row);
            let members: Map<String, Value> = members
                .map(|(column, cell)| (column.name.clone(), json!(cell)))
                .collect();
            let _ = writeln!(lines, "{}", Value::from(members));
        }
        halfspace_formats::parse(Format::Ndjson, lines.as_bytes(), &options)
    }

    /// The text of a file. Some cells are quoted without need.
    fn csv(&self, rows: &[Vec<String>], rng: &mut StdRng) -> String {
        let names: Vec<String> = match &self.encoding {
            Some(encoding) => encoding
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect(),
            None => Vec::new(),
        };
        let mut csv = String::from("\u{feff}");
        for row in Some(&names)
            .filter(|names| !names.is_empty())
            .into_iter()
            .chain(rows)
        {
            let cells = row.iter().map(|cell| {
                let is_plain = !cell.contains(['"', ',', '\n']) && row.len() > 1;
                match is_plain && rng.random_ratio(3, 4) {
                    true => cell.clone(),
                    false => format!("\"{}\"", cell.replace('"', "\"\"")),
                }
            });
            csv += &cells.collect::<Vec<_>>().join(",");
            csv += ["\n", "\r\n", "\n \n"].choose(rng).expect("ends");
        }
        csv
    }

    /// A table of a database: the names, and the cells with types that can hold them. If `is_typed`, columns of
    /// numbers hold numbers instead of texts.
    fn database(&self, rows: &[Vec<String>], is_typed: bool) -> Value {
        let columns: Vec<(String, bool)> = match &self.encoding {
            None => (0..self.n)
                .map(|at| (format!("x{}", at + 1), true))
                .collect(),
            Some(encoding) => {
                let is_number = |column: &ColumnEncoding| match &column.kind {
                    ColumnKind::Boolean { values } => values[1] == "1",
                    kind => !matches!(kind, ColumnKind::Nominal { .. }),
                };
                let columns = encoding.columns.iter();
                columns
                    .map(|column| (column.name.clone(), is_number(column)))
                    .collect()
            }
        };
        let cell = |(at, cell): (usize, &String)| match Content::of(
            cell.trim_ascii().as_bytes(),
            DecimalMark::Point,
        ) {
            Content::Number(number) if is_typed && columns[at].1 => match cell.parse::<i64>() {
                Ok(whole) => json!(whole),
                Err(_) => json!(number),
            },
            Content::Missing if is_typed => Value::Null,
            Content::MissingAmongNumbers if is_typed && columns[at].1 => Value::Null,
            _ if is_typed && cell == DECLARED => Value::Null,
            _ => json!(cell),
        };
        let rows: Vec<Value> = rows
            .iter()
            .map(|row| row.iter().enumerate().map(cell).collect())
            .collect();
        json!({"columns": columns, "rows": rows, "is_typed": is_typed})
    }
}

/// Trains every learner with every choice of its parameters, on two classes and on three. Returns predictors of
/// different kinds with their learner.
fn predictors(table: &Table, rng: &mut StdRng) -> Vec<(&'static str, Predictor)> {
    let parsed = table.parsed(&table.rows);
    let (features, count) = (parsed.data.features().clone(), table.rows.len());
    let labelled = Data::new(features.clone(), Labels::of_signs(bits(rng, count)));
    let positive = Data::new(features.clone(), Labels::HalfSpace);
    // Each of the three codes of two bits occurs.
    let (mut low, mut high) = (bits(rng, count), bits(rng, count));
    for row in 0..count {
        low.set(row, low.get(row) && !high.get(row));
        high.set(row, high.get(row) && !low.get(row));
    }
    let many = Data::new(
        features,
        Labels::Labelled(ClassCodes::of_planes(vec![low, high])),
    );
    let mut found = Vec::new();
    for entry in CATALOGUE {
        for parameters in choices(entry) {
            for (classes, samples) in [(2, &[&labelled, &positive][..]), (3, &[&many])] {
                for &data in samples {
                    let task = Task {
                        classes,
                        parameters: parameters.clone(),
                        limits: RunLimits {
                            max_passes: Some(2),
                            max_examples: Some(200),
                            ..RunLimits::default()
                        },
                        ..Task::of(entry, Seed(5))
                    };
                    let input = Input::Sample { data, assume: None };
                    if check(&task, input, u64::MAX).is_ok() {
                        let outcome =
                            train(&task, input, &Run::default()).expect("nobody stops it");
                        found.push((entry.name, outcome.predictor));
                        break;
                    }
                }
            }
        }
    }
    found
}

/// The defaults of a learner, and each other choice.
fn choices(entry: &'static LearnerEntry) -> Vec<Parameters> {
    let mut all = vec![Parameters::defaults(entry.parameters)];
    for parameter in entry.parameters {
        let values: Vec<Value> = match &parameter.kind {
            ParameterKind::Choice { options, .. } => {
                options.iter().map(|option| json!(option)).collect()
            }
            ParameterKind::Flag { .. } => vec![json!(true), json!(false)],
            _ => Vec::new(),
        };
        for value in values {
            let mut object = Map::new();
            halfspace_core::learners::engine::parameters::insert_nested(
                &mut object,
                parameter.name,
                value,
            );
            all.extend(Parameters::from_json(entry.parameters, &object).ok());
        }
    }
    all
}

/// What the program of a predictor depends on, besides numbers. A new kind has to be named here.
fn kind(predictor: &Predictor) -> String {
    let hypothesis = &predictor.members()[0];
    let several = if predictor.one().is_some() {
        ""
    } else {
        ", several classes"
    };
    let (name, detail) = match hypothesis {
        Hypothesis::BinaryWeights(_) => ("binary", String::new()),
        Hypothesis::Linear(LinearWeights::Integer(own)) => (
            "integer",
            format!("{:?} {}", own.reading(), own.bias().is_some()),
        ),
        Hypothesis::Linear(LinearWeights::Real(own)) => (
            "real",
            format!("{:?} {}", own.reading(), own.bias().is_some()),
        ),
        Hypothesis::Winnow(own) => ("winnow", (own.exponents().len() / own.n()).to_string()),
        Hypothesis::KernelWinnow(own) => ("monomials", format!("{:?}", own.max_literals())),
        Hypothesis::Kernel(own) => (
            "kernel",
            format!(
                "{:?} {:?}",
                own.kernel().conjunctions(),
                own.kernel().max_literals()
            ),
        ),
        Hypothesis::Bounded(_) => ("bounded", String::new()),
    };
    format!("{name} {detail}{several}")
}

/// The labels that a program gives. Either every row has a label, or they come from a query, where `None` is a row
/// without one.
fn program_answers(
    language: Language,
    place: &Place,
    source: &str,
    table: &Table,
    rows: &[Vec<String>],
    is_typed: bool,
    rng: &mut StdRng,
) -> Option<String> {
    match language {
        Language::Sqlite | Language::Postgresql => {
            let base = place.with("base.json", &table.database(rows, is_typed).to_string());
            let query = place.with("model.sql", source);
            let script = place.with("query.py", QUERY);
            #[expect(
                clippy::disallowed_methods,
                reason = "the variable names the server of the tests"
            )]
            let url = std::env::var("HALFSPACE_TEST_POSTGRES").unwrap_or_default();
            if language == Language::Postgresql && url.is_empty() {
                skipped("HALFSPACE_TEST_POSTGRES names no database");
                return None;
            }
            let mut python = Command::new("python3");
            python
                .arg(script)
                .args([&base, &query])
                .args([language.name(), &url]);
            lines(&mut python, "").map(|lines| lines.join("\n"))
        }
        _ => {
            let csv = table.csv(rows, rng);
            lines(&mut command(language, place, source)?, &csv).map(|lines| lines.join("\n"))
        }
    }
}

/// Fills a table and runs the query, in SQLite or through psql. In half of the servers backslashes are escapes.
const QUERY: &str = r##"
import csv, io, json, sqlite3, subprocess, sys
base = json.load(open(sys.argv[1], encoding="utf-8"))
query = open(sys.argv[2], encoding="utf-8").read()
language, url = sys.argv[3:]
name = lambda text: '"' + text.replace('"', '""') + '"'
columns = [["#", True], *base["columns"]]
rows = [[at, *row] for at, row in enumerate(base["rows"])]
if language == "sqlite":
    database = sqlite3.connect(":memory:")
    database.execute('CREATE TABLE "rows" (' + ", ".join(name(column) for column, _ in columns) + ")")
    database.executemany('INSERT INTO "rows" VALUES (' + ", ".join("?" * len(columns)) + ")", rows)
    labels = [row[-1] for row in sorted(database.execute(query), key=lambda row: row[0])]
else:
    types = ["double precision" if base["is_typed"] and is_number else "text" for _, is_number in columns]
    types[0] = "integer"
    typed = ", ".join(f"{name(column)} {kind}" for (column, _), kind in zip(columns, types))
    out = io.StringIO()
    shown = lambda cell: "" if cell is None else repr(cell)
    quoted = lambda cell: name(cell) if isinstance(cell, str) else shown(cell)
    out.write("".join(",".join(map(quoted, row)) + "\n" for row in rows))
    body = query.rstrip().rstrip(";")
    strings = "off" if base["is_typed"] else "on"
    script = f"""SET client_min_messages = error; SET standard_conforming_strings = {strings};
CREATE TEMP TABLE "rows" ({typed});
COPY "rows" FROM STDIN CSV;
{out.getvalue()}\\.
SELECT to_json(coalesce(answers.predicted, 'None')) FROM (
{body}) AS answers ORDER BY answers."#";
"""
    psql = ["psql", url, "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1"]
    done = subprocess.run(psql, input=script, text=True, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(done.stderr[:2000])
    labels = [json.loads(line) for line in done.stdout.splitlines()]
sys.stdout.reconfigure(encoding="utf-8")
print("\n".join(str(label) for label in labels))
"##;

/// Compares the programs of a language with the service. Returns the kinds that the language stated, or none if the
/// machine lacks its engine.
fn compared(
    language: Language,
    rows: usize,
    seeds: std::ops::Range<u64>,
) -> Option<HashSet<String>> {
    let place = Place::new(&format!("generated-{}-{rows}", language.name()));
    let mut stated = HashSet::new();
    for seed in seeds {
        for shape in SHAPES {
            let rng = &mut StdRng::seed_from_u64(seed);
            // The same columns twice: values from 0 to 1 to train every learner, and any numbers to predict.
            let trained = shape.table(&mut StdRng::seed_from_u64(seed), 150, false);
            let mut table = shape.table(&mut StdRng::seed_from_u64(seed), 0, true);
            table.rows = (0..rows).map(|_| shape.row(&table, rng, true)).collect();
            assert_eq!(trained.encoding, table.encoding);
            let mut seen = HashSet::new();
            for (learner, predictor) in predictors(&trained, rng) {
                if !seen.insert(kind(&predictor)) {
                    continue;
                }
                let context = format!("{learner}, {}, {shape:?}, seed {seed}", kind(&predictor));
                let compare = compare(language, &place, &predictor, &table, rng, &context);
                if compare? {
                    stated.insert(kind(&predictor));
                }
            }
        }
    }
    Some(stated)
}

/// Compares one program with the service. Returns whether the language states the hypothesis.
fn compare(
    language: Language,
    place: &Place,
    predictor: &Predictor,
    table: &Table,
    rng: &mut StdRng,
    context: &str,
) -> Option<bool> {
    let classes = CLASSES.choose(rng).expect("classes").map(str::to_owned);
    let classes = &classes[..predictor.classes()];
    let program = Program {
        title: "a test",
        predictor,
        rows: match &table.encoding {
            Some(encoding) => Rows::Table(encoding),
            None => Rows::Numbers(None),
        },
        classes: Some(classes),
    };
    let Ok(source) = program.source(language) else {
        return Some(false);
    };
    let parsed = table.parsed(&table.rows);
    if check_fit(predictor, &parsed.data, false).is_err() {
        return Some(false);
    }
    let labels = labels_of(predictor, &parsed);
    for is_typed in [false, true] {
        let is_query = matches!(language, Language::Sqlite | Language::Postgresql);
        if is_typed && !is_query {
            continue;
        }
        let answers = program_answers(language, place, &source, table, &table.rows, is_typed, rng)?;
        let expected: Vec<&str> = labels.iter().map(|&label| &*classes[label]).collect();
        if answers != expected.join("\n") {
            differ(
                table,
                &answers,
                &expected,
                &format!("{context}, typed {is_typed}"),
            );
        }
    }
    Some(true)
}

fn differ(table: &Table, answers: &str, expected: &[&str], context: &str) -> ! {
    let mut rest = answers;
    for (row, label) in table.rows.iter().zip(expected) {
        let Some(after) = rest.strip_prefix(label) else {
            let shown: String = rest.chars().take(40).collect();
            panic!("{context}: {row:?} is {label:?}, but the program says {shown:?}");
        };
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    panic!("{context}: the program says more: {rest:?}");
}

/// Checks that Python states every kind that the catalogue learns, and that the other languages do unless they refuse
/// its numbers.
fn states(language: Language, rows: usize, seeds: std::ops::Range<u64>, least: &[&str]) {
    if let Some(stated) = compared(language, rows, seeds) {
        for kind in least {
            assert!(
                stated.iter().any(|own| own.starts_with(kind)),
                "no {kind} in {stated:?}"
            );
            let is_several =
                |own: &&String| own.starts_with(kind) && own.ends_with("several classes");
            assert!(
                *kind == "binary" || stated.iter().any(|own| is_several(&own)),
                "no {kind} of several classes in {stated:?}"
            );
        }
    }
}

const INTEGRAL: [&str; 4] = ["binary", "integer", "winnow", "kernel"];
const COMPILED: [&str; 6] = ["binary", "integer", "winnow", "kernel", "real", "bounded"];
const ALL: [&str; 7] = [
    "binary",
    "integer",
    "winnow",
    "kernel",
    "real",
    "bounded",
    "monomials",
];

#[test]
fn python_answers_like_the_service_for_every_learner() {
    states(Language::Python, SHORT_ROWS, 0..1, &ALL);
}

#[test]
fn c_answers_like_the_service_for_every_learner() {
    states(Language::C, SHORT_ROWS, 0..1, &COMPILED);
}

#[test]
fn rust_answers_like_the_service_for_every_learner() {
    states(Language::Rust, SHORT_ROWS, 0..1, &COMPILED);
}

#[test]
fn sqlite_answers_like_the_service_for_every_learner() {
    states(Language::Sqlite, SHORT_ROWS, 0..1, &INTEGRAL);
}

#[test]
fn postgresql_answers_like_the_service_for_every_learner() {
    states(Language::Postgresql, SHORT_ROWS, 0..1, &INTEGRAL);
}

/// The long form: `scripts/programs`.
#[test]
#[ignore = "minutes"]
fn programs_answer_like_the_service_on_ten_thousand_rows() {
    for (language, least) in [
        (Language::Python, &ALL[..]),
        (Language::C, &COMPILED),
        (Language::Rust, &COMPILED),
        (Language::Sqlite, &INTEGRAL),
        (Language::Postgresql, &INTEGRAL),
    ] {
        states(language, ROWS, 1..4, least);
    }
}

/// Puts each odd cell alone into a row that otherwise has a label. The answer must be the label of the service, or
/// none.
fn odd_cells(language: Language) {
    let place = Place::new(&format!("odd-{}", language.name()));
    let rng = &mut StdRng::seed_from_u64(3);
    let mut table = Shape::Bits.table(rng, 150, false);
    let (_, predictor) = predictors(&table, rng)
        .into_iter()
        .find(|(learner, _)| *learner == "perceptron")
        .expect("listed");
    let encoding = table.encoding.clone().expect("columns");
    let valid = table.rows.swap_remove(0);
    table.rows.clear();
    for at in 0..valid.len() {
        for cell in ODD_NUMBERS.iter().chain(&[
            "", " ? ", "na", "NaN", "RED", "YeS", "\u{a0}1", "TRUE", "b'1'",
        ]) {
            let mut row = valid.clone();
            row[at] = (*cell).to_owned();
            table.rows.push(row);
        }
    }
    let has_label = |row: &Vec<String>| table.read(std::slice::from_ref(row)).is_ok();
    let known: Vec<Vec<String>> = table
        .rows
        .iter()
        .filter(|row| has_label(row))
        .cloned()
        .collect();
    let mut labels = labels_of(&predictor, &table.parsed(&known)).into_iter();
    assert!(labels.len() > 20 && labels.len() < table.rows.len() - 100);
    let expected: Vec<&str> = table
        .rows
        .iter()
        .map(|row| match has_label(row) {
            true => ["-1", "1"][labels.next().expect("a label")],
            false => "None",
        })
        .collect();
    let program = Program {
        title: "a test",
        predictor: &predictor,
        rows: Rows::Table(&encoding),
        classes: None,
    };
    let source = program.source(language).expect("small weights");
    let answers = match language {
        Language::Sqlite | Language::Postgresql => {
            program_answers(language, &place, &source, &table, &table.rows, false, rng)
        }
        Language::Python => {
            let model = place.with("model.py", &source);
            let rows = place.with("rows.json", &json!(table.rows).to_string());
            let script = place.with("each.py", EACH_ROW);
            let mut python = Command::new("python3");
            lines(python.arg(script).args([model, rows]), "").map(|lines| lines.join("\n"))
        }
        _ => return odd_files(language, &place, &source, &table, &expected, rng),
    };
    let Some(answers) = answers else {
        return;
    };
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), expected.len());
    for ((row, expected), answer) in table.rows.iter().zip(&expected).zip(answers) {
        assert_eq!(answer, *expected, "{row:?}");
    }
}

/// Predicts each row by itself.
const EACH_ROW: &str = "import json, runpy, sys\n\
    predict = runpy.run_path(sys.argv[1])['predict']\n\
    for row in json.load(open(sys.argv[2], encoding='utf-8')):\n    try: print(predict(row))\n    \
    except ValueError: print(None)\n";

/// Compares a program with the service on files of one row.
fn odd_files(
    language: Language,
    place: &Place,
    source: &str,
    table: &Table,
    expected: &[&str],
    rng: &mut StdRng,
) {
    let Some(mut program) = command(language, place, source) else {
        return;
    };
    for (row, &expected) in table.rows.iter().zip(expected) {
        let output =
            run(&mut program, &table.csv(std::slice::from_ref(row), rng)).expect("a program");
        let label = String::from_utf8(output.stdout).expect("UTF-8");
        match output.status.success() {
            true => assert_eq!(label.trim_end(), expected, "{row:?}"),
            false => assert_eq!(
                "None",
                expected,
                "{row:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            ),
        }
    }
}

#[test]
fn odd_cells_have_the_label_of_the_service_or_none_in_python() {
    odd_cells(Language::Python);
}

#[test]
fn odd_cells_have_the_label_of_the_service_or_none_in_c() {
    odd_cells(Language::C);
}

#[test]
fn odd_cells_have_the_label_of_the_service_or_none_in_rust() {
    odd_cells(Language::Rust);
}

#[test]
fn odd_cells_have_the_label_of_the_service_or_none_in_sqlite() {
    odd_cells(Language::Sqlite);
}

#[test]
fn odd_cells_have_the_label_of_the_service_or_none_in_postgresql() {
    odd_cells(Language::Postgresql);
}
