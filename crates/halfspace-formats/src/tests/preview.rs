//! Tests of previews: the facts about each column, the kinds that a column could have, and refused tables.

use serde_json::{Value, json};

use super::corpus::previewed;
use super::workbooks::{Book, row};
use super::*;
use crate::{Content, DecimalMark};
use crate::{KindName, Preview, Spool, gather_shown};

/// The outcome and the preview of a body.
fn preview(format: Format, body: &str, query: &str) -> (Result<Parsed, FormatError>, Value) {
    let (parsed, shown) = previewed(format, body.as_bytes(), &options(query));
    (parsed, serde_json::to_value(shown).unwrap())
}

fn refusal(format: Format, body: &str, query: &str) -> (FormatError, Value) {
    let (parsed, shown) = preview(format, body, query);
    (parsed.expect_err(body), shown)
}

/// One member of every column.
fn each(shown: &Value, member: &str) -> Value {
    let columns = shown["columns"].as_array().unwrap();
    columns
        .iter()
        .map(|column| column[member].clone())
        .collect()
}

#[test]
fn preview_shows_the_columns_as_they_are_read() {
    let body = ",class,odor,wet,size,note\n1,p,foul,yes,2.5,\"a \"\"b\"\"\"\n2,e, none ,?,1.5,\n3,e,none,no,3,c\n\
                4,p,foul,no,2.5,c\n";
    let (parsed, shown) = preview(Format::Csv, body, "ignore=note");
    assert_eq!(labels(&parsed.unwrap().data), "1001");
    assert_eq!(
        shown["names"],
        json!(["", "class", "odor", "wet", "size", "note"])
    );
    let rows = json!([
        ["1", "p", "foul", "yes", "2.5", "a \"b\""],
        ["2", "e", "none", "?", "1.5", ""],
        ["3", "e", "none", "no", "3", "c"]
    ]);
    assert_eq!(shown["rows"], rows);
    assert_eq!(shown["header"], true);
    assert_eq!(
        (&shown["column_count"], &shown["row_count"]),
        (&json!(6), &json!(4))
    );
    let labels = json!([{"value": "p", "rows": 2}, {"value": "e", "rows": 2}]);
    assert_eq!(shown["label_values"], labels);
    assert_eq!(each(&shown, "index"), json!([1, 2, 3, 4, 5, 6]));
    let roles = json!([
        "ignored", "label", "feature", "feature", "feature", "ignored"
    ]);
    assert_eq!(each(&shown, "role"), roles);
    let kinds = json!(["ignored", null, "nominal", "boolean", "number", "ignored"]);
    assert_eq!(each(&shown, "kind"), kinds);
    let accepted = json!([
        ["nominal", "number", "ignored"],
        [],
        ["nominal", "text", "ignored"],
        ["boolean", "nominal", "ignored"],
        ["nominal", "number", "ignored"],
        ["nominal", "text", "ignored"]
    ]);
    assert_eq!(each(&shown, "kinds"), accepted);
    assert_eq!(each(&shown, "distinct"), json!([4, 2, 2, 2, 3, 2]));
    assert_eq!(each(&shown, "missing"), json!([0, 0, 0, 1, 0, 1]));
    assert_eq!(
        each(&shown, "detail"),
        json!([null, null, null, null, null, null])
    );
}

#[test]
fn preview_without_a_label_column_shows_all_columns() {
    let body = "a,b,species\n1,x,setosa\n0,y,virginica\n1,x,versicolor\n";
    let (error, shown) = refusal(Format::Csv, body, "");
    assert!(error.detail.contains("`labels=species`"), "{error}");
    assert_eq!(error.place, Some(at(1, 1)));
    assert_eq!(
        each(&shown, "kind"),
        json!(["boolean", "nominal", "nominal"])
    );
    assert_eq!(
        (&shown["row_count"], &shown["label_values"]),
        (&json!(3), &Value::Null)
    );
    let (parsed, shown) = preview(Format::Csv, body, "labels=species");
    let names = ["setosa", "virginica", "versicolor"];
    assert_eq!(parsed.unwrap().class_names().unwrap(), names);
    assert_eq!(each(&shown, "role"), json!(["feature", "feature", "label"]));
    assert_eq!(shown["label_values"].as_array().unwrap().len(), 3);
    let (parsed, _) = preview(Format::Csv, body, "labels=species&positive=virginica");
    assert_eq!(labels(&parsed.unwrap().data), "010");
}

