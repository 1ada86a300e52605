//! Tests of tables whose columns give names: the same examples as from NDJSON, one kind per column, and rows that are
//! read by the kinds of an earlier table.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::corpus::previewed;
use super::workbooks::Book;
use super::*;
use crate::{NdjsonPortions, TableEncoding};

/// Options as a query states them, with an open vocabulary.
fn open(query: &str) -> Options {
    Options {
        open_vocabulary: true,
        ..options(query)
    }
}

fn named(format: Format, body: impl AsRef<[u8]>, options: &Options) -> Parsed {
    parse(format, body.as_ref(), options).unwrap_or_else(|error| panic!("{format:?}: {error}"))
}

/// The names and values of each row.
fn rows_of(parsed: &Parsed) -> Value {
    let Features::Sparse(rows) = parsed.data.features() else {
        panic!("sparse rows");
    };
    let names: Vec<&str> = parsed.vocabulary.as_ref().expect("names").names().collect();
    let row = |row: usize| {
        let entries = rows.row(row).entries();
        let entries = entries.map(|(id, value)| (names[id].to_owned(), json!(value)));
        Value::Object(entries.collect())
    };
    (0..rows.rows()).map(row).collect()
}

/// The columns of an encoding with their kinds.
fn kinds_of(parsed: &Parsed) -> Vec<(String, String)> {
    let columns = &parsed.table.as_ref().expect("a table").columns;
    let kind = |column| {
        serde_json::to_value(column).unwrap()["cells"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    columns
        .iter()
        .map(|column| (column.name.clone(), kind(column)))
        .collect()
}

/// The options of a prediction by a model that learnt from this table.
fn read_by(trained: &Parsed) -> Options {
    let mut options = open("labels=none");
    options.unlabelled = UnlabelledMeans::Nothing;
    options.table.encoding = trained.table.clone();
    options
}

const NDJSON: &str = "{\"x\":{\"odor\":\"a=b\",\"size\":2.5,\"wet\":true,\"zip\":\"007\"},\"y\":\"p\"}\n\
    {\"x\":{\"odor\":\"none\",\"wet\":false,\"zip\":\"10115\"},\"y\":\"e\"}\n\
    {\"x\":{\"odor\":\"none\",\"size\":1,\"zip\":\"007\"},\"y\":\"q\"}\n";

#[test]
fn tables_give_the_same_examples_as_objects_of_ndjson() {
    let rows = r#"[{"odor": "a=b", "size": 2.5, "wet": true, "zip": "007", "y": "p"},
        {"odor": "none", "size": null, "wet": false, "zip": 10115, "y": "e"},
        {"odor": "none", "size": 1, "zip": "007", "y": "q"}]"#;
    let lines: Vec<Value> = serde_json::from_str(rows).unwrap();
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let csv = "y,odor,size,wet,zip\np,a=b,2.5,true,007\ne,none,?,FALSE,10115\nq,none,1,,007\n";
    let cells = [
        vec!["odor", "size", "wet", "zip", "y"],
        vec!["a=b", "2.5", "true", "007", "p"],
        vec!["none", "", "false", "10115", "e"],
        vec!["none", "1", "", "007", "q"],
    ];
    let number = |text: &str| format!("<c><v>{text}</v></c>");
    let text = |text: &str| format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>");
    let sheet: String = cells
        .iter()
        .enumerate()
        .map(|(index, cells)| {
            let cell = |(at, cell): (usize, &&str)| match (index, at, *cell) {
                (_, _, "") => "<c/>".to_owned(),
                (1.., 1, cell) => number(cell),
                (1.., 2, cell) => format!("<c t=\"b\"><v>{}</v></c>", u8::from(cell == "true")),
                (_, _, cell) => text(cell),
            };
            let cells: String = cells.iter().enumerate().map(cell).collect();
            format!("<row>{cells}</row>")
        })
        .collect();
    let arff = "@relation r\n@attribute odor {'a=b',none}\n@attribute size numeric\n@attribute wet {true,false}\n\
        @attribute zip {007,10115}\n@attribute y {p,e,q}\n@data\n'a=b',2.5,true,007,p\nnone,?,false,10115,e\n\
        none,1,?,007,q\n";
    let sparse = "@relation r\n@attribute odor {none,'a=b'}\n@attribute size numeric\n@attribute wet {false,true}\n\
        @attribute zip {007,10115}\n@attribute y {p,e,q}\n@data\n{0 'a=b', 1 2.5, 2 true, 4 p}\n\
        {1 ?, 3 10115, 4 e}\n{1 1, 2 ?, 4 q}\n";
    let own = named(Format::Ndjson, NDJSON, &open(""));
    let zip = "kinds=zip:nominal";
    let wet = "kinds=zip:nominal,wet:boolean";
    for (format, body, query) in [
        (Format::Csv, csv.as_bytes().to_vec(), zip),
        (Format::Tsv, csv.replace(',', "\t").into_bytes(), zip),
        (
            Format::Csv,
            csv.replace(',', ";").replace("2.5", "2,5").into_bytes(),
            "kinds=zip:nominal&decimal=,",
        ),
        (Format::Json, rows.as_bytes().to_vec(), zip),
        (
            Format::Json,
            format!("{{\"rows\": {rows}}}").into_bytes(),
            zip,
        ),
        (Format::Ndjson, lines.into_bytes(), zip),
        (Format::Xlsx, Book::of(&sheet).bytes(), zip),
        (Format::Arff, arff.as_bytes().to_vec(), wet),
        (Format::Arff, sparse.as_bytes().to_vec(), wet),
    ] {
        let parsed = named(format, &body, &open(query));
        assert_eq!(rows_of(&parsed), rows_of(&own), "{format:?}");
        assert_eq!(parsed.digest(), own.digest(), "{format:?}");
        assert_eq!(
            (&parsed.data, &parsed.vocabulary),
            (&own.data, &own.vocabulary)
        );
        let kinds = [
            ("odor", "nominal"),
            ("size", "number"),
            ("wet", "boolean"),
            ("zip", "nominal"),
        ];
        let kinds = kinds.map(|(name, kind)| (name.to_owned(), kind.to_owned()));
        assert_eq!(kinds_of(&parsed), kinds, "{format:?}");
        let table = parsed.table.as_ref().unwrap();
        let missing = serde_json::to_value(&table.missing).unwrap();
        assert_eq!(missing["treatment"], "absent");
        assert_eq!(missing["cells"], 2, "{format:?}");
        assert_eq!(table.check(None), Ok(()));
        assert!(table.check(Some(0)).is_err());
    }
    let libsvm =
        "p odor=a=b size:2.5 wet zip=007\ne odor=none zip=10115\nq odor=none size:1 zip=007\n";
    assert_eq!(
        named(Format::Libsvm, libsvm, &open("")).digest(),
        own.digest()
    );
}

/// What a sparse row of ARFF leaves out is its first value, also where the request takes the words for a bit.
#[test]
fn values_that_sparse_rows_leave_out_give_their_names() {
    let head = "@relation r\n@attribute word {0,1}\n@attribute old {yes,no}\n@attribute size {5,7}\n\
        @attribute colour {red,blue}\n@attribute y {a,b}\n@data\n";
    let options = open("kinds=old:boolean,size:number");
    for body in [
        "1,no,7,blue,a\n0,yes,5,red,b\n1,yes,5,red,b\n",
        "{0 1,1 no,2 7,3 blue}\n{4 b}\n{0 1,4 b}\n",
    ] {
        let parsed = named(Format::Arff, format!("{head}{body}"), &options);
        let expected = json!([
            {"word": 1.0, "size": 7.0, "colour=blue": 1.0},
            {"old": 1.0, "size": 5.0, "colour=red": 1.0},
            {"word": 1.0, "old": 1.0, "size": 5.0, "colour=red": 1.0}
        ]);
        assert_eq!(rows_of(&parsed), expected);
    }
    // A value that the kind cannot hold is refused there, too.
    let body = format!("{head}{{0 1}}\n");
    let error = parse(Format::Arff, body.as_bytes(), &open("kinds=colour:number"));
    let error = error.map(|parsed| parsed.data).expect_err("a word");
    assert!(error.detail.contains("`colour`"), "{error}");
}

#[test]
fn a_column_may_have_any_number_of_words() {
    let body: String = (0..70_000)
        .map(|row| format!("w{},{}\n", row % 65_000, row % 2))
        .collect();
    let body = format!("word,label\n{body}");
    assert!(parse(Format::Csv, body.as_bytes(), &Options::default()).is_err());
    let parsed = named(Format::Csv, &body, &open(""));
    assert_eq!(parsed.vocabulary.unwrap().len(), 65_000);
    // All columns together have a limit.
    let mut options = open("");
    options.limits.names_max = 1_000;
    let error = parse(Format::Csv, body.as_bytes(), &options).expect_err("too many names");
    let limit = FormatErrorKind::TooLarge {
        limit: "names_max",
        value: 1_000,
    };
    assert_eq!((error.kind, error.place), (limit, Some(at(1_002, 1))));
}

#[test]
fn a_column_holds_words_or_numbers_in_any_order() {
    for (first, second) in [
        ("5more", "4"),
        ("4", "5more"),
        ("true", "maybe"),
        ("maybe", "true"),
        ("1", "true"),
    ] {
        let body = format!("doors,y\n{first},1\n{second},0\n");
        let error = parse(Format::Csv, body.as_bytes(), &open("")).expect_err("two kinds");
        assert_eq!(
            (&error.kind, &error.place),
            (&FormatErrorKind::TableOption, &Some(at(3, 1))),
            "{error}"
        );
        let told = ["kinds=", "missing_values=", "row 2", "row 1", second];
        assert!(
            told.iter().all(|told| error.detail.contains(told)),
            "{error}"
        );
        let words = named(Format::Csv, &body, &open("kinds=doors:nominal"));
        let expected = json!([{format!("doors={first}"): 1.0}, {format!("doors={second}"): 1.0}]);
        assert_eq!(rows_of(&words), expected);
        let missing = named(
            Format::Csv,
            &body,
            &open(&format!("missing_values={second}")),
        );
        assert_eq!(rows_of(&missing)[1], json!({}));
    }
}

#[test]
fn stated_kinds_hold_for_every_cell() {
    let body = "a,b,y\n1,yes,1\n0,no,0\n1,on,1\n";
    let parsed = named(Format::Csv, body, &open("kinds=a:boolean,b:boolean"));
    assert_eq!(
        rows_of(&parsed),
        json!([{"a": 1.0, "b": 1.0}, {}, {"a": 1.0, "b": 1.0}])
    );
    // By themselves they are words.
    assert_eq!(
        rows_of(&named(Format::Csv, body, &open("")))[1],
        json!({"b=no": 1.0})
    );
    let ignored = named(Format::Csv, body, &open("kinds=*:nominal,b:ignored"));
    assert_eq!(rows_of(&ignored)[1], json!({"a=0": 1.0}));
    for (query, column) in [("kinds=b:number", 3), ("kinds=a:boolean,b:number", 3)] {
        let error = parse(Format::Csv, body.as_bytes(), &open(query)).expect_err(query);
        assert_eq!(error.place, Some(at(2, column)), "{error}");
        assert!(
            error.detail.contains("`yes`") && error.detail.contains("kinds="),
            "{error}"
        );
    }
    let error = parse(
        Format::Csv,
        &b"a,y\n2,1\n1,0\n"[..],
        &open("kinds=a:boolean"),
    )
    .expect_err("no truth value");
    assert_eq!(error.place, Some(at(2, 1)), "{error}");
}

#[test]
fn one_row_is_read_by_the_kinds_of_the_training() {
    let trained = named(
        Format::Csv,
        "zip,size,wet,y\n10115,2,true,a\n20095,3,false,b\n",
        &open("kinds=zip:nominal"),
    );
    let options = read_by(&trained);
    let first = json!([{"size": 2.0, "wet": 1.0, "zip=10115": 1.0}]);
    for body in [
        "zip,size,wet,y\n10115,2,true,a\n",
        "size,zip,wet\n2,10115,true\n",
    ] {
        let parsed = named(Format::Csv, body, &options);
        assert_eq!(rows_of(&parsed), first);
        assert_eq!(parsed.data.labels(), &Labels::Unlabelled);
    }
    // A number alone in its column would be a number, and a column of the training may be absent.
    assert_eq!(
        rows_of(&named(Format::Csv, "zip\n10115\n", &options)),
        json!([{"zip=10115": 1.0}])
    );
    assert_eq!(
        rows_of(&named(Format::Csv, "zip\n10115\n", &open("labels=none"))),
        json!([{"zip": 10_115.0}])
    );
    assert_eq!(
        rows_of(&named(Format::Json, r#"[{"zip": 10115}]"#, &options)),
        json!([{"zip=10115": 1.0}])
    );
    // A further column gives further names.
    let parsed = named(Format::Csv, "zip,new\n10115,x\n", &options);
    assert_eq!(rows_of(&parsed), json!([{"new=x": 1.0, "zip=10115": 1.0}]));
    let error = parse(Format::Csv, &b"size\nbig\n"[..], &options).expect_err("a word");
    assert!(
        error.detail.contains("`unknown=zero`") && error.place == Some(at(2, 1)),
        "{error}"
    );
    let mut zero = options.clone();
    assert_eq!(zero.set("unknown", "zero"), Ok(true));
    assert_eq!(
        rows_of(&named(Format::Csv, "size,zip\nbig,1\n", &zero)),
        json!([{"zip=1": 1.0}])
    );
    // Lines of a stream are read by the same kinds, each by itself.
    let lines = "{\"zip\":10115}\n{\"wet\":true,\"size\":2}\n{\"size\":null}\n";
    let mut portions = NdjsonPortions::new(lines.as_bytes(), &options).expect("options");
    let mut seen = Vec::new();
    while seen.len() < 3 {
        portions.read(1).expect("good lines");
        let portion = portions.take().expect("memory").expect("an example");
        seen.push(rows_of(&portion.parsed)[0].clone());
    }
    assert_eq!(
        seen,
        [
            json!({"zip=10115": 1.0}),
            json!({"size": 2.0, "wet": 1.0}),
            json!({})
        ]
    );
}

#[test]
fn rows_without_names_are_read_by_position() {
    let trained = named(
        Format::Csv,
        "a,1,x\nb,2,z\n",
        &open("labels=first&header=false"),
    );
    let columns = [("column_2", "number"), ("column_3", "nominal")];
    assert_eq!(
        kinds_of(&trained),
        columns.map(|(name, kind)| (name.to_owned(), kind.to_owned()))
    );
    let mut options = read_by(&trained);
    options.header = Header::False;
    let expected = json!([{"column_2": 5.0, "column_3=7": 1.0}]);
    assert_eq!(
        rows_of(&named(Format::Csv, "a,5,7\n", &options)),
        json!([{"column_2": 5.0, "column_3=7": 1.0}])
    );
    // Without the label each column is one place further to the left.
    options.labels = Some(LabelsColumn::None);
    assert_eq!(rows_of(&named(Format::Csv, "5,7\n", &options)), expected);
}

#[test]
fn a_model_without_columns_reads_tables_of_stated_kinds() {
    let mut options = open("labels=none");
    options.table.numbers_only = true;
    let error = parse(Format::Csv, &b"zip,w\n10115,the\n"[..], &options).expect_err("no kinds");
    assert!(
        error.kind == FormatErrorKind::TableOption && error.detail.contains("kinds=*:nominal"),
        "{error}"
    );
    let mut texts = options.clone();
    assert_eq!(texts.set("kinds", "*:text"), Ok(true));
    let error = parse(Format::Csv, &b"zip,w\n10115,the\n"[..], &texts).expect_err("no texts");
    assert!(error.detail.contains("`extraction`"), "{error}");
    assert_eq!(options.set("kinds", "*:nominal"), Ok(true));
    let parsed = named(Format::Csv, "zip,w\n10115,the\n", &options);
    assert_eq!(rows_of(&parsed), json!([{"w=the": 1.0, "zip=10115": 1.0}]));
}

#[test]
fn options_of_fixed_features_are_refused() {
    let body = "a,y\nx,1\nz,0\n";
    for (query, told) in [
        ("numbers=thermometer", "numbers=thermometer"),
        ("numbers=thermometer&bins=4", "numbers=thermometer"),
        ("bins=4", "bins"),
        ("missing=value", "missing=drop"),
        ("missing=mean", "missing=drop"),
        ("scale=range", "omit `scale`"),
        ("n=2", "n = 2"),
        ("unknown=zero", "unknown"),
        ("labels=appended", "labels"),
    ] {
        let error = parse(Format::Csv, body.as_bytes(), &open(query)).expect_err(query);
        assert_eq!(error.kind, FormatErrorKind::BadOption, "{error}");
        assert!(error.detail.contains(told), "{error}");
    }
    let fixed = parse(Format::Csv, body.as_bytes(), &Options::default()).unwrap();
    let mut options = open("");
    options.table.encoding = fixed.table.clone();
    let error = parse(Format::Csv, body.as_bytes(), &options).expect_err("a fixed encoding");
    assert!(error.detail.contains("fixed number of features"), "{error}");
    let table = fixed.table.unwrap();
    assert!(table.check(None).is_err());
    assert_eq!(table.check(Some(table.n())), Ok(()));
}

#[test]
fn faults_of_cells_have_their_place() {
    let long = "n".repeat(1024);
    let cases: [(&[u8], FormatErrorKind, Place, &str); 9] = [
        (b"a,y\n\xe9,1\n", FormatErrorKind::Syntax, at(2, 1), "0xE9"),
        (
            b"b,a,y\nx,\"1,5\",1\n",
            FormatErrorKind::TableOption,
            at(2, 3),
            "decimal",
        ),
        (
            b"a,y\n1e999,1\n",
            FormatErrorKind::BadValue,
            at(2, 1),
            "no finite number",
        ),
        (
            b",a,y\n7,x,1\n",
            FormatErrorKind::TableOption,
            at(2, 1),
            "ignore=1",
        ),
        (
            b"a,a=b,y\nb,1,1\n",
            FormatErrorKind::TableOption,
            at(1, 1),
            "rename",
        ),
        (
            b"a,y\n,1\n?,0\n",
            FormatErrorKind::EmptyData,
            at(1, 1),
            "No column",
        ),
        (
            b"a,b,y\na,b,1\na,b,0\n",
            FormatErrorKind::TableOption,
            at(1, 1),
            "header=false",
        ),
        (b"a,y\n", FormatErrorKind::EmptyData, at(1, 1), ""),
        (
            &[b"a,y\n", long.as_bytes(), b",1\n"].concat(),
            FormatErrorKind::BadName,
            at(2, 1),
            "1024",
        ),
    ];
    for (body, kind, place, told) in cases {
        let error = parse(Format::Csv, body, &open("")).expect_err(&String::from_utf8_lossy(body));
        assert_eq!(error.kind, kind, "{error}");
        assert!(
            error.place.is_none() || error.place == Some(place),
            "{error}"
        );
        assert!(error.detail.contains(told), "{error}");
    }
    let counted = parse(
        Format::Csv,
        &b"1,x,a\n2,z,b\n3,x,a\n"[..],
        &open("labels=last"),
    );
    let error = counted.expect_err("a column that counts the rows");
    assert!(
        error.detail.contains("counts the rows") && error.detail.contains("kinds="),
        "{error}"
    );
    named(
        Format::Csv,
        "1,x,a\n2,z,b\n3,x,a\n",
        &open("labels=last&kinds=1:number"),
    );
    let undeclared = "@relation r\n@attribute a {u,v}\n@attribute y {p,q}\n@data\nu,p\nw,q\n";
    let error =
        parse(Format::Arff, undeclared.as_bytes(), &open("")).expect_err("an undeclared value");
    assert_eq!(
        (&error.kind, &error.place),
        (&FormatErrorKind::BadValue, &Some(at(6, 1))),
        "{error}"
    );
}

#[test]
fn rows_with_missing_cells_are_left_out_on_request() {
    let body = "a,b,y\nx,1,1\n?,2,0\nz,,1\nz,4,0\n";
    let parsed = named(Format::Csv, body, &open("missing=drop"));
    assert_eq!(
        rows_of(&parsed),
        json!([{"a=x": 1.0, "b": 1.0}, {"a=z": 1.0, "b": 4.0}])
    );
    assert_eq!(labels(&parsed.data), "10");
    assert_eq!(parsed.table.unwrap().missing.rows_dropped, 2);
    let error =
        parse(Format::Csv, body.as_bytes(), &open("missing=refuse")).expect_err("a missing cell");
    assert_eq!(error.place, Some(at(3, 1)), "{error}");
    // A column without a value gives no names.
    let parsed = named(Format::Csv, "a,b,y\nx,,1\nz,,0\n", &open(""));
    assert_eq!(parsed.table.unwrap().ignored[0].column, "b");
}

#[test]
fn encodings_of_names_fit_if_columns_of_one_name_are_read_alike() {
    let table = |body: &str, query: &str| -> Arc<TableEncoding> {
        named(Format::Csv, body, &open(query)).table.unwrap()
    };
    let own = table("zip,w,y\n1,the,a\n2,a,b\n", "kinds=zip:nominal");
    assert!(own.fits(&table("w,y\na,a\nb,b\n", "")));
    assert!(own.fits(&table("more,zip,y\na,3,a\nb,4,b\n", "kinds=zip:nominal")));
    assert!(!own.fits(&table("zip,y\n1,a\n2,b\n", "")));
}

#[test]
fn preview_shows_columns_that_give_names() {
    let many: String = (0..300)
        .map(|row| format!("w{row},{row},true,{},{}\n", row % 2, row % 3))
        .collect();
    let body = format!("word,size,wet,mixed,y\n{many}");
    let each = |shown: &Value, member: &str| -> Value {
        let columns = shown["columns"].as_array().unwrap();
        columns
            .iter()
            .map(|column| column[member].clone())
            .collect()
    };
    let shown = |body: &str, options: &Options| {
        let (parsed, shown) = previewed(Format::Csv, body.as_bytes(), options);
        (parsed, serde_json::to_value(shown).unwrap())
    };
    let (parsed, seen) = shown(&body, &open(""));
    assert_eq!(parsed.unwrap().data.examples(), 300);
    assert_eq!(
        each(&seen, "kind"),
        json!(["nominal", "number", "boolean", "number", null])
    );
    let all = json!(["boolean", "nominal", "number", "ignored"]);
    let expected = json!([
        ["nominal", "text", "ignored"],
        ["nominal", "number", "ignored"],
        ["boolean", "nominal", "ignored"],
        all,
        []
    ]);
    assert_eq!(each(&seen, "kinds"), expected);
    assert_eq!(each(&seen, "distinct"), json!([null, null, 1, 2, 3]));
    assert_eq!(seen["rows"][0], json!(["w0", "0", "true", "0", "0"]));
    // A column of two kinds is refused, and the preview says which one.
    let (refused, seen) = shown("a,b,y\nx,1,1\n2,2,0\n", &open(""));
    assert!(refused.is_err());
    assert_eq!(each(&seen, "kind"), json!([null, "number", null]));
    let detail = seen["columns"][0]["detail"].as_str().unwrap();
    assert!(
        detail.contains("a number in row 2") && detail.contains("kinds="),
        "{detail}"
    );
    let kinds = json!(["nominal", "text", "ignored"]);
    assert_eq!(seen["columns"][0]["kinds"], kinds);
    let (read, seen) = shown("a,b,y\nx,1,1\n2,2,0\n", &open("kinds=a:nominal"));
    assert!(read.is_ok());
    assert_eq!(each(&seen, "kind"), json!(["nominal", "number", null]));
    // Under a given encoding the kinds are its own.
    let trained = named(Format::Csv, "zip,y\n1,1\n2,0\n", &open("kinds=zip:nominal"));
    let (_, seen) = shown("zip,new\n1,1\n", &read_by(&trained));
    assert_eq!(each(&seen, "kind"), json!(["nominal", "number"]));
}

fn json_of(cell: &Option<String>) -> Value {
    match cell {
        None => Value::Null,
        Some(text) => json!(text),
    }
}

proptest! {
    /// Words of a table are the words of an object of NDJSON, whatever they contain.
    #[test]
    fn words_of_tables_are_those_of_objects(
        columns in proptest::collection::btree_set("[ab=\\\\]{1,3}", 1..4),
        cells in proptest::collection::vec(
            proptest::collection::vec(proptest::option::of("[ab=\\\\\u{e9}]{1,3}"), 3),
            1..20,
        ),
    ) {
        let columns: Vec<String> = columns.into_iter().collect();
        // A column without words is refused if a word of another column could give its name.
        let is_empty = |at: usize| cells.iter().all(|row| row[at].is_none());
        prop_assume!(!(0..columns.len()).any(|at| is_empty(at) && columns[at].contains('=')));
        let object = |row: &Vec<Option<String>>| -> Value {
            Value::Object(columns.iter().cloned().zip(row.iter().map(json_of)).collect())
        };
        let lines: String = cells.iter().map(|row| format!("{}\n", json!({"x": object(row)}))).collect();
        let rows: Vec<Value> = cells.iter().map(object).collect();
        let own = parse(Format::Ndjson, lines.as_bytes(), &open(""));
        let table = parse(Format::Json, json!(rows).to_string().as_bytes(), &open("labels=none"));
        let has_word = cells.iter().any(|row| row[..columns.len()].iter().any(Option::is_some));
        prop_assert_eq!(table.is_ok(), has_word, "{:?}", table.as_ref().err());
        if let Ok(table) = table {
            let own = own.expect("objects");
            prop_assert_eq!(rows_of(&table), rows_of(&own));
            prop_assert_eq!(table.digest(), own.digest());
        }
    }
}
