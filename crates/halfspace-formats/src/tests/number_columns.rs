//! Tests of columns of numbers as people write them: words for missing cells, amounts, percentages and marks between
//! thousands. The same column in plain numbers has the same features.

use std::sync::Arc;

use super::workbooks::{Book, row};
use super::*;
use crate::{ColumnKind, DatePart, MISSING_AMONG_NUMBERS, TableEncoding, Written, dates, digest};

/// A table whose column `x` has these cells, with `;` between the fields.
fn table(cells: &[&str]) -> String {
    let rows = cells.iter().zip(["p", "e"].iter().cycle());
    let rows = rows.map(|(cell, class)| format!("{class};{cell};{class}{class}\n"));
    format!("class;x;z\n{}", rows.collect::<String>())
}

fn read(cells: &[&str], texts: &[&str]) -> Result<(Vec<u8>, TableEncoding), FormatError> {
    let mut parsed = parse(Format::Csv, table(cells).as_bytes(), &options_of(texts))?;
    let encoding = parsed.table.take().expect("a table");
    let digest = digest(&parsed.data, parsed.classes.as_ref(), None, None);
    Ok((digest.to_vec(), Arc::unwrap_or_clone(encoding)))
}

fn refused(cells: &[&str], texts: &[&str]) -> String {
    read(cells, texts).expect_err("a refusal").to_string()
}

fn many(of: impl Fn(usize) -> String) -> Vec<String> {
    (0..600).map(of).collect()
}

fn texts(cells: &[String]) -> Vec<&str> {
    cells.iter().map(String::as_str).collect()
}

#[test]
fn missing_words_are_missing_in_columns_of_numbers_alone() {
    let thermometer = ["numbers=thermometer"];
    let plain = read(&["1.5", "", "2.5", "7"], &thermometer).unwrap();
    for word in MISSING_AMONG_NUMBERS {
        let (digest, encoding) = read(&["1.5", word, "2.5", "7"], &thermometer).unwrap();
        assert_eq!(digest, plain.0, "{word}");
        assert!(encoding.columns[0].missing, "{word}");
        assert_eq!(encoding.missing.cells, 1, "{word}");
        let (_, words) = read(&["red", word, "blue", "red"], &[]).unwrap();
        let mut values = vec!["blue".to_owned(), "red".to_owned(), word.to_owned()];
        values.sort();
        assert_eq!(words.columns[0].kind, ColumnKind::Nominal { values });
        let (_, stated) = read(&["1", word, "2", "2"], &["kinds=x:nominal"]).unwrap();
        assert!(
            matches!(&stated.columns[0].kind, ColumnKind::Nominal { values } if values.len() == 3)
        );
        let (_, bits) = read(&["1", word, "0", "0"], &[]).unwrap();
        let values = ["0", "1"].map(str::to_owned);
        assert_eq!(
            bits.columns[0].kind,
            ColumnKind::Boolean { values },
            "{word}"
        );
        assert!(bits.columns[0].missing);
    }
    // The word may come first, and in a column with more values than a scan keeps as codes.
    assert_eq!(
        read(&["-", "", "2.5", "7"], &thermometer).unwrap().0,
        read(&["", "", "2.5", "7"], &thermometer).unwrap().0
    );
    let long = |word: &str| {
        many(|at| {
            if at % 5 == 1 {
                word.to_owned()
            } else {
                format!("{at}.5")
            }
        })
    };
    let (dashes, empty) = (long("-"), long(""));
    assert_eq!(
        read(&texts(&dashes), &thermometer).unwrap().0,
        read(&texts(&empty), &thermometer).unwrap().0
    );
}