/// Every refused column has its reason, and rows after the first refused cell count.
#[test]
fn a_refused_cell_does_not_end_the_preview() {
    let mut body = "name,price,size,class\n".to_owned();
    for row in 0..300 {
        body += &format!("person {row},\"{row},5\",{row},{}\n", row % 2);
    }
    let (error, shown) = refusal(Format::Csv, &body, "");
    assert_eq!(
        (error.kind, error.place),
        (FormatErrorKind::TableOption, Some(at(2, 10)))
    );
    assert_eq!(shown["row_count"], 300);
    assert_eq!(each(&shown, "kind"), json!([null, null, "number", null]));
    let details = each(&shown, "detail");
    assert!(
        details[0]
            .as_str()
            .unwrap()
            .contains("more than 256 different values")
    );
    assert!(details[0].as_str().unwrap().contains("`ignore=name`"));
    assert_eq!(each(&shown, "distinct"), json!([null, null, null, 2]));
    let kinds = json!([["text", "ignored"], ["ignored"], ["number", "ignored"], []]);
    assert_eq!(each(&shown, "kinds"), kinds);
    let counts = json!([{"value": "0", "rows": 150}, {"value": "1", "rows": 150}]);
    assert_eq!(shown["label_values"], counts);
    let (parsed, shown) = preview(Format::Csv, &body, "ignore=name&decimal=,");
    assert_eq!(parsed.unwrap().data.n(), 2);
    assert_eq!(
        each(&shown, "kind"),
        json!(["ignored", "number", "number", null])
    );
}

/// A fault of the text ends the preview, which shows the rows before it.
#[test]
fn a_broken_line_ends_the_preview() {
    let (error, shown) = refusal(Format::Csv, "a,class\n1,x\n2,y\n3\n4,x\n", "");
    assert_eq!(
        (error.kind, shown["row_count"].clone()),
        (FormatErrorKind::UnequalLength, json!(2))
    );
    assert_eq!(each(&shown, "kind"), json!(["number", null]));
    // The first of two faults is the one that refuses the table.
    let (error, _) = refusal(Format::Csv, "a,b\n1,x\n3\n", "");
    assert!(error.detail.contains("No column is named label"), "{error}");
    // A limit that is exceeded later does not change the refusal.
    let mut short = Options::default();
    short.limits.line_bytes_max = 20;
    let body = format!("a,b\n1,x\n{}\n", "3,".repeat(20));
    let (parsed, shown) = previewed(Format::Csv, body.as_bytes(), &short);
    assert_eq!(parsed.unwrap_err().kind, FormatErrorKind::TableOption);
    assert_eq!(shown.row_count, Some(1));
    // Before the names are known there is no preview.
    let (error, shown) = refusal(Format::Csv, "\"a,class\n1,x\n", "");
    assert_eq!(
        (error.kind, shown["columns"].clone()),
        (FormatErrorKind::Syntax, Value::Null)
    );
}

