//! One table in the spellings of spreadsheets and data tools, all of which have the same digest and the same
//! features.

use super::parquet_tables::plain;
use super::parquet_writer::{Column, texts, written};
use super::workbooks::{Book, row};
use super::*;
use crate::digest;

type Grid = Vec<Vec<String>>;

/// Rows of names and cells. The text column, the boolean column and the number column follow the label.
fn grid() -> Grid {
    let rows = [
        ["class", "odor", "wet", "size"],
        ["p", "foul", "yes", "2.5"],
        ["e", "none", "no", "1.5"],
        ["e", "none", "yes", "3"],
        ["p", "foul", "no", "0.5"],
    ];
    rows.map(|row| row.map(str::to_owned).to_vec()).to_vec()
}

/// The grid with other texts in one column, below its name.
fn with(column: usize, texts: [&str; 4]) -> Grid {
    let mut grid = grid();
    for (row, text) in grid[1..].iter_mut().zip(texts) {
        row[column] = text.to_owned();
    }
    grid
}

/// The grid with one more column in front.
fn numbered(texts: [&str; 5]) -> Grid {
    let mut grid = grid();
    for (row, text) in grid.iter_mut().zip(texts) {
        row.insert(0, text.to_owned());
    }
    grid
}

/// The grid with the label column at this position and under this name.
fn labelled_at(place: usize, name: &str) -> Grid {
    let mut grid = grid();
    grid[0][0] = name.to_owned();
    for row in &mut grid {
        let label = row.remove(0);
        row.insert(place, label);
    }
    grid
}

fn joined(grid: &Grid, delimiter: &str, end: &str) -> Vec<u8> {
    let lines = grid.iter().map(|row| row.join(delimiter) + end);
    lines.collect::<String>().into_bytes()
}

fn csv(grid: &Grid) -> Vec<u8> {
    joined(grid, ",", "\n")
}

fn quoted(grid: &Grid) -> Vec<u8> {
    let quote = |row: &Vec<String>| row.iter().map(|cell| format!("\"{cell}\"")).collect();
    csv(&grid.iter().map(quote).collect())
}

fn workbook(grid: &Grid) -> Vec<u8> {
    let rows = grid.iter().map(|cells| {
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        row(&cells)
    });
    Book::of(&rows.collect::<String>()).bytes()
}

/// The rows as JSON objects. Numbers stay texts if `are_texts`.
fn objects(grid: &Grid, are_texts: bool) -> Vec<String> {
    let member = |(name, cell): (&String, &String)| match cell.parse::<f64>() {
        Ok(_) if !are_texts => format!("{name:?}:{cell}"),
        _ if cell == "true" || cell == "false" => format!("{name:?}:{cell}"),
        _ => format!("{name:?}:{cell:?}"),
    };
    let object = |row: &Vec<String>| {
        let members: Vec<_> = grid[0].iter().zip(row).map(member).collect();
        format!("{{{}}}", members.join(","))
    };
    grid[1..].iter().map(object).collect()
}

/// The rows as ARFF, with this mark between the values.
fn arff(grid: &Grid, mark: &str) -> Vec<u8> {
    let head = "@relation r\n@attribute class {p,e}\n@attribute odor {foul,none}\n@attribute wet {no,yes}\n\
                @attribute size real [0,3]\n@data\n";
    let rows = joined(&grid[1..].to_vec(), mark, "\n");
    [head.as_bytes(), &rows].concat()
}

fn parquet(grid: &Grid) -> Vec<u8> {
    let texts_of = |column: usize| {
        let cells: Vec<&str> = grid[1..].iter().map(|row| row[column].as_str()).collect();
        texts(&cells)
    };
    let sizes = grid[1..].iter().map(|row| row[3].parse().ok());
    let columns = vec![
        texts_of(0),
        texts_of(1),
        texts_of(2),
        Column::Doubles(sizes.collect()),
    ];
    let fields = "required binary class (UTF8); required binary odor (UTF8); optional binary wet (UTF8); \
                  required double size";
    written(fields, &[columns], plain())
}