#[test]
fn rows_with_missing_words_are_left_out_or_refused() {
    let drop = ["missing=drop"];
    let plain = read(&["1.5", "", "2.5", "7", "8"], &drop).unwrap();
    for cells in [
        ["1.5", "-", "2.5", "7", "8"],
        ["1.5", "N/A", "2.5", "7", "8"],
    ] {
        let (digest, encoding) = read(&cells, &drop).unwrap();
        assert_eq!(
            (digest, encoding.missing.rows_dropped),
            (plain.0.clone(), 1)
        );
    }
    assert!(
        refused(&["1", "n/a", "2", "7"], &["missing=refuse"]).contains("has no value in row 2")
    );
    // A column of words must say what it means, in whichever order the cells come.
    let detail = refused(&["-", "red", "blue", "red"], &drop);
    assert!(
        detail.contains("`-` in row 1 stood for a missing cell")
            && detail.contains("missing_values=-"),
        "{detail}"
    );
    assert!(
        read(
            &["-", "red", "blue", "red"],
            &["missing=drop", "missing_values=-"]
        )
        .is_ok()
    );
    let kept = read(
        &["-", "red", "blue", "red"],
        &["missing=drop", "kinds=x:nominal"],
    )
    .unwrap();
    assert_eq!(kept.1.missing.rows_dropped, 0);
    assert_eq!(
        read(&["red", "-", "blue", "red"], &drop)
            .unwrap()
            .1
            .missing
            .rows_dropped,
        0
    );
}

#[test]
fn later_rows_are_read_as_the_columns_of_the_encoding() {
    let (_, encoding) = read(&["1.5", "-", "2.5", "7"], &["numbers=thermometer"]).unwrap();
    let given = |cells: &[&str], encoding: &TableEncoding, texts: &[&str]| {
        let mut options = options_of(texts);
        options.table.encoding = Some(Arc::new(encoding.clone()));
        let parsed = parse(Format::Csv, table(cells).as_bytes(), &options);
        parsed
            .map(|parsed| rows(&parsed.data))
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        given(&["None", "7"], &encoding, &[]),
        given(&["", "7"], &encoding, &[])
    );
    assert_eq!(
        given(&["N/A", "7"], &encoding, &["missing=drop"])
            .unwrap()
            .len(),
        1
    );
    let (_, percent) = read(&["10%", "20%", "45%", "7%"], &["numbers=thermometer"]).unwrap();
    assert_eq!(percent.columns[0].written, Some(Written::Percent));
    assert!(given(&["10 %", "45%"], &percent, &[]).is_ok());
    assert!(
        given(&["10", "45"], &percent, &[])
            .unwrap_err()
            .contains("are not both percentages")
    );
    let (_, plain) = read(&["10", "20", "45", "7"], &["numbers=thermometer"]).unwrap();
    assert!(
        given(&["10%", "45%"], &plain, &[])
            .unwrap_err()
            .contains("are not both percentages")
    );
    assert_eq!(
        given(&["$10", "45"], &plain, &[]),
        given(&["10", "45"], &plain, &[])
    );
    assert!(
        given(&["1,234", "45"], &plain, &[])
            .unwrap_err()
            .contains("say `decimal=,` or `decimal=.`")
    );
    assert_eq!(
        given(&["1,234", "45"], &plain, &["decimal=."]),
        given(&["1234", "45"], &plain, &[])
    );
    let (_, grouped) = read(&["1,234.5", "20", "4,500", "7"], &["numbers=thermometer"]).unwrap();
    assert_eq!(grouped.columns[0].written, Some(Written::Thousands));
    assert_eq!(
        given(&["1,234", "45"], &grouped, &[]),
        given(&["1234", "45"], &grouped, &[])
    );
}

#[test]
fn columns_of_one_form_are_numbers() {
    let plain = read(&["1234.5", "20", "4500", "7"], &[]).unwrap().0;
    for cells in [
        ["1,234.5", "20", "4,500", "7"],
        ["$1,234.50", "$20", "$4500", "$ 7.00"],
        ["1,234.5€", "20 €", "4500€", "7€"],
        ["123,450%", "2,000%", "450,000%", "700.0%"],
    ] {
        assert_eq!(read(&cells, &["decimal=."]).unwrap().0, plain, "{cells:?}");
    }
    let german = ["1.234,5 €", "20 €", "4.500 €", "7 €"];
    assert_eq!(read(&german, &["decimal=,"]).unwrap().0, plain);
    let long = |form: fn(usize) -> String| read(&texts(&many(form)), &[]).unwrap().0;
    let expected = long(|at| format!("{}.5", 1000 + at));
    assert_eq!(long(|at| format!("${}.5", 1000 + at)), expected);
    assert_eq!(long(|at| format!("1,{at:03}.5")), expected);
    assert_eq!(long(|at| format!("{}.0%", 100_050 + 100 * at)), expected);
}