/// `kinds` lists exactly the kinds that the option accepts. To see this, the test tries each kind under several
/// options.
#[test]
fn preview_lists_exactly_the_accepted_kinds() {
    let distinct =
        |count: u32, text: &dyn Fn(u32) -> String| (0..count).map(text).collect::<Vec<_>>();
    let texts = |texts: &[&str]| {
        texts
            .iter()
            .map(|&text| text.to_owned())
            .collect::<Vec<_>>()
    };
    let columns = [
        texts(&["0", "1"]),
        texts(&["-1", "1"]),
        texts(&["0", "1", "2"]),
        texts(&["0.0", "1"]),
        texts(&["yes", "NO"]),
        texts(&["yes"]),
        texts(&["t"]),
        texts(&["t", "f", "?"]),
        texts(&["red", "green"]),
        texts(&["1", "red"]),
        texts(&["1.5", "NA"]),
        texts(&["1,5", "2"]),
        texts(&["1,5", "red"]),
        texts(&["?", ""]),
        texts(&["007", "012"]),
        texts(&["1e999", "1"]),
        vec!["x".repeat(2000)],
        distinct(256, &|at| at.to_string()),
        distinct(257, &|at| at.to_string()),
        distinct(256, &|at| format!("w{at}")),
        distinct(257, &|at| format!("w{at}")),
        distinct(300, &|at| {
            if at == 299 {
                "w".to_owned()
            } else {
                at.to_string()
            }
        }),
    ];
    let names = ["boolean", "nominal", "number", "ignored"];
    let mut tried = 0;
    for column in &columns {
        // The other column always has features and both labels occur, so that only the first column can be refused.
        let lines = column
            .iter()
            .chain(column)
            .zip(0..)
            .map(|(cell, row)| format!("\"{cell}\",{},{}\n", row % 2, row % 2));
        let body = format!("c,other,class\n{}", lines.collect::<String>());
        let body = body.as_str();
        for query in [
            "positive=1",
            "positive=1&numbers=thermometer",
            "positive=1&decimal=,",
            "positive=1&decimal=.",
        ] {
            for stated in ["", "&kinds=c:nominal", "&kinds=c:boolean"] {
                let (_, shown) = preview(Format::Csv, body, &format!("{query}{stated}"));
                let mut listed = shown["columns"][0]["kinds"].clone();
                // A text lets the other columns be read otherwise, so that these may be refused.
                let kinds = listed.as_array_mut().unwrap();
                let has_text = kinds.iter().any(|kind| kind == "text");
                kinds.retain(|kind| kind != "text");
                let is_word = |cell: &String| {
                    let mut marks = [DecimalMark::Point, DecimalMark::Comma].into_iter();
                    marks.all(|mark| Content::of(cell.as_bytes(), mark) == Content::Text)
                };
                assert_eq!(has_text, column.iter().any(is_word), "{query}{stated}");
                let accepted = names.iter().filter(|name| {
                    let read = options(&format!("{query}&kinds=c:{name}"));
                    crate::parse(Format::Csv, body.as_bytes(), &read).is_ok_and(|parsed| {
                        let table = parsed.table.unwrap();
                        let found = table.columns.iter().find(|column| column.name == "c");
                        let kind = found.map_or(KindName::Ignored, |column| column.kind.name());
                        json!(kind) == **name
                    })
                });
                let accepted: Vec<_> = accepted.collect();
                assert_eq!(
                    listed,
                    json!(accepted),
                    "{query}{stated} {:?}",
                    &column[..1]
                );
                tried += accepted.len();
            }
        }
    }
    assert!(tried > 500, "{tried}");
}

/// Either a column is shown as a reason for the refusal, or the table is read with the shown kind.
#[test]
fn preview_shows_the_kinds_of_the_encoding() {
    for (body, query) in [
        ("a,b,class\n1.5,x,p\n?,y,e\n", ""),
        ("a,b,class\n1.5,x,p\n?,y,e\n", "missing=drop&positive=p"),
        ("a,b,class\n1.5,x,p\n?,y,e\n", "numbers=thermometer"),
        ("a,b,class\n0,t,p\n1,f,e\n", ""),
        ("a,b,class\n0,1,p\n1,1,e\n", "kinds=a:nominal"),
        ("a,b,class\n,,p\n,x,e\n", ""),
    ] {
        let (parsed, shown) = preview(Format::Csv, body, query);
        match parsed {
            Ok(parsed) => {
                let table = parsed.table.unwrap();
                let kinds: Vec<_> = table
                    .columns
                    .iter()
                    .map(|column| column.kind.name())
                    .collect();
                let shown: Vec<_> = each(&shown, "kind").as_array().unwrap()[..2].to_vec();
                assert_eq!(json!(shown), json!(kinds), "{body} {query}");
            }
            Err(error) => assert_eq!(each(&shown, "detail")[0], error.detail, "{body} {query}"),
        }
    }
}

