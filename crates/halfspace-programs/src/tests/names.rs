//! Programs over names, beside the decisions of the service on examples with names that a model knows and with others.

use halfspace_formats::Vocabulary;
use rand::seq::IndexedRandom;
use serde_json::{Map, json};

use super::*;

const EXAMPLES: usize = 400;

/// Names that need care in some language.
const ODD: [&str; 14] = [
    "the",
    " the",
    "The",
    "the ",
    "it's \"x\"",
    "back\\slash??/",
    "a,b",
    "two\nlines",
    "\u{e4}\u{1F600}",
    "e\u{301}",
    "\u{e9}",
    "0",
    "w=[x],{y}",
    "'); DROP TABLE \"rows\"; --",
];

/// Examples as lines of NDJSON, and as the lines of a program.
struct Named {
    ndjson: String,
    csv: String,
}

/// Examples of known and of unknown names. Those of presence have no values but 1 and 0.
fn drawn(rng: &mut StdRng, known: &[String], is_presence: bool) -> Named {
    let (mut ndjson, mut csv) = (String::new(), "row,name,value\n".to_owned());
    for row in 0..EXAMPLES {
        let mut x = Map::new();
        for _ in 0..rng.random_range(0..8) {
            let name = match rng.random_ratio(1, 4) {
                true => format!("unknown {}", rng.random_range(0..9)),
                false => known.choose(rng).expect("names").clone(),
            };
            let value = match (rng.random_range(0..6), is_presence) {
                (0, _) => json!(0),
                (1..=3, false) => json!(rng.random_range(-2.0..2.0)),
                _ => json!(1),
            };
            x.insert(name, value);
        }
        if x.is_empty() {
            let _ = writeln!(csv, "{row},,");
        }
        for (name, value) in &x {
            let name = name.replace('"', "\"\"");
            let value = match *value == json!(1) && rng.random() {
                true => String::new(),
                false => value.to_string(),
            };
            let _ = writeln!(csv, "{row},\"{name}\",{value}");
        }
        let _ = writeln!(ndjson, "{}", json!({ "x": x }));
    }
    Named { ndjson, csv }
}

/// The codes of the classes that the service predicts.
fn predicted(predictor: &Predictor, names: &Vocabulary, ndjson: &str) -> Vec<usize> {
    let options = Options {
        open_vocabulary: true,
        unlabelled: halfspace_formats::UnlabelledMeans::Nothing,
        ..Options::default()
    };
    let parsed = halfspace_formats::parse(Format::Ndjson, ndjson.as_bytes(), &options);
    let parsed = parsed.expect("examples");
    let given = parsed.vocabulary.as_ref().expect("names");
    let data = names.renumbering(given).of(&parsed.data).expect("memory");
    labels_of(predictor, &Parsed { data, ..parsed })
}

const NAMED_KINDS: [(&str, Make); 11] = [
    ("weights", |rng, n| {
        integers(rng, Reading::Unsigned, n, 9, Some(-2))
    }),
    ("ties", |rng, n| {
        integers(rng, Reading::Unsigned, n, 1, None)
    }),
    ("Winnow", |rng, n| {
        let exponents = exponents(rng, n, 3);
        Hypothesis::Winnow(WinnowWeights::new(base("2"), decimal("3.5"), n, exponents))
    }),
    ("Winnow beyond 64 bits", |rng, n| {
        let exponents = exponents(rng, n, 40);
        Hypothesis::Winnow(WinnowWeights::new(
            base("1.1"),
            decimal("4.25"),
            n,
            exponents,
        ))
    }),
    ("conjunctions", |rng, n| few(rng, n, None)),
    ("two literals", |rng, n| few(rng, n, Some(2))),
    ("monomials", |rng, n| monomials(rng, n, false)),
    ("real weights of bits", |rng, n| {
        let weights = RealWeights::new(Some(Reading::Unsigned), reals(rng, n), Some(0.1));
        Hypothesis::Linear(LinearWeights::Real(weights))
    }),
    ("real weights", |rng, n| {
        let weights = RealWeights::new(None, reals(rng, n), Some(-0.1));
        Hypothesis::Linear(LinearWeights::Real(weights))
    }),
    ("closed Winnow", |rng, n| {
        let exponents = exponents(rng, n, 3);
        let weights = WinnowWeights::new(base("2"), decimal("3.5"), n, exponents);
        Hypothesis::Winnow(weights.closed(true))
    }),
    ("closed monomials", |rng, n| monomials(rng, n, true)),
];

/// One to three features.
fn some(rng: &mut StdRng, n: usize) -> Vec<u32> {
    let mut some: Vec<u32> = (0..rng.random_range(1..4))
        .map(|_| rng.random_range(0..n as u32))
        .collect();
    some.sort_unstable();
    some.dedup();
    some
}

/// The weights of monomials of few features.
fn monomials(rng: &mut StdRng, n: usize, is_closed: bool) -> Hypothesis {
    let weights = KernelWinnowWeights::new(base("2"), decimal("6.5"), n, 14);
    let mut weights = weights.closed(is_closed);
    for _ in 0..12 {
        let active = some(rng, n);
        weights
            .add(&active, rng.random_range(-2..=2))
            .expect("room");
    }
    Hypothesis::KernelWinnow(weights)
}