#[test]
fn columns_of_mixed_forms_are_refused() {
    for cells in [
        ["$10", "20", "€30", "40"],
        ["10%", "20", "30", "40"],
        ["$5", "5%", "$7", "8%"],
        ["2024-12-31", "5", "2024-12-30", "7"],
    ] {
        for option in [&[][..], &["kinds=x:number"]] {
            assert!(
                refused(&cells, option).contains("has numbers in two forms"),
                "{cells:?}"
            );
        }
        let (_, encoding) = read(&cells, &["kinds=x:nominal"]).unwrap();
        assert_eq!(encoding.n(), 6, "{cells:?}");
    }
    for cells in [
        ["1,234", "20", "4,500", "7"],
        ["1,234", "2,000", "3,000", "4,000"],
    ] {
        let detail = refused(&cells, &[]);
        assert!(
            detail.contains("may stand before a fraction or between thousands"),
            "{detail}"
        );
        assert!(read(&cells, &["decimal=."]).is_ok() && read(&cells, &["decimal=,"]).is_ok());
    }
    assert!(refused(&["12,5%", "20%", "30%", "40%"], &[]).contains("decimal comma"));
    let odd = many(|at| {
        if at == 300 {
            "7".to_owned()
        } else {
            format!("{at}%")
        }
    });
    assert!(refused(&texts(&odd), &[]).contains("256 different values"));
}

#[test]
fn dates_become_their_parts() {
    let cells = ["2024-12-31", "2025-01-01", "2024-02-29", "2023-07-04"];
    let (digest, encoding) = read(&cells, &[]).unwrap();
    let names: Vec<String> = encoding
        .columns
        .iter()
        .flat_map(|column| column.feature_names())
        .collect();
    assert_eq!(names[..4], ["x.year", "x.month", "x.day", "x.weekday"]);
    assert_eq!((encoding.column_count(), encoding.columns.len()), (2, 5));
    assert!(encoding.check(Some(encoding.n())).is_ok());
    let plain = "class;year;month;day;weekday;z\np;2024;12;31;2;pp\ne;2025;1;1;3;ee\np;2024;2;29;4;pp\n\
                 e;2023;7;4;2;ee\n";
    let mut expected = parse(Format::Csv, plain.as_bytes(), &Options::default()).unwrap();
    assert_eq!(
        digest,
        crate::digest(&expected.data, expected.classes.take().as_ref(), None, None).to_vec()
    );
    for (order, cells) in [
        (
            "dates=dmy",
            ["31/12/2024", "1.1.2025", "29-02-2024", "4/7/2023"],
        ),
        (
            "dates=mdy",
            ["12/31/2024", "1/1/2025", "02/29/2024", "7/04/2023"],
        ),
        ("dates=dmy", cells),
    ] {
        assert_eq!(read(&cells, &[order]).unwrap().0, digest, "{order}");
    }
    let hours = [
        "2024-12-31 10:30",
        "2025-01-01T23:00:00Z",
        "2024-02-29",
        "2023-07-04 00:01",
    ];
    let (_, hours) = read(&hours, &["numbers=thermometer"]).unwrap();
    assert_eq!(hours.columns[4].part, Some(DatePart::Hour));
    let ColumnKind::Thermometer { thresholds } = &hours.columns[4].kind else {
        panic!("{hours:?}");
    };
    assert!(
        thresholds.contains(&23.0) || thresholds.contains(&10.0),
        "{thresholds:?}"
    );
    // Beyond the values that a scan keeps as codes.
    let long = many(|at| dates::written(at as f64 * 86_400.0));
    let slashed = many(|at| {
        let date = dates::written(at as f64 * 86_400.0);
        format!("{}/{}/{}", &date[8..], &date[5..7], &date[..4])
    });
    assert_eq!(
        read(&texts(&long), &[]).unwrap().0,
        read(&texts(&slashed), &["dates=dmy"]).unwrap().0
    );
    assert!(refused(&texts(&slashed), &[]).contains("`dates=dmy`"));
}

