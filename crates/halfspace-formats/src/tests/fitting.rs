//! Tests of what features take from all cells of their column: scales and the values of missing cells.

use std::io::Cursor;
use std::sync::Arc;

use halfspace_core::learners::sample::data::Features;
use proptest::prelude::*;

use super::*;
use crate::{ColumnKind, Scale, Spool, TableEncoding, digest, gather};

fn read(body: &str, texts: &[&str]) -> (Parsed, TableEncoding) {
    let parsed = parse(Format::Csv, body.as_bytes(), &options_of(texts)).expect(body);
    let table = parsed.table.clone().expect("a table");
    (parsed, Arc::unwrap_or_clone(table))
}

fn refused(body: &str, texts: &[&str]) -> String {
    let read = parse(Format::Csv, body.as_bytes(), &options_of(texts));
    read.expect_err(body).to_string()
}

/// The features of each row.
fn features(parsed: &Parsed) -> Vec<Vec<f64>> {
    match parsed.data.features() {
        Features::Real(matrix) => (0..matrix.rows())
            .map(|row| matrix.row(row).to_vec())
            .collect(),
        Features::Boolean(_) => rows(&parsed.data)
            .iter()
            .map(|row| row.bytes().map(|bit| f64::from(bit - b'0')).collect())
            .collect(),
        Features::Sparse(_) => panic!("a table is dense"),
    }
}

fn scales(encoding: &TableEncoding) -> Vec<Option<(f64, f64)>> {
    let columns = encoding.columns.iter();
    let pair = |scale: Scale| (scale.offset, scale.divisor);
    columns.map(|column| column.scale.map(pair)).collect()
}

fn fills(encoding: &TableEncoding) -> Vec<Option<String>> {
    let columns = encoding.columns.iter();
    columns.map(|column| column.fill.clone()).collect()
}

const TABLE: &str = "a,b,bit,word,y\n1,10,0,u,p\n2,10,1,v,q\n3,10,1,u,p\n6,10,0,w,q\n";

#[test]
fn scale_is_that_of_the_column_and_leaves_bits_and_words_alone() {
    let (parsed, encoding) = read(TABLE, &["scale=standard"]);
    let deviation = 3.5_f64.sqrt();
    assert_eq!(
        scales(&encoding),
        [Some((3.0, deviation)), Some((10.0, 1.0)), None, None]
    );
    assert_eq!(
        features(&parsed)[3],
        [3.0 / deviation, 0.0, 0.0, 0.0, 0.0, 1.0]
    );
    let (parsed, encoding) = read(TABLE, &["scale=range"]);
    assert_eq!(
        scales(&encoding),
        [Some((1.0, 5.0)), Some((10.0, 1.0)), None, None]
    );
    let first: Vec<f64> = features(&parsed).iter().map(|row| row[0]).collect();
    assert_eq!(first, [0.0, 0.2, 0.4, 1.0]);
    let (_, plain) = read(TABLE, &["scale=none"]);
    assert_eq!(scales(&plain), [None; 4]);
}

#[test]
fn scale_is_kept_for_later_rows() {
    let (_, encoding) = read(TABLE, &["scale=range"]);
    let text = serde_json::to_string(&encoding).expect("JSON");
    let stored: TableEncoding = serde_json::from_str(&text).expect("an encoding");
    assert_eq!(stored, encoding);
    assert_eq!(stored.check(Some(stored.n())), Ok(()));
    let mut again = options_of(&["labels=none"]);
    again.table.encoding = Some(Arc::new(stored));
    let later = b"word,bit,b,a\nv,1,11,3.5\n";
    let parsed = parse(Format::Csv, &later[..], &again).expect("rows of the encoding");
    assert_eq!(features(&parsed), [[0.5, 1.0, 1.0, 0.0, 1.0, 0.0]]);
    // The same columns without a scale are other features.
    let (_, plain) = read(TABLE, &[]);
    assert!(!encoding.fits(&plain) && !plain.fits(&encoding));
    assert_ne!(encoding.sha256(), plain.sha256());
    let (_, plain) = read("a,y\n1,1\n2,0\n", &[]);
    let (_, scaled) = read("a,y\n1,1\n2,0\n", &["scale=standard"]);
    assert!(!plain.fits(&scaled) && !scaled.fits(&plain));
}

