//! Tests of raw cells: a table that is encoded again is the table of its file, and a part of the rows may decide the
//! features.

use std::io::Cursor;
use std::sync::Arc;

use proptest::prelude::*;

use super::workbooks::{Book, row};
use super::*;
use crate::{
    CellKeeper, LabelRule, Missing, Spool, TableEncoding, TableOptions, Unknown, encode_again,
    encode_examples, encode_for, gather,
};

/// The raw cells of a body, if they are kept.
fn cells(format: Format, body: &[u8], options: &Options) -> Option<Vec<u8>> {
    let keeper = CellKeeper::default();
    let keeping = Options {
        cells: Some(keeper.clone()),
        ..options.clone()
    };
    let spool = Spool::new(1 << 12, || Ok(Cursor::new(Vec::new())));
    let with = gather(format, body, &keeping, spool);
    let without = parse(format, body, options).map(Parsed::from);
    assert_eq!(rows_of(with), rows_of(without), "keeping changes nothing");
    let mut raw = keeper.take()?;
    let mut bytes = Vec::new();
    raw.write(&mut bytes).expect("memory");
    assert_eq!(bytes.len() as u64, raw.bytes());
    Some(bytes)
}

type Read<Table = Arc<TableEncoding>> = Result<([u8; 32], Table), String>;

/// The digest of the rows, and their encoding if they are a table.
fn rows_of(
    parsed: Result<Parsed<crate::ParsedRows>, FormatError>,
) -> Read<Option<Arc<TableEncoding>>> {
    let mut parsed = parsed.map_err(|error| error.detail)?;
    let stored = parsed.store(std::io::sink(), 0).expect("rows");
    Ok((stored.digest, parsed.table))
}

fn outcome(parsed: Result<Parsed<crate::ParsedRows>, FormatError>) -> Read {
    let (digest, table) = rows_of(parsed)?;
    Ok((digest, table.expect("a table")))
}

fn again(cells: &[u8], options: &Options) -> Read {
    outcome(encode_again(cells, options, None))
}

fn anew(format: Format, body: &[u8], options: &Options) -> Read {
    outcome(parse(format, body, options).map(Parsed::from))
}

const TABLE: &str = "id,when,x,word,bit,y\n\
    r1,2024-01-02,1.5,red,yes,p\n\
    r2,2024-02-03,,blue,no,q\n\
    r3,2024-03-04,12,?,yes,p\n\
    r4,2024-04-05,-3,red,no,q\n\
    r5,2024-05-06,7.25,\"gr,een\",,q\n";

const WAYS: [&[&str]; 12] = [
    &["missing=drop"],
    &["missing=mean", "scale=standard"],
    &["missing=indicator", "scale=range"],
    &["missing=most-frequent"],
    &["numbers=thermometer", "bins=2"],
    &["numbers=thermometer", "ignore=id,when"],
    &["kinds=x:nominal"],
    &["labels=bit", "missing=median"],
    &["labels=none", "missing=drop"],
    &["vocabulary=open", "kinds=when:nominal"],
    &["vocabulary=open", "kinds=word:text", "words=1-2"],
    &["positive=red", "labels=word", "missing=mean"],
];