#[test]
fn dates_in_doubt_and_other_texts_are_refused() {
    assert!(
        refused(&["31/12/2024", "1/1/2025", "29/2/2024", "4/7/2023"], &[])
            .contains("say `dates=dmy`")
    );
    assert!(
        read(
            &["31/12/2024", "1/1/2025", "29/2/2024", "4/7/2023"],
            &["kinds=x:nominal"]
        )
        .is_ok()
    );
    let stated = refused(
        &["2024-12-31", "red", "2024-02-29", "2023-07-04"],
        &["kinds=x:date"],
    );
    assert!(
        stated.contains("is not a date column: it has the value `red`"),
        "{stated}"
    );
    let number = refused(
        &["2024-12-31", "2025-01-01", "2024-02-29", "2023-07-04"],
        &["kinds=x:number"],
    );
    assert!(number.contains("kind date"), "{number}");
    let zero = many(|at| {
        if at == 7 {
            "0000-00-00".to_owned()
        } else {
            dates::written(at as f64 * 86_400.0)
        }
    });
    assert!(refused(&texts(&zero), &[]).contains("`0000-00-00`"));
    assert!(
        read(
            &texts(&zero),
            &["missing_values=0000-00-00", "numbers=thermometer"]
        )
        .is_ok()
    );
    assert!(
        refused(&["2024-12-31", "", "2024-02-29", "2023-07-04"], &[])
            .contains("holds dates and has none in row 2")
    );
    let (_, encoding) = read(
        &["2024-12-31", "-", "2024-02-29", "2023-07-04"],
        &["numbers=thermometer"],
    )
    .unwrap();
    let missing: Vec<bool> = encoding
        .columns
        .iter()
        .map(|column| column.missing)
        .collect();
    assert_eq!(missing, [true, false, false, false, false]);
}

#[test]
fn later_dates_are_read_as_those_of_the_encoding() {
    let cells = ["31/12/2024", "1/1/2025", "29/2/2024", "4/7/2023"];
    let (_, encoding) = read(&cells, &["dates=dmy", "numbers=thermometer"]).unwrap();
    assert_eq!(encoding.columns[0].written, Some(Written::Dmy));
    let kept: TableEncoding =
        serde_json::from_str(&serde_json::to_string(&encoding).unwrap()).unwrap();
    let mut options = Options::default();
    options.table.encoding = Some(Arc::new(kept));
    let given = |cells: &[&str]| {
        let parsed = parse(Format::Csv, table(cells).as_bytes(), &options);
        parsed
            .map(|parsed| rows(&parsed.data))
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        given(&["29/2/2024", "4/7/2023"]),
        given(&["2024-02-29", "2023-07-04"])
    );
    assert!(
        given(&["x", "2024-02-29"])
            .unwrap_err()
            .contains("is no date such as 2024-12-31")
    );
    let unnamed = "p;31/12/2024;pp\ne;1/1/2025;ee\n";
    let without_names = Options {
        header: Header::False,
        ..options.clone()
    };
    let unnamed = parse(Format::Csv, unnamed.as_bytes(), &without_names).unwrap();
    assert_eq!(
        Ok(rows(&unnamed.data)),
        given(&["2024-12-31", "2025-01-01"])
    );
}

#[test]
fn dates_of_workbooks_are_those_of_texts() {
    let (expected, _) = read(
        &["2024-02-29", "2025-01-01T12:00", "1900-02-28", "2024-03-01"],
        &[],
    )
    .unwrap();
    let book = |cells: [&str; 4], is_later: bool| {
        let rows = cells
            .iter()
            .zip(["p", "e"].iter().cycle())
            .map(|(cell, class)| {
                let text = |text: &str| format!(r#"<c t="str"><v>{text}</v></c>"#);
                format!("<row>{}{cell}{}</row>", text(class), text(&class.repeat(2)))
            });
        let mut book = Book::of(&[row(&["class", "x", "z"]), rows.collect()].concat());
        book.styles = r#"<cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs>"#.to_owned();
        book.is_later = is_later;
        let mut parsed = parse(Format::Xlsx, book.bytes().as_slice(), &Options::default()).unwrap();
        digest(&parsed.data, parsed.classes.take().as_ref(), None, None).to_vec()
    };
    let date = |days: &str| format!(r#"<c s="1"><v>{days}</v></c>"#);
    let days = ["45351", "45658.5", "59", "45352"].map(date);
    assert_eq!(
        book([&days[0], &days[1], &days[2], &days[3]], false),
        expected
    );
    let days = ["43889", "44196.5", "-1403", "43890"].map(date);
    let early = r#"<c t="d"><v>1900-02-28</v></c>"#;
    assert_eq!(book([&days[0], &days[1], early, &days[3]], true), expected);
}
