//! Tests every language with hypotheses of every kind.
//!
//! A program predicts 10,000 rows in its own engine, and each label must be the label of the service. `generated.rs`
//! takes its hypotheses from the catalogue, and some of its cells are hard to read.
//!
//! If an engine is missing on the machine, its tests print a line and pass. PostgreSQL is found by the variable
//! `HALFSPACE_TEST_POSTGRES`, which `scripts/with-postgres` sets.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use halfspace_core::bits::BitVector;
use halfspace_core::learners::arithmetic::decimal::Decimal;
use halfspace_core::learners::arithmetic::power_sum::Base;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::kernel::conjunction_kernel::{Conjunctions, Kernel};
use halfspace_core::learners::kernel::kernel_expansion::KernelExpansion;
use halfspace_core::learners::kernel::kernel_winnow_weights::KernelWinnowWeights;
use halfspace_core::learners::linear::bounded::BoundedWeights;
use halfspace_core::learners::linear::linear_weights::{
    IntegerWeights, LinearWeights, Reading, RealWeights,
};
use halfspace_core::learners::predict::for_each_decisions;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::block::RowBits;
use halfspace_core::learners::winnow::winnow_weights::WinnowWeights;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use halfspace_formats::{
    ColumnKind, Format, LabelsColumn, Numbers, Options, Parsed, StatedColumn, TableEncoding,
    TableOptions,
};

mod generated;
mod names;
#[path = "../../../tests/service/skip.rs"]
mod skip;

use skip::skipped;

const ROWS: usize = 10_000;

/// Values that need escapes in some language.
const COLOURS: [&str; 6] = [
    "red",
    "Red",
    "it's \"x\"",
    "back\\slash?",
    "comma, \u{e4}\u{1F600}",
    "</*-- #{%",
];

/// A table with every kind of column: the first row is the header, and every value occurs in the first rows.
fn table(rng: &mut StdRng, rows: usize, is_real: bool) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut csv = format!(
        "id,{},wet,\"Size, in cm\",sign,class\n",
        quoted("the \"colour\"'s \\name")
    );
    for row in 0..rows {
        let colour = match row % 7 {
            6 if !is_real => "?".to_owned(),
            at => quoted(COLOURS[at % 6]),
        };
        let wet = ["yes", "no", "YES", "No", "NA"][if is_real { row % 4 } else { row % 5 }];
        let size = match row % 11 {
            10 if !is_real => String::new(),
            _ => format!("{}", f64::from(rng.random_range(-400..400)) / 16.0),
        };
        let sign = ["1", "-1", "1.0"][rng.random_range(0..3)];
        let class = ["it's", "not"][rng.random_range(0..2)];
        let _ = writeln!(csv, "{row},{colour},{wet},{size},{sign},{class}");
    }
    csv
}

/// Reads rows under the options of a training or a prediction.
fn parsed(csv: &str, table: TableOptions) -> Parsed {
    let labels = Some(if table.encoding.is_some() {
        LabelsColumn::None
    } else {
        LabelsColumn::Last
    });
    let options = Options {
        labels,
        table,
        ..Options::default()
    };
    halfspace_formats::parse(Format::Csv, csv.as_bytes(), &options).expect("a table")
}

/// The encoding of a table, and 10,000 other rows with their CSV text.
fn held_rows(is_real: bool) -> (Arc<TableEncoding>, Parsed, String) {
    let mut rng = StdRng::seed_from_u64(7);
    let mut options = TableOptions {
        ignore: vec!["id".to_owned()],
        ..TableOptions::default()
    };
    options.numbers = if is_real {
        Numbers::Real
    } else {
        Numbers::Thermometer
    };
    let trained = parsed(&table(&mut rng, 500, is_real), options);
    let encoding = trained.table.expect("a table");
    let csv = table(&mut rng, ROWS, is_real);
    let options = TableOptions {
        encoding: Some(encoding.clone()),
        ..TableOptions::default()
    };
    let held = parsed(&csv, options);
    (encoding, held, csv)
}

/// The codes of the predicted classes.
fn labels_of(predictor: &Predictor, held: &Parsed) -> Vec<usize> {
    let mut labels = Vec::new();
    for_each_decisions(predictor, &held.data, held.zero_bit_value, |decisions| {
        labels.extend(decisions.iter().map(|decision| decision.class as usize));
        ControlFlow::Continue(())
    });
    labels
}