#[test]
fn preview_shows_and_counts_dropped_rows() {
    let body = "a,class\n1.5,p\n?,e\n2,?\n3,e\n";
    let (parsed, shown) = preview(Format::Csv, body, "missing=drop");
    assert_eq!(parsed.unwrap().data.examples(), 2);
    assert_eq!(
        (&shown["row_count"], &shown["rows"][1]),
        (&json!(4), &json!(["?", "e"]))
    );
    assert_eq!(each(&shown, "missing"), json!([1, 1]));
    assert_eq!(
        shown["columns"][0]["kinds"],
        json!(["nominal", "number", "ignored"])
    );
    let counts = json!([{"value": "p", "rows": 1}, {"value": "e", "rows": 1}]);
    assert_eq!(shown["label_values"], counts);
    let (error, shown) = refusal(Format::Csv, body, "missing=refuse");
    assert_eq!(
        (error.place, &shown["row_count"]),
        (Some(at(3, 1)), &json!(4))
    );
}

#[test]
fn preview_under_an_encoding_shows_its_kinds() {
    let (known, _) = previewed(
        Format::Csv,
        b"odor,size,class\nfoul,2.5,p\nnone,1,e\n",
        &Options::default(),
    );
    let mut under = Options::default();
    under.table.encoding = known.unwrap().table;
    let body = b"class,size,odor\np,9,none\ne,8,musty\ne,7,spicy\n";
    let (parsed, shown) = previewed(Format::Csv, body, &under);
    let error = parsed.expect_err("an unknown value");
    assert!(error.detail.contains("`musty`"), "{error}");
    let shown = serde_json::to_value(shown).unwrap();
    assert_eq!(each(&shown, "role"), json!(["label", "feature", "feature"]));
    assert_eq!(each(&shown, "kind"), json!([null, "number", "nominal"]));
    assert_eq!(each(&shown, "kinds"), json!([[], ["number"], ["nominal"]]));
    assert_eq!(shown["row_count"], 3);
}

#[test]
fn preview_of_arff_shows_the_declared_kinds() {
    let head = "@relation r\n@attribute odor {foul, none}\n@attribute grade {1, 2}\n@attribute size numeric\n\
                @attribute class {p, e}\n@data\n";
    let (parsed, shown) = preview(
        Format::Arff,
        &format!("{head}foul,1,2.5,p\nfoul,2,1,e\n"),
        "",
    );
    assert_eq!(parsed.unwrap().data.n(), 5);
    assert_eq!(
        each(&shown, "kind"),
        json!(["nominal", "nominal", "number", null])
    );
    assert_eq!(each(&shown, "distinct"), json!([1, 2, 2, 2]));
    assert_eq!(
        shown["columns"][1]["kinds"],
        json!(["nominal", "number", "ignored"])
    );
    let (error, shown) = refusal(
        Format::Arff,
        &format!("{head}foul,1,big,p\nnone,3,1,e\n"),
        "",
    );
    assert_eq!(
        (error.kind, error.place),
        (FormatErrorKind::BadValue, Some(at(7, 8)))
    );
    let detail = shown["columns"][1]["detail"].as_str().unwrap();
    assert!(
        detail.contains("does not declare the value `3`"),
        "{detail}"
    );
    // An absent value of a sparse row is shown as its value.
    let (_, shown) = preview(Format::Arff, &format!("{head}{{3 e}}\n{{0 none}}\n"), "");
    assert_eq!(
        shown["rows"],
        json!([["foul", "1", "0", "e"], ["none", "1", "0", "p"]])
    );
}

#[test]
fn preview_shows_the_date_columns_of_a_workbook() {
    let dates = r#"<c t="d"><v>2024-05-01</v></c>"#;
    let rows = [row(&["day", "size", "end", "class"])]
        .into_iter()
        .chain((2..5).map(|number| {
            let end = if number == 3 {
                "<c><v>7</v></c>"
            } else {
                dates
            };
            format!(
                "<row>{dates}<c><v>{number}</v></c>{end}<c t=\"str\"><v>c{}</v></c></row>",
                number % 2
            )
        }));
    let book = Book::of(&rows.collect::<String>()).bytes();
    let (parsed, shown) = previewed(Format::Xlsx, &book, &Options::default());
    assert!(
        parsed
            .expect_err("two forms")
            .detail
            .contains("`ignore=end`")
    );
    let shown = serde_json::to_value(shown).unwrap();
    assert_eq!(each(&shown, "kind"), json!(["date", "number", null, null]));
    assert!(
        each(&shown, "detail")[2]
            .as_str()
            .unwrap()
            .contains("has numbers in two forms")
    );
    assert_eq!(
        each(&shown, "kinds")[0],
        json!(["nominal", "date", "ignored"])
    );
    assert_eq!(shown["rows"][0][0], "2024-05-01");
    let (parsed, _) = previewed(Format::Xlsx, &book, &options("ignore=end"));
    assert_eq!(parsed.unwrap().data.examples(), 3);
}