#[test]
fn tables_are_encoded_again_as_from_their_files() {
    let json = |object: &str| format!("[{object}]");
    let objects: Vec<String> = TABLE
        .lines()
        .skip(1)
        .enumerate()
        .map(|(at, _)| {
            let x = ["1.5", "null", "12", "-3", "7.25"][at];
            let word = [r#""red""#, r#""blue""#, "null", r#""red""#, r#""gr,een""#][at];
            let bit = ["true", "false", "true", "false", "null"][at];
            let y = ["p", "q", "p", "q", "q"][at];
            format!(r#"{{"id":"r{at}","when":"2024-0{}-03","x":{x},"word":{word},"bit":{bit},"y":"{y}"}}"#, at + 1)
        })
        .collect();
    let arff = "@relation r\n@attribute id string\n@attribute when string\n@attribute x numeric\n\
        @attribute word {red,blue,'gr,een',never}\n@attribute bit {no,yes}\n@attribute y {q,p}\n@data\n\
        r1,2024-01-02,1.5,red,yes,p\nr2,2024-02-03,?,blue,no,q\n{0 r3,1 2024-03-04,2 12,4 yes,5 p}\n\
        r4,2024-04-05,-3,red,no,q\n";
    let sheet = [
        row(&["id", "when", "x", "word", "bit", "y"]),
        row(&["r1", "2024-01-02", "1.5", "red", "yes", "p"]),
        row(&["r2", "2024-02-03", "", "blue", "no", "q"]),
        row(&["r3", "2024-03-04", "12", "red", "yes", "p"]),
    ];
    let bodies: [(Format, Vec<u8>); 5] = [
        (Format::Xlsx, Book::of(&sheet.concat()).bytes()),
        (Format::Csv, TABLE.into()),
        (Format::Ndjson, objects.join("\n").into()),
        (Format::Json, json(&objects.join(",")).into()),
        (Format::Arff, arff.into()),
    ];
    let mut compared = 0;
    for (format, body) in &bodies {
        for first in WAYS {
            let first = options_of(first);
            let Ok(_) = anew(*format, body, &first) else {
                continue;
            };
            let kept = cells(*format, body, &first).expect("cells that are no features");
            for second in WAYS {
                let named = options_of(second);
                let mut labelled = named.clone();
                if *format == Format::Arff && labelled.labels.is_none() {
                    labelled.labels = Some(LabelsColumn::Last);
                }
                assert_eq!(
                    again(&kept, &labelled),
                    anew(*format, body, &named),
                    "{format:?} {first:?} {second:?}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 400, "{compared}");
}

#[test]
fn tables_of_numbers_keep_cells_only_if_their_examples_are_not_the_cells() {
    let plain = "a,b,y\n1,2.5,1\n0,3,0\n1,4,1\n";
    let csv = |body: &str, texts: &[&str]| cells(Format::Csv, body.as_bytes(), &options_of(texts));
    assert_eq!(csv(plain, &[]), None);
    assert_eq!(csv("1,0,1\n0,1,0\n", &["labels=last"]), None);
    assert_eq!(csv("a,b\n1,0\n0,1\n", &["labels=none"]), None);
    assert!(csv(plain, &["ignore=b"]).is_some());
    assert!(csv(plain, &["positive=1"]).is_some());
    // The first rows become cells when a later one shows that they must be kept.
    let late = "a,b,y\n1,2.5,p\n0,3,q\n1,,p\n0,4,q\n";
    for first in ["missing=drop", "numbers=thermometer", "missing=mean"] {
        let kept = csv(late, &[first]).expect("a missing cell");
        for second in ["missing=drop", "missing=indicator", "labels=none"] {
            let mut texts = vec![second];
            texts.extend(
                ["missing=median"]
                    .iter()
                    .filter(|_| second == "labels=none"),
            );
            let named = options_of(&texts);
            let expected = anew(Format::Csv, late.as_bytes(), &named);
            assert_eq!(again(&kept, &named), expected, "{first} {second}");
        }
    }
    // Examples that are no table have no cells.
    let body = "{\"x\": [1, 0], \"y\": 1}\n";
    assert_eq!(
        cells(Format::Ndjson, body.as_bytes(), &options_of(&[])),
        None
    );
}

#[test]
fn tables_of_numbers_are_encoded_again_from_their_examples() {
    let plain = "a,b,y\n1,2.5,1\n0,3,0\n1,4,1\n0,-3,1\n";
    let bits = "y,a,b\np,1,0\nq,1,1\nr,0,1\np,0,0\n";
    let signs = "a,b,y\n1,-1,1\n-1,-1,0\n-1,1,1\n";
    for body in [plain, bits, signs] {
        assert_eq!(cells(Format::Csv, body.as_bytes(), &options_of(&[])), None);
        let parsed = parse(Format::Csv, body.as_bytes(), &options_of(&[])).expect("a table");
        let table = parsed.table.clone().expect("a table");
        assert!(table.is_plain());
        for second in [
            &["scale=standard"][..],
            &["scale=range", "missing=mean"],
            &["numbers=thermometer", "kinds=a:number"],
            &["ignore=b"],
            &["labels=b", "positive=1"],
            &["kinds=a:nominal,b:nominal"],
            &["labels=none"],
            &["vocabulary=open"],
            &[],
        ] {
            let named = options_of(second);
            let again = encode_examples(&parsed.data, parsed.zero_bit_value, &table, &named, None);
            let expected = anew(Format::Csv, body.as_bytes(), &named);
            assert_eq!(outcome(again), expected, "{body} {second:?}");
        }
    }
}

/// The outcome for the rows for which `is_learnt` holds.
fn fitted(body: &str, texts: &[&str], is_learnt: &dyn Fn(usize) -> bool) -> Read {
    let named = options_of(texts);
    let raw = cells(Format::Csv, body.as_bytes(), &named).expect("cells");
    let (_, whole) = anew(Format::Csv, body.as_bytes(), &named).expect("a table");
    let classes = whole.label.as_ref().map(|label| &label.classes);
    let open = || Ok(raw.as_slice());
    let fitted = encode_for(
        open,
        &whole,
        classes,
        is_learnt,
        &ParseLimits::DEFAULT,
        None,
    );
    outcome(fitted.map(|fitted| fitted.expect("an encoding of its own")))
}

#[test]
fn columns_are_those_of_the_table_whatever_their_names_are() {
    // A column without a name that counts the rows, beside one whose name is its number.
    let body = ",0,1,y\n0,5.5,1.5,p\n1,2.5,2.5,q\n2,3.5,1.5,p\n3,4.5,9.5,q\n4,1.5,7.5,q\n";
    let texts = ["header=true", "labels=y", "scale=standard"];
    let (_, encoding) = fitted(body, &texts, &|row| row % 2 == 0).expect("a table");
    let names: Vec<&str> = encoding
        .columns
        .iter()
        .map(|own| own.name.as_str())
        .collect();
    assert_eq!(names, ["0", "1"]);
    assert_eq!(encoding.ignored.len(), 1);
    let (_, again) = again(
        &cells(Format::Csv, body.as_bytes(), &options_of(&texts)).expect("cells"),
        &options_of(&["labels=y", "scale=range"]),
    )
    .expect("a table");
    assert_eq!(again.columns.len(), 2);
}

#[test]
fn columns_without_a_learnt_cell_stay_columns() {
    let gaps = |cell: &str| {
        let rows = (0..10).map(|row| {
            let cell = if row == 9 { cell } else { "" };
            format!("{cell},{row}.5,{}\n", row % 2)
        });
        format!("a,b,y\n{}", rows.collect::<String>())
    };
    for (cell, texts) in [
        ("yes", &[][..]),
        ("true", &["missing=most-frequent"]),
        ("2024-01-02", &["numbers=thermometer"]),
        ("7.5", &["missing=mean", "scale=standard"]),
        ("7.5", &["missing=median"]),
        ("7.5", &["missing=most-frequent"]),
        ("45%", &["missing=indicator"]),
    ] {
        let (_, encoding) = fitted(&gaps(cell), texts, &|row| row < 9).expect(cell);
        let first = &encoding.columns[0];
        assert_eq!(first.name, "a", "{cell}");
        if cell == "7.5" {
            // Nothing is known of the column, but it stays one of numbers.
            assert_eq!(first.kind, crate::ColumnKind::Number, "{texts:?}");
            assert_eq!(first.fill.as_deref(), Some("0"), "{texts:?}");
        }
    }
    let (_, encoding) = anew(
        Format::Csv,
        b"a,b,y\n,1.5,1\n,2.5,0\n",
        &options_of(&["missing=mean", "kinds=a:number"]),
    )
    .expect("a table");
    assert_eq!(encoding.columns[0].kind, crate::ColumnKind::Number);
}

#[test]
fn marks_between_thousands_are_known_from_the_whole_table() {
    let body = "a,y\n\"1,234\",p\n950,q\n870,p\n\"1,234,567\",q\n";
    let all = fitted(body, &["scale=range"], &|_| true).expect("a table");
    for learnt in [[true, true, true, false], [false, true, true, false]] {
        let (_, encoding) = fitted(body, &["scale=range"], &|row| learnt[row]).expect("a table");
        assert_eq!(encoding.columns[0].written, all.1.columns[0].written);
    }
    // The numbers that were held out are numbers and not 0.
    let (digest, encoding) =
        fitted(body, &["scale=range"], &|row| row == 1 || row == 2).expect("it");
    let plain = "a,y\n1234,p\n950,q\n870,p\n1234567,q\n";
    let given = Options {
        label_rule: LabelRule::Of(encoding.label.as_ref().expect("labels").classes.clone()),
        table: TableOptions {
            encoding: Some(encoding),
            ..TableOptions::default()
        },
        ..Options::default()
    };
    assert_eq!(
        anew(Format::Csv, plain.as_bytes(), &given).expect("rows").0,
        digest
    );
}

#[test]
fn keeping_cells_changes_no_feature() {
    // A column of signs beside real numbers, and a row that is left out.
    let body = "a,b,y\n1.5,-1,p\n2.5,1,q\n,1,p\n3.5,-1,q\n";
    let dropped = options_of(&["missing=drop"]);
    let raw = cells(Format::Csv, body.as_bytes(), &dropped).expect("cells");
    assert_eq!(
        again(&raw, &options_of(&["missing=drop", "labels=y"])),
        anew(Format::Csv, body.as_bytes(), &dropped)
    );
    // A given encoding may have its columns in another order than the file.
    let (_, own) = anew(
        Format::Csv,
        b"a,b\n1.5,2\n2.5,3\n",
        &options_of(&["labels=none"]),
    )
    .expect("it");
    let mut named = options_of(&["labels=y"]);
    named.table.encoding = Some(own);
    let body = "y,b,a\np,2,1.5\nq,3,4.5\n";
    let raw = cells(Format::Csv, body.as_bytes(), &named).expect("cells");
    assert_eq!(
        again(&raw, &named),
        anew(Format::Csv, body.as_bytes(), &named)
    );
    let free = options_of(&["labels=y", "scale=range"]);
    assert_eq!(
        again(&raw, &free),
        anew(Format::Csv, body.as_bytes(), &free)
    );
}

#[test]
fn options_of_a_file_are_refused_for_cells() {
    let kept = cells(
        Format::Csv,
        TABLE.as_bytes(),
        &options_of(&["missing=drop"]),
    )
    .expect("cells");
    for text in [
        "delimiter=,",
        "header=true",
        "charset=utf-8",
        "comment=#",
        "sheet=1",
    ] {
        let error = again(&kept, &options_of(&[text])).expect_err(text);
        assert!(error.contains("a table that has been read"), "{error}");
    }
}

#[test]
fn damaged_cells_are_refused() {
    let kept = cells(
        Format::Csv,
        TABLE.as_bytes(),
        &options_of(&["missing=drop"]),
    )
    .expect("cells");
    let named = options_of(&["missing=drop"]);
    for at in 0..kept.len() {
        let mut changed = kept.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(again(&changed, &named).is_err(), "byte {at}");
        assert!(again(&kept[..at], &named).is_err(), "{at} bytes");
    }
    // The bit of a frame that zstd does not read.
    let mut changed = kept.clone();
    changed[4] ^= 0x10;
    assert!(again(&changed, &named).is_err());
    let frame = |content: &[u8]| {
        let frame = zstd::bulk::compress(content, 1).expect("memory");
        let crc = crc_fast::crc64_nvme(&frame).to_le_bytes();
        [&frame[..], &crc].concat()
    };
    let head =
        br#"{"names":null,"columns":1000000000,"declared":[],"is_given":false,"options":[]}"#;
    let begun = [&(head.len() as u32).to_le_bytes()[..], head].concat();
    for rest in [
        // A run of more cells than there are columns, a text without an end, and a tag that is none.
        &[0, 0, 0xff, 0xff, 0xff, 0xff, 0x7f][..],
        &[0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0, 9],
        &[2, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 0],
        &[3, 3],
    ] {
        let bytes = frame(&[&begun[..], rest].concat());
        assert!(again(&bytes, &named).is_err(), "{rest:?}");
    }
    assert!(again(&frame(&u32::MAX.to_le_bytes()), &named).is_err());
}

/// A table with these cells in one column of each kind. The first rows are such that each kind is known.
fn table(rows: &[(u8, i16)]) -> String {
    let line = |(at, (code, number)): (usize, &(u8, i16))| {
        let missing = |bit: u8, text: String| match code & bit == 0 || at < 4 {
            true => text,
            false => String::new(),
        };
        let word =
            ["red", "blue", "green", "white"][usize::from(code & 3) % if at < 4 { 2 } else { 4 }];
        let x = missing(4, format!("{}", f64::from(*number) / 4.0 + 0.125));
        let word = missing(8, word.to_owned());
        let bit = missing(16, if number % 2 == 0 { "yes" } else { "no" }.to_owned());
        let day = missing(32, format!("2024-01-{:02}", 1 + number.rem_euclid(28)));
        format!("n{at},{x},{word},{bit},{day},{}\n", ["p", "q", "r"][at % 3])
    };
    let lines = rows.iter().enumerate().map(line);
    format!("name,x,word,bit,day,y\n{}", lines.collect::<String>())
}

proptest! {
    #[test]
    fn part_of_the_rows_decides_the_features(
        rows in prop::collection::vec((any::<u8>(), any::<i16>()), 8..60),
        learnt in prop::collection::vec(any::<bool>(), 60),
        way in 0..6_usize,
    ) {
        let texts = [
            &["missing=mean", "scale=standard"][..],
            &["missing=indicator", "scale=range"],
            &["missing=most-frequent", "scale=standard"],
            &["missing=drop", "scale=range"],
            &["numbers=thermometer", "bins=3"],
            &["missing=median", "ignore=name"],
        ][way];
        let is_dropped = |at: usize| way == 3 && at >= 4 && rows[at].0 & 0b11_1100 != 0;
        // The rows that are left out are not counted.
        let kept: Vec<usize> = (0..rows.len()).filter(|&at| !is_dropped(at)).collect();
        let is_learnt = |at: usize| at < 4 || learnt[at];
        let named = options_of(texts);
        let body = table(&rows);
        let Ok((_, whole)) = anew(Format::Csv, body.as_bytes(), &named) else {
            return Ok(());
        };
        let raw = cells(Format::Csv, body.as_bytes(), &named).expect("cells");
        let limits = &ParseLimits::DEFAULT;
        let fitted = encode_for(
            || Ok(raw.as_slice()),
            &whole,
            whole.label.as_ref().map(|label| &label.classes),
            &|at| is_learnt(kept[at]),
            limits,
            None,
        );
        let fitted = fitted.map(|fitted| fitted.expect("an encoding of its own"));
        let fitted = outcome(fitted).expect("the learnt rows have features");
        // The same by hand: the learnt rows alone give the encoding, and all rows are read under it.
        let lines: Vec<&str> = body.lines().collect();
        let part: Vec<&str> = lines
            .iter()
            .enumerate()
            .filter(|(line, _)| *line == 0 || is_learnt(line - 1))
            .map(|(_, line)| *line)
            .collect();
        let stated = ["name:nominal", "x:number", "word:nominal", "bit:boolean", "day:date"];
        let stated: Vec<&str> = stated
            .into_iter()
            .filter(|kind| way != 5 || *kind != "name:nominal")
            .collect();
        let kinds = format!("kinds={}", stated.join(","));
        let of_part = options_of(&[texts, &[kinds.as_str()]].concat());
        let (_, own) = anew(Format::Csv, part.join("\n").as_bytes(), &of_part).expect("a table");
        let own = TableEncoding { label: whole.label.clone(), ..(*own).clone() };
        let given = Options {
            label_rule: LabelRule::Of(whole.label.as_ref().expect("labels").classes.clone()),
            table: TableOptions {
                encoding: Some(Arc::new(own)),
                unknown: Unknown::Zero,
                missing: Some(Missing::Drop).filter(|_| way == 3),
                ..TableOptions::default()
            },
            ..Options::default()
        };
        let expected = anew(Format::Csv, body.as_bytes(), &given).expect("rows of the encoding");
        prop_assert_eq!(fitted.0, expected.0);
        prop_assert_eq!(&fitted.1.columns, &expected.1.columns);
        if (0..rows.len()).all(|at| is_learnt(at) || is_dropped(at)) {
            prop_assert_eq!(&fitted.1.columns, &whole.columns);
        }
    }
}