fn bits(rng: &mut StdRng, n: usize) -> BitVector {
    let mut bits = BitVector::zeros(n);
    (0..n).for_each(|at| bits.set(at, rng.random()));
    bits
}

fn expansion(
    rng: &mut StdRng,
    n: usize,
    conjunctions: Conjunctions,
    literals: Option<u64>,
) -> Hypothesis {
    let mut expansion =
        KernelExpansion::new(Kernel::new(n, conjunctions, literals).expect("small"));
    for _ in 0..9 {
        let example = bits(rng, n);
        expansion
            .push(RowBits::Packed(example.words()), rng.random())
            .expect("room");
        expansion
            .push(RowBits::Packed(example.words()), rng.random())
            .expect("room");
    }
    Hypothesis::Kernel(expansion)
}

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).expect("a decimal")
}

fn exponents(rng: &mut StdRng, count: usize, most: i32) -> Vec<i32> {
    (0..count).map(|_| rng.random_range(-most..=most)).collect()
}

fn base(text: &str) -> Base {
    Base::of_decimal(&decimal(text)).expect("a base")
}

fn integers(
    rng: &mut StdRng,
    reading: Reading,
    n: usize,
    most: i64,
    bias: Option<i64>,
) -> Hypothesis {
    let weights = (0..n).map(|_| rng.random_range(-most..=most)).collect();
    Hypothesis::Linear(LinearWeights::Integer(IntegerWeights::new(
        reading, weights, bias,
    )))
}

fn monomials(rng: &mut StdRng, n: usize, max_literals: Option<u64>) -> Hypothesis {
    let theta = decimal(if max_literals.is_some() {
        "12.5"
    } else {
        "60.5"
    });
    let weights = KernelWinnowWeights::new(base("1.5"), theta, n, 14);
    let mut weights = weights.with_max_literals(max_literals);
    for _ in 0..6 {
        let example = bits(rng, n);
        let active: Vec<u32> = (0..n as u32)
            .filter(|&at| example.get(at as usize))
            .take(6)
            .collect();
        weights
            .add(&active, rng.random_range(-2..=2))
            .expect("room");
    }
    Hypothesis::KernelWinnow(weights)
}