/// The text in UTF-16, the lower byte of each unit first if `is_little`.
fn utf16(text: &[u8], is_little: bool) -> Vec<u8> {
    let units = str::from_utf8(text).unwrap().encode_utf16();
    let bytes = |unit: u16| match is_little {
        true => unit.to_le_bytes(),
        false => unit.to_be_bytes(),
    };
    units.flat_map(bytes).collect()
}

/// The spellings of files as people have them, with the options that they need.
fn repaired() -> Vec<(Format, &'static str, Vec<u8>)> {
    use Format::{Arff, Csv, Json, Parquet};
    let base = grid();
    let sizes = |texts| csv(&with(3, texts));
    let mut with_gap = base.clone();
    with_gap.push(["p", "foul", "no", "-"].map(str::to_owned).to_vec());
    vec![
        (Csv, "", joined(&base, " ", "\n")),
        (Csv, "delimiter=blank", joined(&base, "   ", " \n")),
        (Csv, "", joined(&base, "|", "\n")),
        (Csv, "", joined(&base, ",", ",\n")),
        (
            Csv,
            "comment=%",
            [b"% mushrooms\n".to_vec(), csv(&base)].concat(),
        ),
        (Csv, "", sizes(["$2.5", "$1.50", "$3", "$0.5"])),
        (Csv, "", sizes(["2.5 €", "1.5 €", "3 €", ".5 €"])),
        (Csv, "", sizes(["250%", "150 %", "300%", "50.0%"])),
        (Csv, "missing=drop", csv(&with_gap)),
        (Csv, "charset=windows-1252", csv(&base)),
        (Csv, "charset=utf-16be", utf16(&csv(&base), false)),
        (
            Csv,
            "",
            [vec![0xFF, 0xFE], utf16(&csv(&base), true)].concat(),
        ),
        (
            Json,
            "",
            format!("[{}]", objects(&base, true).join(",")).into_bytes(),
        ),
        (Arff, "labels=class&kinds=wet:boolean", arff(&base, ",")),
        (Arff, "labels=class&kinds=wet:boolean", arff(&base, " ")),
        (Parquet, "", parquet(&base)),
    ]
}