#[test]
fn scale_is_for_real_numbers_of_a_table_without_an_encoding() {
    let error = refused(TABLE, &["scale=standard", "numbers=thermometer"]);
    assert!(error.contains("`scale` is for `numbers=real`"), "{error}");
    let (_, encoding) = read(TABLE, &[]);
    for text in ["scale=range", "missing=mean"] {
        let mut again = options_of(&[text]);
        again.table.encoding = Some(Arc::new(encoding.clone()));
        let error = parse(Format::Csv, TABLE.as_bytes(), &again).expect_err(text);
        assert!(error.to_string().contains("The given encoding"), "{error}");
    }
    let error = refused(TABLE, &["scale=standard", "vocabulary=open"]);
    assert!(error.contains("omit `scale`"), "{error}");
    let error = refused(TABLE, &["missing=median", "vocabulary=open"]);
    assert!(error.contains("`missing=drop`"), "{error}");
    let body = format!("a,y\n{},1\n{},0\n", f64::MAX, f64::MAX);
    for scale in ["scale=standard", "missing=mean"] {
        let error = refused(&body, &[scale]);
        assert!(error.contains("too large for a double"), "{error}");
    }
    let body = format!("a,y\n{},1\n-{},0\n", f64::MAX, f64::MAX);
    assert!(refused(&body, &["scale=range"]).contains("too large"));
}

const GAPS: &str = "a,bit,word,y\n4,0,v,p\n,1,u,q\n1,,u,p\n2,1,,q\n9,0,v,p\n?,1,v,q\n";

#[test]
fn missing_numbers_are_filled_and_other_kinds_as_the_treatment_says() {
    let text = |text: &str| Some(text.to_owned());
    let number = |number: f64| text(&number.to_string());
    for (treatment, fill) in [("mean", 4.0), ("median", 3.0), ("indicator", 4.0)] {
        let (parsed, encoding) = read(GAPS, &[&format!("missing={treatment}")]);
        assert_eq!(fills(&encoding), [number(fill), None, None], "{treatment}");
        let is_indicated = treatment == "indicator";
        let missing: Vec<bool> = encoding.columns.iter().map(|own| own.missing).collect();
        assert_eq!(missing, [is_indicated, true, true], "{treatment}");
        let second = &features(&parsed)[1];
        let indicator = if is_indicated { &[1.0][..] } else { &[] };
        let expected = [&[fill][..], indicator, &[1.0, 0.0, 1.0, 0.0, 0.0]].concat();
        assert_eq!(*second, expected, "{treatment}");
        assert_eq!(encoding.missing.cells, 4);
    }
    let (parsed, encoding) = read(GAPS, &["missing=most-frequent"]);
    // Each number occurs once, so the smallest counts.
    assert_eq!(fills(&encoding), [number(1.0), text("1"), text("v")]);
    assert_eq!(features(&parsed)[1], [1.0, 1.0, 1.0, 0.0]);
    assert_eq!(features(&parsed)[2], [1.0, 1.0, 1.0, 0.0]);
    assert_eq!(features(&parsed)[3], [2.0, 1.0, 0.0, 1.0]);
}

#[test]
fn filled_cells_are_those_of_the_same_table_with_the_values_written() {
    let fill = |a: &str, bit: &str, word: &str| {
        let table = GAPS.replace("\n,1", &format!("\n{a},1"));
        let table = table.replace("\n?,1", &format!("\n{a},1"));
        table
            .replace("1,,u", &format!("1,{bit},u"))
            .replace("2,1,,", &format!("2,1,{word},"))
    };
    let written = fill("1", "1", "v");
    let digest_of = |body: &str, texts: &[&str]| {
        let (parsed, _) = read(body, texts);
        digest(&parsed.data, parsed.classes.as_ref(), None, None)
    };
    for texts in [&["scale=standard"][..], &["scale=range"], &[]] {
        let filled = [texts, &["missing=most-frequent"]].concat();
        assert_eq!(digest_of(GAPS, &filled), digest_of(&written, texts));
    }
    let filled = ["missing=most-frequent", "numbers=thermometer", "bins=1"];
    let (parsed, encoding) = read(GAPS, &filled);
    // A filled cell does not move the threshold, which is the median of 1, 2, 4 and 9.
    let thresholds = vec![2.0];
    assert_eq!(
        encoding.columns[0].kind,
        ColumnKind::Thermometer { thresholds }
    );
    assert_eq!(features(&parsed)[1][0], 0.0);
}