fn reals(rng: &mut StdRng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

type Make = fn(&mut StdRng, usize) -> Hypothesis;

/// Makers of hypotheses of each kind over `n` bits. Weights of 1 and -1 tie often.
const KINDS: [(&str, Make); 13] = [
    ("binary weights", |rng, n| {
        Hypothesis::BinaryWeights(bits(rng, n))
    }),
    ("signed weights", |rng, n| {
        integers(rng, Reading::Signed, n, 9, Some(2))
    }),
    ("ties", |rng, n| {
        integers(rng, Reading::Unsigned, n, 1, None)
    }),
    ("large weights", |rng, n| {
        integers(rng, Reading::Signed, n, 1 << 40, Some(-7))
    }),
    ("Winnow", |rng, n| {
        Hypothesis::Winnow(WinnowWeights::new(
            base("2"),
            decimal("3.5"),
            n,
            exponents(rng, n, 3),
        ))
    }),
    ("Winnow beyond 64 bits", |rng, n| {
        let theta = decimal("100.25");
        Hypothesis::Winnow(WinnowWeights::new(
            base("1.1"),
            theta,
            n,
            exponents(rng, 2 * n, 40),
        ))
    }),
    ("monotone conjunctions", |rng, n| {
        expansion(rng, n, Conjunctions::Monotone, None)
    }),
    ("all conjunctions", |rng, n| {
        expansion(rng, n, Conjunctions::All, None)
    }),
    ("two literals", |rng, n| {
        expansion(rng, n, Conjunctions::All, Some(2))
    }),
    ("monomials", |rng, n| monomials(rng, n, None)),
    ("monomials of two", |rng, n| monomials(rng, n, Some(2))),
    ("real weights", |rng, n| {
        let weights = RealWeights::new(Some(Reading::Signed), reals(rng, n), Some(0.1));
        Hypothesis::Linear(LinearWeights::Real(weights))
    }),
    ("bounded weights", |rng, n| {
        let weights = reals(rng, n).into_iter().map(f64::abs).collect();
        Hypothesis::Bounded(BoundedWeights::new(weights, 0.3, 0.05))
    }),
];

/// A predictor of so many members that gives two labels or more to at least a hundredth of the rows each, with the
/// labels.
fn balanced(make: Make, members: usize, held: &Parsed) -> (Predictor, Vec<usize>) {
    let of_seed = |seed| {
        let rng = &mut StdRng::seed_from_u64(seed);
        let mut own: Vec<Hypothesis> = (0..members).map(|_| make(rng, held.data.n())).collect();
        let predictor = match members {
            1 => own.remove(0).into(),
            _ => Predictor::committee(own).expect("members of one kind"),
        };
        let labels = labels_of(&predictor, held);
        (predictor, labels)
    };
    let is_balanced = |(_, labels): &(_, Vec<usize>)| {
        let count = |class| labels.iter().filter(|&&label| label == class).count();
        let often = (0..members.max(2)).filter(|&class| count(class) >= ROWS / 100);
        often.count() >= 2
    };
    (0..100)
        .map(of_seed)
        .find(is_balanced)
        .expect("one of a hundred")
}

/// A directory that is removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("halfspace-programs-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    fn with(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a command with this input. None if the machine lacks the program.
fn run(command: &mut Command, input: &str) -> Option<Output> {
    let pipes = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match pipes.spawn() {
        Ok(child) => child,
        Err(_) => {
            skipped(format_args!("{command:?} does not start"));
            return None;
        }
    };
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let fed = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("an end");
    let _ = fed.join();
    Some(output)
}

/// Runs a command that must succeed, and returns the lines.
fn lines(command: &mut Command, input: &str) -> Option<Vec<String>> {
    let output = run(command, input)?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {told}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Some(text.lines().map(str::to_owned).collect())
}

/// Compiles a program that reads CSV and returns the command that runs it. None if the machine lacks the compiler.
fn command(language: Language, place: &Place, source: &str) -> Option<Command> {
    let file = place.with(&format!("model.{}", language.file_extension()), source);
    let binary = place.0.join("model");
    let (compiler, options): (_, &[&str]) = match language {
        Language::C => ("cc", &["-std=c99", "-Wall", "-Wextra", "-Werror"]),
        Language::Rust => (
            "rustc",
            &["--edition", "2021", "-D", "warnings", "-A", "dead_code"],
        ),
        _ => {
            let mut python = Command::new("python3");
            python.arg(file);
            return Some(python);
        }
    };
    let mut compiler = Command::new(compiler);
    lines(compiler.args(options).arg("-o").arg(&binary).arg(&file), "")?;
    Some(Command::new(binary))
}

const SQLITE: &str = "import csv, sqlite3, sys\n\
    rows = list(csv.reader(open(sys.argv[1], encoding='utf-8')))\n\
    base = sqlite3.connect(':memory:')\n\
    name = lambda text: '\"' + text.replace('\"', '\"\"') + '\"'\n\
    base.execute('CREATE TABLE \"rows\" (' + ', '.join(map(name, rows[0])) + ')')\n\
    base.executemany('INSERT INTO \"rows\" VALUES (' + ', '.join('?' * len(rows[0])) + ')', rows[1:])\n\
    for row in base.execute(open(sys.argv[2], encoding='utf-8').read()):\n    print(row[-1])\n";

/// Runs a query over a table with the rows of a CSV file.
fn queried(language: Language, place: &Place, source: &str, csv: &str) -> Option<Vec<String>> {
    let (rows, query) = (place.with("rows.csv", csv), place.with("model.sql", source));
    if language == Language::Sqlite {
        let script = place.with("sqlite.py", SQLITE);
        return lines(Command::new("python3").arg(script).arg(rows).arg(query), "");
    }
    let Some(url) = std::env::var_os("HALFSPACE_TEST_POSTGRES") else {
        skipped("HALFSPACE_TEST_POSTGRES names no database");
        return None;
    };
    let header = csv.lines().next().expect("a header");
    let reader = csv::names(header);
    let columns: Vec<_> = reader
        .iter()
        .map(|name| format!("\"{}\"", name.replace('"', "\"\"")))
        .collect();
    let typed: Vec<_> = columns
        .iter()
        .map(|column| format!("{column} text"))
        .collect();
    let script = format!(
        "CREATE TEMP TABLE \"rows\" ({});\n\\copy \"rows\" FROM '{}' CSV HEADER\n\
         SELECT coalesce(predicted, 'None') FROM (\n{}) AS answers;\n",
        typed.join(", "),
        rows.display(),
        source.trim_end().trim_end_matches(';')
    );
    let script = place.with("script.sql", &script);
    let mut psql = Command::new("psql");
    lines(
        psql.arg(url)
            .args(["-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-f"])
            .arg(script),
        "",
    )
}

mod csv {
    /// The names of a header line.
    pub(super) fn names(line: &str) -> Vec<String> {
        let (mut names, mut name, mut is_quoted) = (Vec::new(), String::new(), false);
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' if is_quoted && characters.peek() == Some(&'"') => {
                    name.extend(characters.next())
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => names.push(std::mem::take(&mut name)),
                other => name.push(other),
            }
        }
        names.push(name);
        names
    }
}