/// Every spelling, with the options that it needs.
fn spellings() -> Vec<(Format, &'static str, Vec<u8>)> {
    use Format::{Csv, Json, Ndjson, Tsv, Xlsx};
    let base = grid();
    let flags = |no: &'static str, yes: &'static str| with(2, [yes, no, yes, no]);
    let commas = with(3, ["2,5", "1,5", "3", "0,5"]);
    let mut blank_lines = csv(&base);
    blank_lines.extend(b"\n \n");
    let marked = [b"\xEF\xBB\xBF".to_vec(), csv(&base)].concat();
    let unended = csv(&base).trim_ascii_end().to_vec();
    let lines = |grid: &Grid, are_texts| objects(grid, are_texts).join("\n").into_bytes();
    let truths = flags("false", "true");
    vec![
        (Csv, "", csv(&base)),
        (Csv, "header=true", csv(&base)),
        (Csv, "labels=class", csv(&base)),
        (Csv, "labels=1", csv(&base)),
        (Csv, "labels=first", csv(&base)),
        (Csv, "positive=p", csv(&base)),
        (Csv, "", joined(&base, ",", "\r\n")),
        (Csv, "", marked),
        (Csv, "", unended),
        (Csv, "", blank_lines),
        (Csv, "", joined(&base, " , ", "\n")),
        (Csv, "", joined(&base, ";", "\n")),
        (Csv, "delimiter=;", joined(&base, ";", "\n")),
        (Csv, "", joined(&base, "\t", "\n")),
        (Csv, "delimiter=tab", joined(&base, "\t", "\n")),
        (Tsv, "", joined(&base, "\t", "\r\n")),
        (Csv, "decimal=,", joined(&commas, ";", "\n")),
        (Csv, "decimal=,", joined(&commas, "\t", "\n")),
        (Csv, "decimal=,", quoted(&commas)),
        (Csv, "", csv(&with(3, ["2.50", "1.5e0", "3.0", ".5"]))),
        (Csv, "", csv(&with(3, ["+2.5", "15e-1", "3.", "0.5"]))),
        (Csv, "", quoted(&base)),
        (
            Csv,
            "",
            csv(&with(1, ["\"foul\"", "none", "\"none\"", "foul"])),
        ),
        (Csv, "", csv(&flags("NO", "Yes"))),
        (Csv, "", csv(&flags("False", "True"))),
        (Csv, "", csv(&flags("FALSE", "TRUE"))),
        (Csv, "", csv(&flags("f", "t"))),
        (Csv, "", csv(&flags("n", "y"))),
        (Csv, "", csv(&flags("off", "on"))),
        (Csv, "", csv(&flags("0", "1"))),
        (Csv, "kinds=wet:boolean", csv(&flags("f", "t"))),
        (Csv, "", csv(&numbered(["", "0", "1", "2", "3"]))),
        (Csv, "", csv(&numbered(["", "1", "2", "3", "4"]))),
        (Csv, "ignore=id", csv(&numbered(["id", "7", "9", "4", "2"]))),
        (
            Csv,
            "kinds=id:ignored",
            csv(&numbered(["id", "a", "b", "c", "d"])),
        ),
        (Csv, "", csv(&labelled_at(3, "class"))),
        (Csv, "labels=last", csv(&labelled_at(3, "kind"))),
        (Csv, "labels=-2", csv(&labelled_at(2, "kind"))),
        (Csv, "", csv(&labelled_at(1, "TARGET"))),
        (Csv, "", csv(&with(0, ["1", "0", "0", "1"]))),
        (Csv, "", csv(&with(0, ["1", "-1", "-1", "1"]))),
        (
            Csv,
            "positive=bad",
            csv(&with(0, ["bad", "good", "fair", "bad"])),
        ),
        (Xlsx, "", workbook(&base)),
        (
            Xlsx,
            "sheet=Sheet1",
            workbook(&numbered(["", "0", "1", "2", "3"])),
        ),
        (Xlsx, "labels=kind", workbook(&labelled_at(3, "kind"))),
        (Ndjson, "", lines(&truths, false)),
        (Ndjson, "", lines(&base, true)),
        (
            Json,
            "",
            format!("{{\"rows\":[{}]}}", objects(&truths, false).join(",")).into_bytes(),
        ),
    ]
}

#[test]
fn every_spelling_of_a_table_has_one_digest() {
    let spellings = [spellings(), repaired()].concat();
    assert!(spellings.len() >= 60);
    for coding in ["real", "thermometer"] {
        let mut seen = None;
        for (format, options, body) in &spellings {
            let mut read = Options::default();
            for option in options.split('&').filter(|option| !option.is_empty()) {
                let (name, text) = option.split_once('=').unwrap();
                assert_eq!(read.set(name, text), Ok(true), "{option}");
            }
            assert_eq!(read.set("numbers", coding), Ok(true));
            let parsed = parse(*format, body.as_slice(), &read);
            let shown = String::from_utf8_lossy(body);
            let parsed = parsed.unwrap_or_else(|error| panic!("{options} {shown}: {error}"));
            let named = digest(&parsed.data, parsed.classes.as_ref(), None, None);
            let found = (digest(&parsed.data, None, None, None), parsed.feature_names);
            let (expected, name) = seen.get_or_insert_with(|| (found.clone(), named));
            assert_eq!(found, *expected, "{options} {shown}");
            // The names of the classes are part of the digest.
            let names = parsed
                .classes
                .as_ref()
                .map(|classes| classes.each().collect::<Vec<_>>());
            let is_same = names == Some(vec![Some("e"), Some("p")]);
            assert_eq!(named == *name, is_same, "{options} {shown}");
        }
    }
}