#[test]
fn preview_of_data_without_a_table_shows_examples() {
    let (_, shown) = preview(Format::Libsvm, "3 1:0.5 3:1\n5 2:-2e300\n", "");
    assert_eq!(shown["names"], json!(["label", "x1", "x2", "x3"]));
    assert_eq!(
        shown["rows"],
        json!([["3", "0.5", "0", "1"], ["5", "0", "-2e300", "0"]])
    );
    assert_eq!(
        (&shown["columns"], &shown["header"]),
        (&Value::Null, &Value::Null)
    );
    let counts = json!([{"value": "3", "rows": 1}, {"value": "5", "rows": 1}]);
    assert_eq!(shown["label_values"], counts);
    let (_, shown) = preview(
        Format::Ndjson,
        "[1, -1]\n"
            .replace('[', "{\"x\":[")
            .replace(']', "]}")
            .as_str(),
        "",
    );
    assert_eq!(
        (&shown["names"], &shown["rows"]),
        (&json!(["x1", "x2"]), &json!([["1", "-1"]]))
    );
    let (error, shown) = refusal(Format::Libsvm, "1 1:1\n2 1:1\n3 1:1\n", "");
    assert!(error.detail.contains("`positive=1`"), "{error}");
    assert_eq!(shown["label_values"].as_array().unwrap().len(), 3);
    assert_eq!(shown["rows"], json!([]));
    let (error, shown) = refusal(Format::Libsvm, "1 1:1\n-1 1:x\n", "");
    assert_eq!(
        (error.kind, &shown["label_values"]),
        (FormatErrorKind::BadValue, &Value::Null)
    );
}

/// The first rows come from the spool too, and the pass over it ends after them.
#[test]
fn preview_shows_spooled_examples() {
    let body: String = (0..500)
        .map(|row| format!("{} 1:{row} 40:1\n", row % 2))
        .collect();
    let preview = Preview::new(2);
    let spool = Spool::new(64, || Ok(std::io::Cursor::new(Vec::new())));
    let mut parsed = gather_shown(
        Format::Libsvm,
        body.as_bytes(),
        &Options::default(),
        Some(spool),
        &preview,
    )
    .unwrap();
    assert!(matches!(parsed.data, crate::ParsedRows::Spooled(_)));
    let shown = preview.finish(Some(&mut parsed)).unwrap();
    assert_eq!((shown.names.len(), shown.rows.len()), (41, 2));
    assert_eq!(&shown.rows[1][..3], ["1", "1", "0"]);
}

#[test]
fn preview_cuts_wide_tables_and_long_cells() {
    let width = 1500;
    let line = |cell: &dyn Fn(usize) -> String| (0..width).map(cell).collect::<Vec<_>>().join(",");
    let names = line(&|at| {
        if at == 1400 {
            "class".to_owned()
        } else {
            format!("c{at}")
        }
    });
    let cells = line(&|at| {
        if at == 1400 {
            "1".to_owned()
        } else {
            "ä".repeat(150)
        }
    });
    let body = format!("{names}\n{cells}\n{cells}\n{cells}\n");
    let (parsed, shown) = preview(Format::Csv, &body, "");
    assert_eq!(parsed.unwrap().data.n(), width - 1);
    assert_eq!(shown["columns"].as_array().unwrap().len(), 1001);
    assert_eq!(
        (&shown["column_count"], &shown["names"][1000]),
        (&json!(1500), &json!("class"))
    );
    let first = &shown["rows"][0];
    assert_eq!(first[0], json!("ä".repeat(99) + "…"));
    assert_eq!(first[1000], "1");
    let bytes = first.to_string().len() as u64;
    let rows = shown["rows"].as_array().unwrap().len();
    assert!((rows as u64 - 1) * bytes < (1 << 20) + bytes, "{rows} rows");
    let (_, shown) = preview(Format::Libsvm, "1 1:1 1500:1\n-1 2:1\n", "");
    assert_eq!(shown["rows"][0].as_array().unwrap().len(), 1001);
}