#[test]
fn filled_dates_have_parts() {
    let body = "day,y\n2024-03-01,1\n,0\n2024-03-05,1\n2024-03-03,0\n";
    let (parsed, encoding) = read(body, &["missing=median"]);
    assert_eq!(features(&parsed)[1], features(&parsed)[3]);
    assert!(encoding.columns.iter().all(|part| part.fill.is_some()));
    let (parsed, encoding) = read(body, &["missing=indicator", "scale=range"]);
    let names = parsed.feature_names.clone().expect("names");
    assert!(names.contains(&"day=?".to_owned()), "{names:?}");
    assert_eq!(
        encoding.columns.iter().filter(|part| part.missing).count(),
        1
    );
    let indicator = names.iter().position(|name| name == "day=?").expect("it");
    let indicators: Vec<f64> = features(&parsed).iter().map(|row| row[indicator]).collect();
    assert_eq!(indicators, [0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn columns_without_a_missing_cell_are_filled_later() {
    let (_, encoding) = read("a,w,y\n1,u,1\n3,v,0\n5,v,0\n", &["missing=mean"]);
    let mut again = options_of(&["labels=none"]);
    again.table.encoding = Some(Arc::new(encoding));
    let parsed = parse(Format::Csv, &b"a,w\n,u\n"[..], &again).expect("a filled row");
    assert_eq!(features(&parsed), [[3.0, 1.0, 0.0]]);
    let (_, encoding) = read("a,w,y\n1,u,1\n3,v,0\n5,v,0\n", &["missing=most-frequent"]);
    again.table.encoding = Some(Arc::new(encoding));
    let parsed = parse(Format::Csv, &b"a,w\n,\n"[..], &again).expect("a filled row");
    assert_eq!(features(&parsed), [[1.0, 0.0, 1.0]]);
}

#[test]
fn encodings_of_files_have_sound_scales_and_fills() {
    let (_, encoding) = read(GAPS, &["missing=most-frequent", "scale=range"]);
    let check = |change: &dyn Fn(&mut TableEncoding)| {
        let mut changed = encoding.clone();
        change(&mut changed);
        changed.check(Some(changed.n())).is_ok()
    };
    assert!(check(&|_| {}));
    let scaled = |offset, divisor| Some(Scale { offset, divisor });
    for (at, scale) in [
        (0, scaled(0.0, 0.0)),
        (0, scaled(0.0, -1.0)),
        (0, scaled(f64::NAN, 1.0)),
        (0, scaled(0.0, f64::INFINITY)),
        (2, scaled(0.0, 1.0)),
    ] {
        assert!(!check(&|own| own.columns[at].scale = scale), "{scale:?}");
    }
    for (at, fill) in [
        (0, "NaN"),
        (0, "1e999"),
        (0, "v"),
        (0, "2024-01-01"),
        (1, "2"),
        (1, "NA"),
        (2, "?"),
    ] {
        let given = Some(fill.to_owned());
        assert!(
            !check(&|own| own.columns[at].fill.clone_from(&given)),
            "{fill}"
        );
    }
}

proptest! {
    #[test]
    fn fits_do_not_depend_on_the_order_or_on_where_rows_are_kept(
        mut cells in prop::collection::vec((0..2000_i32, 0..4_u8), 3..1500),
        options_at in 0..5_usize,
    ) {
        let body = |cells: &[(i32, u8)]| {
            let rows = cells.iter().enumerate().map(|(row, (number, word))| {
                let number = match word {
                    3 if row > 1 => String::new(),
                    _ => format!("{}", f64::from(*number) / 8.0 + 0.125),
                };
                format!("{number},{},{}\n", ["u", "v", "", "w"][usize::from(*word)], row % 2)
            });
            format!("a,w,y\n{}", rows.collect::<String>())
        };
        cells[0].1 = 0;
        cells[1].1 = 1;
        let texts = [
            ["missing=mean", "scale=standard"],
            ["missing=median", "scale=range"],
            ["missing=most-frequent", "scale=none"],
            ["missing=indicator", "scale=standard"],
            ["missing=median", "numbers=thermometer"],
        ][options_at];
        let (parsed, encoding) = read(&body(&cells), &texts);
        let spool = Spool::new(256, || Ok(Cursor::new(Vec::new())));
        let text = body(&cells);
        let spooled = gather(Format::Csv, &mut text.as_bytes(), &options_of(&texts), spool);
        let spooled = spooled.expect("the same table").table.expect("a table");
        prop_assert_eq!(&*spooled, &encoding);
        // The present numbers alone decide the fill, in whatever order.
        let mut numbers: Vec<f64> = text
            .lines()
            .skip(1)
            .filter_map(|line| line.split(',').next()?.parse().ok())
            .collect();
        numbers.sort_by(f64::total_cmp);
        let count = numbers.len();
        let expected = match texts[0] {
            "missing=mean" | "missing=indicator" => numbers.iter().sum::<f64>() / count as f64,
            "missing=median" => (numbers[(count - 1) / 2] + numbers[count / 2]) / 2.0,
            _ => {
                let runs = || numbers.chunk_by(|a, b| a == b);
                let most = runs().map(<[f64]>::len).max().expect("a number");
                runs().find(|run| run.len() == most).expect("a run")[0]
            }
        };
        prop_assert_eq!(&encoding.columns[0].fill, &Some(expected.to_string()));
        cells[2..].reverse();
        let (reversed, _) = read(&body(&cells), &texts);
        let mut sums = [&parsed, &reversed].map(features).map(|rows| {
            let sum = |row: &Vec<f64>| row.iter().sum::<f64>();
            let mut sums: Vec<f64> = rows.iter().map(sum).collect();
            sums.sort_by(f64::total_cmp);
            sums
        });
        let [first, second] = &mut sums;
        prop_assert_eq!(first, second);
    }
}