/// The labels that a program gives to the rows of a CSV file. None if the machine lacks the engine.
fn answers(language: Language, place: &Place, source: &str, csv: &str) -> Option<Vec<String>> {
    match language {
        Language::Sqlite | Language::Postgresql => queried(language, place, source, csv),
        Language::Excel => calculated(place, source, csv),
        _ => lines(&mut command(language, place, source)?, csv),
    }
}

/// Calculates the formula in each row of a sheet with LibreOffice.
fn calculated(place: &Place, source: &str, csv: &str) -> Option<Vec<String>> {
    let formula = source.trim_end();
    let mut sheet = String::new();
    for (row, line) in csv.lines().enumerate() {
        let cell = match row {
            0 => "predicted".to_owned(),
            _ => format!("\"{}\"", of_row(formula, row + 1).replace('"', "\"\"")),
        };
        let _ = writeln!(sheet, "{line},{cell}");
    }
    let file = place.with("sheet.csv", &sheet);
    // 44 is the comma, 34 the quote, 76 UTF-8; formulas are evaluated.
    let output = place.0.join("out");
    let mut office = Command::new("soffice");
    office.args([
        "--headless",
        "--convert-to",
        "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1",
    ]);
    office.arg("--infilter=CSV:44,34,76,1,,0,false,false,false,false,true");
    lines(office.arg("--outdir").arg(&output).arg(file), "")?;
    let calculated = fs::read_dir(&output).ok()?.next()?.ok()?.path();
    let text = fs::read_to_string(calculated).expect("a sheet");
    let last = |line: &str| csv::names(line).pop().unwrap_or_default();
    Some(text.lines().skip(1).map(last).collect())
}

/// The formula of the second row for another row.
fn of_row(formula: &str, row: usize) -> String {
    let (mut moved, mut is_text) = (String::new(), false);
    let characters: Vec<char> = formula.chars().collect();
    for (at, &character) in characters.iter().enumerate() {
        is_text ^= character == '"';
        let is_reference = !is_text
            && character == '2'
            && at > 0
            && characters[at - 1].is_ascii_uppercase()
            && !characters.get(at + 1).is_some_and(char::is_ascii_digit)
            && !(at > 1 && characters[at - 2].is_ascii_digit());
        match is_reference {
            true => moved += &row.to_string(),
            false => moved.push(character),
        }
    }
    moved
}

/// Predicts the held rows with every hypothesis that the language can state. Returns the number of hypotheses.
fn predicts_every_row(language: Language, name: &str, is_real: bool) -> Vec<&'static str> {
    let (encoding, held, csv) = held_rows(is_real);
    let place = Place::new(name);
    let label = encoding.label.as_ref().expect("a label");
    let names = label.classes.clone().names().expect("two classes");
    let many = [
        "it's",
        "back\\slash?",
        "\"; DROP TABLE \"rows\"; --",
        "\u{e4}\u{1F600}",
    ];
    let many = many.map(str::to_owned).to_vec();
    let of_members = |members| {
        let kinds = KINDS
            .iter()
            .filter(|(kind, _)| !is_real || *kind == REALS[1]);
        kinds.map(move |kind| (members, *kind))
    };
    let mut stated = Vec::new();
    for (members, (kind, make)) in of_members(1).chain(of_members(many.len())) {
        let names = if members == 1 { &names } else { &many };
        let (predictor, expected) = balanced(make, members, &held);
        let program = Program {
            title: "a test",
            predictor: &predictor,
            rows: Rows::Table(&encoding),
            classes: Some(names),
        };
        let Ok(source) = program.source(language) else {
            continue;
        };
        let Some(labels) = answers(language, &place, &source, &csv) else {
            return vec!["skipped"];
        };
        assert_eq!(labels.len(), ROWS, "{kind}");
        for (row, (label, &class)) in labels.iter().zip(&expected).enumerate() {
            assert_eq!(*label, names[class], "{kind}, {members} members, row {row}");
        }
        stated.push(kind);
    }
    stated
}