/// Monotone conjunctions of few features.
fn few(rng: &mut StdRng, n: usize, literals: Option<u64>) -> Hypothesis {
    let kernel = Kernel::new(n, Conjunctions::Monotone, literals).expect("small");
    let mut expansion = KernelExpansion::new(kernel);
    for _ in 0..40 {
        let ones = some(rng, n);
        expansion
            .push(RowBits::Listed(&ones), rng.random())
            .expect("room");
    }
    Hypothesis::Kernel(expansion)
}

/// The names that a model knows.
fn known() -> Vec<String> {
    let mut names: Vec<String> = ODD.map(str::to_owned).to_vec();
    names.extend((0..26).map(|at| format!("w{at}")));
    names.sort_unstable();
    names
}

/// The labels of a program in the order of the rows. None if the machine lacks the engine.
fn named_answers(
    language: Language,
    place: &Place,
    source: &str,
    csv: &str,
) -> Option<Vec<String>> {
    match language {
        Language::Sqlite => {
            let (rows, query) = (place.with("rows.csv", csv), place.with("model.sql", source));
            let script = place.with("sqlite.py", NAMES_IN_SQLITE);
            lines(Command::new("python3").arg(script).arg(rows).arg(query), "")
        }
        Language::Postgresql => {
            let Some(url) = std::env::var_os("HALFSPACE_TEST_POSTGRES") else {
                skipped("HALFSPACE_TEST_POSTGRES names no database");
                return None;
            };
            let script = format!(
                "CREATE TEMP TABLE \"rows\" (\"row\" integer, name text, value double precision);\n\
                 \\copy \"rows\" FROM '{}' CSV HEADER\n\
                 SELECT coalesce(predicted, 'None') FROM (\n{}) AS answers ORDER BY \"row\";\n",
                place.with("rows.csv", csv).display(),
                source.trim_end().trim_end_matches(';')
            );
            let script = place.with("script.sql", &script);
            let mut psql = Command::new("psql");
            psql.arg(url)
                .args(["-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-f"]);
            lines(psql.arg(script), "")
        }
        _ => lines(&mut command(language, place, source)?, csv),
    }
}

const NAMES_IN_SQLITE: &str = "import csv, sqlite3, sys\n\
    rows = list(csv.reader(open(sys.argv[1], encoding='utf-8', newline='')))\n\
    base = sqlite3.connect(':memory:')\n\
    base.execute('CREATE TABLE \"rows\" (\"row\" INTEGER, name TEXT COLLATE NOCASE, value REAL)')\n\
    given = [(row, name or None, value or None) for row, name, value in rows[1:]]\n\
    base.executemany('INSERT INTO \"rows\" VALUES (?, ?, ?)', given)\n\
    query = open(sys.argv[2], encoding='utf-8', newline='').read().rstrip().rstrip(';')\n\
    for row in base.execute('SELECT * FROM (' + query + ') ORDER BY 1'):\n    print(row[1])\n";

/// Labels examples with every hypothesis that the language can state. Returns the kinds.
fn labels_every_example(language: Language) -> Vec<&'static str> {
    let rng = &mut StdRng::seed_from_u64(3);
    let names = known();
    let vocabulary = Vocabulary::of_names(names.iter().map(String::as_str)).expect("names");
    let place = Place::new(&format!("names-{}", language.name()));
    let many = ["it's", "back\\slash?", "\u{e4}\u{1F600}"]
        .map(str::to_owned)
        .to_vec();
    let mut stated = Vec::new();
    for (kind, make) in NAMED_KINDS {
        let examples = drawn(rng, &names, kind != "real weights");
        for classes in [&many[..2], &many] {
            let mut own: Vec<Hypothesis> = (0..if classes.len() > 2 { 3 } else { 1 })
                .map(|_| make(rng, names.len()))
                .collect();
            let predictor = match own.len() {
                1 => own.remove(0).into(),
                _ => Predictor::committee(own).expect("members of one kind"),
            };
            let program = Program {
                title: "a test",
                predictor: &predictor,
                rows: Rows::Names(&vocabulary),
                classes: Some(classes),
            };
            let Ok(source) = program.source(language) else {
                continue;
            };
            let Some(labels) = named_answers(language, &place, &source, &examples.csv) else {
                return vec!["skipped"];
            };
            let expected = predicted(&predictor, &vocabulary, &examples.ndjson);
            let mut of_each = expected.clone();
            of_each.sort_unstable();
            of_each.dedup();
            assert!(of_each.len() > 1, "{kind}: one class");
            assert_eq!(labels.len(), EXAMPLES, "{kind}");
            for (row, (label, &class)) in labels.iter().zip(&expected).enumerate() {
                assert_eq!(*label, classes[class], "{kind}, row {row}");
            }
            stated.push(kind);
        }
    }
    stated.dedup();
    stated
}

const NAMED_SUMS: [&str; 3] = ["weights", "ties", "Winnow"];
const NAMED_KERNELS: [&str; 2] = ["conjunctions", "two literals"];
const NAMED_REALS: [&str; 2] = ["real weights of bits", "real weights"];
const NAMED_CLOSED: [&str; 1] = ["closed Winnow"];

fn expect(language: Language, kinds: &[&[&'static str]]) {
    let stated = labels_every_example(language);
    if !is_skipped(&stated) {
        assert_eq!(stated, kinds.concat());
    }
}

#[test]
fn python_states_every_hypothesis_over_names() {
    expect(Language::Python, &[&NAMED_KINDS.map(|(kind, _)| kind)]);
}

#[test]
fn c_and_rust_state_sums_kernels_and_reals_over_names() {
    for language in [Language::C, Language::Rust] {
        expect(
            language,
            &[&NAMED_SUMS, &NAMED_KERNELS, &NAMED_REALS, &NAMED_CLOSED],
        );
    }
}

#[test]
fn databases_state_integral_hypotheses_over_names() {
    expect(
        Language::Sqlite,
        &[&NAMED_SUMS, &NAMED_KERNELS, &NAMED_CLOSED],
    );
    let beyond = ["Winnow beyond 64 bits"];
    expect(
        Language::Postgresql,
        &[&NAMED_SUMS, &beyond, &NAMED_KERNELS, &NAMED_CLOSED],
    );
}

/// A program of the names a and b, and the same for a model that knows no name.
fn of_names(language: Language, names: &[&str]) -> Result<String, NoProgram> {
    let vocabulary = Vocabulary::of_names(names.iter().copied()).expect("names");
    let weights = match names.len() {
        0 => vec![0],
        count => (0..count).map(|at| [1, -2][at % 2]).collect(),
    };
    let weights = IntegerWeights::new(Reading::Unsigned, weights, None);
    let predictor = Hypothesis::Linear(LinearWeights::Integer(weights)).into();
    let program = Program {
        title: "a test",
        predictor: &predictor,
        rows: Rows::Names(&vocabulary),
        classes: None,
    };
    program.source(language)
}

#[test]
fn programs_over_names_refuse_what_the_service_refuses() {
    for language in [Language::Python, Language::C, Language::Rust] {
        let place = Place::new(&format!("refused-names-{}", language.name()));
        let source = of_names(language, &["a", "b"]).expect("a program");
        let Some(mut program) = command(language, &place, &source) else {
            continue;
        };
        let accepted = "\u{feff}row,name,value\r\n1,a,\r\n1,a,1.0\r\n1,c,1\r\n\r\n2,\"b\",+1e0\r\n3,,\r\n\
                        2,a,0\r\n2,b,1\r\n";
        let labels = lines(&mut program, accepted).expect("a program");
        assert_eq!(labels, ["1", "-1", "1", "-1"], "{language:?}");
        for refused in [
            "row,value,name\n1,1,a\n",
            "row,name\n1,a\n",
            "row,name,value\n1,a\n",
            "row,name,value\n1,a,2\n",
            "row,name,value\n1,c,0.5\n",
            "row,name,value\n1,a,one\n",
            "row,name,value\n1,a,1e999\n",
            "row,name,value\n1,a,1\n1,a,0\n",
            "row,name,value\n1,\"a,1\n",
        ] {
            let output = run(&mut program, refused).expect("a program");
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{language:?}: {refused:?}");
            assert!(!told.is_empty(), "{language:?}: {refused:?}");
        }
        assert!(lines(&mut program, "").expect("a program").is_empty());
    }
    for language in [Language::Sqlite, Language::Postgresql] {
        let place = Place::new(&format!("refused-names-{}", language.name()));
        let source = of_names(language, &["a", "b"]).expect("a program");
        let csv = "row,name,value\n1,a,\n1,c,1\n2,b,1\n2,b,1\n3,,\n4,a,2\n5,a,1\n5,a,0\n6,c,0.5\n";
        let Some(labels) = named_answers(language, &place, &source, csv) else {
            continue;
        };
        assert_eq!(labels, ["1", "-1", "1", "None", "None", "None"]);
    }
}

#[test]
fn programs_of_models_without_names_label_any_example() {
    for language in [
        Language::Python,
        Language::C,
        Language::Rust,
        Language::Sqlite,
        Language::Postgresql,
    ] {
        let place = Place::new(&format!("no-names-{}", language.name()));
        let source = of_names(language, &[]).expect("a program");
        let csv = "row,name,value\n1,a,1\n2,,\n";
        if let Some(labels) = named_answers(language, &place, &source, csv) {
            assert_eq!(labels, ["1", "1"], "{language:?}");
        }
    }
}

#[test]
fn formulas_read_no_names_and_c_none_with_a_zero_byte() {
    let refused = of_names(Language::Excel, &["a"]).expect_err("no formula");
    assert!(refused.to_string().contains("number of names"), "{refused}");
    let refused = of_names(Language::C, &["a\0b"]).expect_err("no program");
    assert!(refused.to_string().contains("U+0000"), "{refused}");
    of_names(Language::Python, &["a\0b"]).expect("a program");
}