const SUMS: [&str; 5] = [
    "binary weights",
    "signed weights",
    "ties",
    "large weights",
    "Winnow",
];
const KERNELS: [&str; 3] = ["monotone conjunctions", "all conjunctions", "two literals"];
const REALS: [&str; 2] = ["real weights", "bounded weights"];

fn is_skipped(stated: &[&str]) -> bool {
    stated == ["skipped"]
}

/// These kinds, alone and in committees.
fn twice(kinds: &[&'static str]) -> Vec<&'static str> {
    [kinds, kinds].concat()
}

#[test]
fn python_states_every_hypothesis() {
    let stated = predicts_every_row(Language::Python, "python", false);
    if !is_skipped(&stated) {
        assert_eq!(stated, twice(&KINDS.map(|(kind, _)| kind)));
    }
}

#[test]
fn postgresql_states_integral_hypotheses() {
    let stated = predicts_every_row(Language::Postgresql, "postgresql", false);
    if !is_skipped(&stated) {
        assert_eq!(
            stated,
            twice(&[&SUMS[..], &["Winnow beyond 64 bits"], &KERNELS].concat())
        );
    }
}

#[test]
fn sqlite_states_sums_of_64_bits() {
    let stated = predicts_every_row(Language::Sqlite, "sqlite", false);
    if !is_skipped(&stated) {
        assert_eq!(stated, twice(&[&SUMS[..], &KERNELS].concat()));
    }
}

#[test]
fn c_states_sums_of_64_bits_and_reals() {
    let stated = predicts_every_row(Language::C, "c", false);
    if !is_skipped(&stated) {
        assert_eq!(stated, twice(&[&SUMS[..], &KERNELS, &REALS].concat()));
    }
}

#[test]
fn rust_states_sums_of_64_bits_and_reals() {
    let stated = predicts_every_row(Language::Rust, "rust", false);
    if !is_skipped(&stated) {
        assert_eq!(stated, twice(&[&SUMS[..], &KERNELS, &REALS].concat()));
    }
}

/// The long form: `scripts/programs`.
#[test]
#[ignore = "LibreOffice"]
fn excel_states_small_formulas() {
    let stated = predicts_every_row(Language::Excel, "excel", false);
    if !is_skipped(&stated) {
        // The formulas of four classes are shorter than a cell for these sums only, and large weights exceed 39 bits.
        let committees = SUMS.into_iter().filter(|kind| *kind != "large weights");
        let committees: Vec<_> = committees.collect();
        assert_eq!(stated, [&SUMS[..], &KERNELS[..1], &committees].concat());
    }
}

/// Columns of numbers stay numbers.
#[test]
fn programs_read_real_rows_like_the_service() {
    for language in [Language::Python, Language::C, Language::Rust] {
        let name = format!("real-{}", language.name());
        let stated = predicts_every_row(language, &name, true);
        assert!(
            is_skipped(&stated) || stated == twice(&REALS[1..]),
            "{stated:?}"
        );
    }
}

/// A cell that the service refuses gives no label, and the other rows keep theirs where the language allows.
#[test]
fn programs_give_refused_cells_no_label() {
    let (encoding, held, _) = held_rows(false);
    let header = "wet,\"the \"\"colour\"\"'s \\name\",\"Size, in cm\",sign\n";
    let of_members = |members| [KINDS[1], KINDS[6]].map(|kind| (members, kind));
    for (members, (name, make)) in [of_members(1), of_members(3)].concat() {
        let (predictor, _) = balanced(make, members, &held);
        let program = Program {
            title: "a test",
            predictor: &predictor,
            rows: Rows::Table(&encoding),
            classes: None,
        };
        for row in [
            "yes,green,1,1",
            "yes,red,1e400,1",
            "maybe,red,1,1",
            "yes,red,wide,1",
            "yes,red,1,2",
            "yes,red,1,",
        ] {
            let csv = format!("{header}yes,red,1,1\n{row}\n");
            for language in Language::ALL {
                let place = Place::new(&format!("refused-{}", language.name()));
                let Ok(source) = program.source(language) else {
                    continue;
                };
                if matches!(language, Language::Sqlite | Language::Postgresql) {
                    let Some(labels) = queried(language, &place, &source, &csv) else {
                        continue;
                    };
                    assert_ne!(labels[0], "None", "{name}: {labels:?}");
                    assert_eq!(labels[1], "None", "{name}: {row}");
                } else if language != Language::Excel {
                    let Some(mut command) = command(language, &place, &source) else {
                        continue;
                    };
                    let output = run(&mut command, &csv).expect("a compiled program starts");
                    let told = String::from_utf8_lossy(&output.stderr).into_owned();
                    assert!(
                        !output.status.success() && told.contains("row 2"),
                        "{name}: {row}: {told}"
                    );
                }
            }
        }
    }
}

/// A program of one nominal column with the values x and y and a feature for a missing cell.
fn of_one_column(language: Language, classes: &[String; 2]) -> Result<String, NoProgram> {
    let values = ["x", "y"].map(str::to_owned).to_vec();
    let columns = vec![StatedColumn {
        name: "a".to_owned(),
        kind: ColumnKind::Nominal { values },
        missing: true,
        scale: None,
        fill: None,
    }];
    let table = TableEncoding::stated(columns, None).expect("a column");
    // Only the missing cell is negative.
    let weights = IntegerWeights::new(Reading::Unsigned, vec![1, 1, -1], None);
    let predictor = Hypothesis::Linear(LinearWeights::Integer(weights)).into();
    let program = Program {
        title: "a test",
        predictor: &predictor,
        rows: Rows::Table(&table),
        classes: Some(classes),
    };
    program.source(language)
}

#[test]
fn programs_fail_on_broken_rows_and_label_quoted_empty_cells() {
    let classes = ["no", "yes"].map(str::to_owned);
    for language in [Language::Python, Language::C, Language::Rust] {
        let place = Place::new(&format!("rows-{}", language.name()));
        let source = of_one_column(language, &classes).expect("a program");
        let Some(mut program) = command(language, &place, &source) else {
            continue;
        };
        for csv in [
            "a\nx\n\"\"\ny",
            "\u{feff}a\r\n\r\nx\r\n\"\"\r\n \t\r\ny\r\n\n",
            "\n\"a\"\n\" x\"\n\" \"\n y \n",
        ] {
            let labels = lines(&mut program, csv).expect("a program");
            assert_eq!(labels, ["yes", "no", "yes"], "{language:?}: {csv:?}");
        }
        let long = format!("a,b\n{},x\n", "y".repeat(200_000));
        let long_other = format!("b,a\n{},x\n", "y".repeat(200_000));
        assert_eq!(
            lines(&mut program, &long_other).expect("a program"),
            ["yes"]
        );
        for csv in [
            "a\n\"x\ny\n",
            "a,a\nx,y\n",
            "a,b\nx,1,2\n",
            "a,b\nx\n",
            "b\nx\n",
            "a\nx\0\n",
            "a\nx\n\0\ny",
            &long,
        ] {
            let output = run(&mut program, csv).expect("a program");
            let shown: String = csv.chars().take(20).collect();
            assert!(
                !output.status.success() && !output.stderr.is_empty(),
                "{language:?}: {shown:?}"
            );
        }
    }
}

#[test]
fn excel_takes_no_text_that_leaves_its_cell() {
    for class in ["a\nb", "a\tb", "a\r", "\u{7}", "\u{85}", "\u{2028}"] {
        let classes = ["no".to_owned(), class.to_owned()];
        let refused = of_one_column(Language::Excel, &classes).expect_err("no text");
        assert!(
            refused.to_string().contains("no control characters"),
            "{refused}"
        );
    }
    let classes = ["=1+1".to_owned(), "\"&A1&\"".to_owned()];
    let formula = of_one_column(Language::Excel, &classes).expect("a formula");
    assert!(
        formula.ends_with(">=0,\"\"\"&A1&\"\"\",\"=1+1\")\n"),
        "{formula}"
    );
}

#[test]
fn sql_programs_refuse_names_that_a_database_confuses() {
    let of_names = |language, names: &[&str]| {
        let column = |name: &&str| StatedColumn {
            name: (*name).to_owned(),
            kind: ColumnKind::Boolean {
                values: ["0", "1"].map(str::to_owned),
            },
            missing: false,
            scale: None,
            fill: None,
        };
        let table =
            TableEncoding::stated(names.iter().map(column).collect(), None).expect("columns");
        let predictor = Hypothesis::BinaryWeights(BitVector::zeros(names.len())).into();
        let program = Program {
            title: "a test",
            predictor: &predictor,
            rows: Rows::Table(&table),
            classes: None,
        };
        program
            .source(language)
            .map_err(|refusal| refusal.to_string())
    };
    let refused = of_names(Language::Sqlite, &["a", "A"]).expect_err("one name");
    assert!(refused.contains("only in case"), "{refused}");
    of_names(Language::Postgresql, &["a", "A"]).expect("two names");
    let long = "\u{e4}".repeat(32);
    let refused = of_names(Language::Postgresql, &[&long]).expect_err("64 bytes");
    assert!(refused.contains("63 bytes"), "{refused}");
    of_names(Language::Sqlite, &[&long]).expect("a name");
}

/// Python reads decimal numbers of at most 4,300 digits.
#[test]
fn python_states_numbers_of_any_length() {
    let n = 16_000;
    let mut expansion =
        KernelExpansion::new(Kernel::new(n, Conjunctions::All, None).expect("a kernel"));
    let example = BitVector::zeros(n);
    expansion
        .push(RowBits::Packed(example.words()), false)
        .expect("room");
    let predictor = Hypothesis::Kernel(expansion).into();
    let program = Program {
        title: "a test",
        predictor: &predictor,
        rows: Rows::Numbers(None),
        classes: None,
    };
    let refused = program
        .source(Language::Python)
        .expect_err("128 million bits");
    assert!(refused.to_string().contains("16777216 bytes"), "{refused}");
    let theta = decimal(&format!("1{}", "0".repeat(5_000)));
    let weights = KernelWinnowWeights::new(base("1.5"), theta, 2, 2);
    let predictor = Hypothesis::KernelWinnow(weights).into();
    let program = Program {
        predictor: &predictor,
        ..program
    };
    let source = program.source(Language::Python).expect("a program");
    let place = Place::new("long-numbers");
    if let Some(mut program) = command(Language::Python, &place, &source) {
        assert_eq!(lines(&mut program, "1,1\n").expect("a program"), ["-1"]);
    }
}

proptest::proptest! {
    /// Names and values of any text stay inside their literals: the query has one statement and gives one label.
    #[test]
    fn programs_keep_names_and_values_within_their_literals(name in "[^\\r\\n\\x00]{1,8}", value in "[^\\x00]{1,8}") {
        let kind = ColumnKind::Nominal { values: vec![value.clone(), "other".to_owned()] };
        let columns = vec![StatedColumn { name, kind, missing: false, scale: None, fill: None }];
        let table = TableEncoding::stated(columns, None);
        proptest::prop_assume!(table.is_ok());
        let table = table.expect("assumed");
        let predictor = Hypothesis::BinaryWeights(BitVector::zeros(2)).into();
        let program = Program {
            title: "a test", predictor: &predictor, rows: Rows::Table(&table), classes: None,
        };
        let sql = program.source(Language::Sqlite).expect("small weights");
        let (mut quote, mut statements) = (None, 0);
        for character in sql.chars() {
            match quote {
                Some(open) if open == character => quote = None,
                None if character == '\'' || character == '"' => quote = Some(character),
                None => statements += usize::from(character == ';'),
                Some(_) => {}
            }
        }
        proptest::prop_assert_eq!(statements, 1);
        let c = program.source(Language::C).expect("small weights");
        proptest::prop_assert!(c.is_ascii());
    }
}
