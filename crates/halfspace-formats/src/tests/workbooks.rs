//! Tests of XLSX: the cells, the sheets and the table of good workbooks, and how writers differ.

use std::io::{Cursor, Write};

use proptest::collection::vec;
use proptest::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use crate::{DecimalMark, Missing, Numbers, Spool, TableOptions, gather};

const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
pub const RELATED: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const LISTS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";

/// Writes an archive with these parts.
pub fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, text) in parts {
        writer.start_file(*name, options).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A list of relationships. Each is numbered by its position, as in `r1`.
pub fn relationships(list: &[(&str, &str)]) -> String {
    let one = |(number, (kind, target)): (usize, &(&str, &str))| {
        format!(r#"<Relationship Id="r{number}" Type="{RELATED}/{kind}" Target="{target}"/>"#)
    };
    let list: String = (1..).zip(list).map(one).collect();
    format!(r#"<Relationships xmlns="{LISTS}">{list}</Relationships>"#)
}

/// A workbook to write.
#[derive(Clone)]
pub struct Book {
    /// Names, further attributes and parts of the sheets.
    pub sheets: Vec<(&'static str, &'static str, String)>,
    pub strings: String,
    pub styles: String,
    /// Whether days count from 1904.
    pub is_later: bool,
}

impl Book {
    /// A workbook with one sheet of these rows.
    pub fn of(rows: &str) -> Self {
        Self {
            sheets: vec![("Sheet1", "", sheet(rows))],
            strings: String::new(),
            styles: String::new(),
            is_later: false,
        }
    }

    pub fn parts(&self) -> Vec<(String, String)> {
        let mut related = Vec::new();
        let mut parts = Vec::new();
        let mut sheets = String::new();
        for (number, (name, more, text)) in (1..).zip(&self.sheets) {
            sheets +=
                &format!(r#"<sheet name="{name}" sheetId="{number}" {more} r:id="r{number}"/>"#);
            related.push(("worksheet", format!("worksheets/sheet{number}.xml")));
            parts.push((format!("xl/worksheets/sheet{number}.xml"), text.clone()));
        }
        if !self.strings.is_empty() {
            related.push(("sharedStrings", "sharedStrings.xml".to_owned()));
            let text = format!(r#"<sst xmlns="{MAIN}">{}</sst>"#, self.strings);
            parts.push(("xl/sharedStrings.xml".to_owned(), text));
        }
        if !self.styles.is_empty() {
            related.push(("styles", "styles.xml".to_owned()));
            let text = format!(r#"<styleSheet xmlns="{MAIN}">{}</styleSheet>"#, self.styles);
            parts.push(("xl/styles.xml".to_owned(), text));
        }
        let related: Vec<_> = related
            .iter()
            .map(|(kind, target)| (*kind, target.as_str()))
            .collect();
        let root = relationships(&[("officeDocument", "xl/workbook.xml")]);
        let start_of_days = match self.is_later {
            true => r#"<workbookPr date1904="1"/>"#,
            false => "",
        };
        let start = r#"<?xml version="1.0" encoding="UTF-8"?>"#;
        let book = format!(
            r#"{start}<workbook xmlns="{MAIN}" xmlns:r="{RELATED}">{start_of_days}<sheets>{sheets}</sheets></workbook>"#
        );
        parts.push(("_rels/.rels".to_owned(), root));
        parts.push((
            "xl/_rels/workbook.xml.rels".to_owned(),
            relationships(&related),
        ));
        parts.push(("xl/workbook.xml".to_owned(), book));
        parts
    }

    pub fn bytes(&self) -> Vec<u8> {
        let parts = self.parts();
        // The fuzz target reads parts, too.
        let texts = [
            "xl/worksheets/sheet1.xml",
            "xl/sharedStrings.xml",
            "xl/styles.xml",
        ]
        .map(|wanted| {
            let found = parts.iter().find(|(name, _)| name == wanted);
            found.map_or(&[][..], |(_, text)| text.as_bytes())
        });
        corpus::keep(Format::Xlsx, &Options::default(), &texts.join(&0xFF));
        let parts: Vec<_> = parts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        archive(&parts)
    }
}

/// The part of a sheet with these rows.
pub fn sheet(rows: &str) -> String {
    format!(r#"<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>"#)
}

/// A row of cells: numbers as they are, other texts inline, nothing for an empty text.
pub fn row(cells: &[&str]) -> String {
    let cell = |text: &&str| match text.parse::<f64>() {
        Ok(_) => format!("<c><v>{text}</v></c>"),
        Err(_) if text.is_empty() => "<c/>".to_owned(),
        Err(_) => format!(r#"<c t="inlineStr"><is><t>{text}</t></is></c>"#),
    };
    let cells: String = cells.iter().map(cell).collect();
    format!("<row>{cells}</row>")
}

fn xlsx(book: &Book, options: &Options) -> Result<Parsed, FormatError> {
    parse(Format::Xlsx, book.bytes().as_slice(), options)
}

fn good(book: &Book) -> Parsed {
    xlsx(book, &Options::default()).expect("a good workbook")
}

/// Checks that a workbook is the same table as a CSV text.
fn same(book: &Book, csv: &str, options: &Options) {
    same_as_csv(Format::Xlsx, &book.bytes(), csv, options);
}

fn with(table: TableOptions) -> Options {
    Options {
        table,
        ..Options::default()
    }
}

fn with_sheet(name: &str) -> Options {
    with(TableOptions {
        sheet: Some(name.to_owned()),
        ..TableOptions::default()
    })
}

#[test]
fn workbook_and_csv_give_the_same_table() {
    let mut book = Book::of(concat!(
        r#"<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c>"#,
        r#"<c r="D1" t="inlineStr"><is><t>ill</t></is></c></row>"#,
        r#"<row r="2"><c r="A2" t="s"><v>3</v></c><c r="B2"><v>10.0</v></c><c r="C2" t="b"><v>1</v></c>"#,
        r#"<c r="D2" t="s"><v>5</v></c></row>"#,
        r#"<row r="3"><c r="A3" t="s"><v>4</v></c><c r="B3"><v>0.30000000000000004</v></c>"#,
        r#"<c r="C3" t="b"><v>0</v></c><c r="D3" t="str"><f>IF(A3="a","yes","no")</f><v>no</v></c></row>"#,
        r#"<row r="4"><c r="B4"><v>1E-3</v></c><c r="C4" t="b"><v>0</v></c><c r="D4" t="s"><v>6</v></c></row>"#,
    ));
    book.strings = ["odor", "size", "wet", "a", "n", "yes", "no"]
        .map(|text| format!("<si><t>{text}</t></si>"))
        .concat();
    let csv = "odor,size,wet,ill\na,10,TRUE,yes\nn,0.30000000000000004,FALSE,no\n,0.001,FALSE,no\n";
    let last = Options {
        labels: Some(LabelsColumn::Named("ill".to_owned())),
        ..Options::default()
    };
    same(&book, csv, &last);
    let bits = TableOptions {
        numbers: Numbers::Thermometer,
        bins: Some(2),
        missing: Some(Missing::Drop),
        ..TableOptions::default()
    };
    same(
        &book,
        csv,
        &Options {
            table: bits,
            ..last.clone()
        },
    );
    // Rows under the encoding of the text.
    let text = parse(Format::Csv, csv.as_bytes(), &last).expect("good");
    let encoding = text.table.expect("a table");
    let under = with(TableOptions {
        encoding: Some(encoding),
        ..TableOptions::default()
    });
    same(&book, csv, &under);
}

#[test]
fn workbook_numbers_keep_their_doubles() {
    let rows = [
        ["y", "a"],
        ["1", "1.0000000000000001E-5"],
        ["0", "-12345678901234567"],
        ["1", "1e300"],
        ["0", "5e-324"],
    ];
    let book = Book::of(&rows.map(|cells| row(&cells)).concat());
    let csv = rows.map(|cells| cells.join(",")).join("\n");
    same(&book, &csv, &Options::default());
    // Text with a decimal comma is a number only if the request says so. Number cells are numbers in either case.
    let book = Book::of(&[row(&["y", "a"]), row(&["1", "0.5"]), row(&["0", "1,5"])].concat());
    let comma = with(TableOptions {
        decimal: Some(DecimalMark::Comma),
        ..TableOptions::default()
    });
    same(&book, "y;a\n1;0,5\n0;1,5\n", &comma);
    // A number as a label or a word is spelled as a person would write it.
    let book = Book::of(
        &[
            row(&["y", "a"]),
            row(&["1.0", "2.0"]),
            row(&["2", "x"]),
            row(&["1", "2"]),
        ]
        .concat(),
    );
    let csv = "y,a\n1,2\n2,x\n1,2\n";
    same(&book, csv, &Options::default());
}

#[test]
fn workbook_of_plain_numbers_needs_no_header() {
    let book = Book::of(
        &[
            row(&["1", "0", "1"]),
            row(&["0", "1", "1"]),
            row(&["1", "1", "-0.5"]),
        ]
        .concat(),
    );
    same(&book, "1,0,1\n0,1,1\n1,1,-0.5\n", &Options::default());
    let parsed = good(&book);
    assert_eq!(
        parsed.first_real,
        Some(Place::SheetCell("Sheet1!C3".to_owned()))
    );
}

#[test]
fn workbook_texts_are_read_as_shown() {
    let mut book = Book::of(concat!(
        r#"<row><c t="inlineStr"><is><t>y</t></is></c><c t="inlineStr"><is><t>word</t></is></c></row>"#,
        r#"<row><c><v>1</v></c><c t="s"><v>0</v></c></row>"#,
        r#"<row><c><v>0</v></c><c t="s"><v> 1 </v></c></row>"#,
        r#"<row><c><v>0</v></c><c t="s"><v>2</v></c></row>"#,
        r#"<row><c><v>0</v></c><c t="s"><v>3</v></c></row>"#,
        r#"<row><c><v>0</v></c><c t="inlineStr"><is><r><t>in</t></r>"#,
        r#"<r><rPr><b/></rPr><t xml:space="preserve"> line</t></r></is></c></row>"#,
        r#"<row><c><v>0</v></c><c t="str"><f>A1</f><v>f&amp;<![CDATA[<g>]]>&#x68;</v></c></row>"#,
    ));
    book.strings = concat!(
        r#"<si><r><t>rich</t></r><r><rPr><sz val="9"/></rPr><t xml:space="preserve"> text</t></r></si>"#,
        r#"<si><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><phoneticPr fontId="1"/></si>"#,
        r#"<si><t xml:space="preserve">  a_x000D__x005F_b </t></si><si><t>a&lt;b</t></si>"#,
    )
    .to_owned();
    let parsed = good(&book);
    let names = parsed.feature_names.expect("names");
    let expected = ["a\r_b", "a<b", "f&<g>h", "in line", "rich text", "東京"];
    assert_eq!(names, expected.map(|value| format!("word={value}")));
    assert_eq!(labels(&parsed.data), "100000");
}

#[test]
fn workbook_ignores_empty_rows_and_columns() {
    let csv = "y,a,b\n1,p,q\n0,,q\n1,r,s\n";
    let rows = [
        r#"<row r="1" spans="1:9" ht="20"/><row r="2"><c r="A2" s="3"/><c r="B2" s="3"/></row>"#,
        r#"<row r="4"><c r="A4"/><c r="C4" t="str"><v>y</v></c><c r="D4" t="str"><v>a</v></c>"#,
        r#"<c r="E4" t="str"><v>b</v></c></row>"#,
        r#"<row r="5"><c r="C5"><v>1</v></c><c r="D5" t="str"><v>p</v></c>"#,
        r#"<c r="E5" t="str"><v>q</v></c><c r="H5" s="9"/></row>"#,
        r#"<row r="7"><c r="D7"/></row>"#,
        r#"<row r="900000"><c r="C900000"><v>0</v></c><c r="E900000" t="str"><v>q</v></c></row>"#,
        r#"<row r="900001"><c r="C900001"><v>1</v></c><c r="D900001" t="str"><v>r</v></c>"#,
        r#"<c r="E900001" t="str"><v>s</v></c></row>"#,
        r#"<row r="1048576"><c r="XFD1048576" t="str"><v> </v></c></row>"#,
    ];
    same(&Book::of(&rows.concat()), csv, &Options::default());
}

#[test]
fn workbook_column_of_row_numbers_needs_no_name() {
    let rows = [
        r#"<row r="1"><c r="B1" t="str"><v>y</v></c><c r="C1" t="str"><v>a</v></c></row>"#,
        r#"<row r="2"><c r="A2"><v>0</v></c><c r="B2"><v>1</v></c><c r="C2" t="str"><v>p</v></c></row>"#,
        r#"<row r="3"><c r="A3"><v>1</v></c><c r="B3"><v>0</v></c><c r="C3" t="str"><v>q</v></c></row>"#,
    ];
    let book = Book::of(&rows.concat());
    same(&book, ",y,a\n0,1,p\n1,0,q\n", &Options::default());
    assert_eq!(good(&book).table.expect("a table").ignored.len(), 1);
}

#[test]
fn workbook_with_cells_at_two_corners_takes_little_memory() {
    let rows = concat!(
        r#"<row r="1"><c r="A1"><v>1</v></c></row>"#,
        r#"<row r="1048576"><c r="XFD1048576"><v>0</v></c></row>"#,
    );
    let options = Options {
        labels: Some(LabelsColumn::None),
        header: Header::False,
        ..Options::default()
    };
    let body = Book::of(rows).bytes();
    let parsed = parse(Format::Xlsx, body.as_slice(), &options).expect("two rows");
    assert_eq!(parsed.data.examples(), 2);
    // One feature per value, and one per missing value of a column.
    assert!(parsed.data.n() >= 16_384);
    let narrow = Options {
        limits: ParseLimits {
            n_max: 1000,
            ..ParseLimits::default()
        },
        ..options
    };
    let error = parse(Format::Xlsx, body.as_slice(), &narrow).expect_err("too wide");
    assert_eq!(
        error.kind,
        FormatErrorKind::TooLarge {
            limit: "n_max",
            value: 1000
        }
    );
}

#[test]
fn the_first_visible_sheet_with_a_value_is_read() {
    let table =
        |label: &str| sheet(&[row(&["y", "a"]), row(&[label, "1"]), row(&["0", "0"])].concat());
    let mut book = Book::of("");
    book.sheets = vec![
        ("Notes", r#"state="hidden""#, table("9")),
        ("Empty", "", sheet(r#"<row r="1"><c r="A1" s="1"/></row>"#)),
        ("My data", "", table("1")),
        ("4", "", table("-2")),
        ("Secret", r#"state="veryHidden""#, table("1")),
    ];
    let read = |name: &str| xlsx(&book, &with_sheet(name));
    assert_eq!(labels(&good(&book).data), "10");
    assert_eq!(read("My data"), Ok(good(&book)));
    assert_eq!(read("3"), Ok(good(&book)));
    // A name comes before a number.
    let named = read("4").expect("the sheet with this name");
    assert_eq!(
        named.class_names(),
        Some(["-2", "0"].map(str::to_owned).to_vec())
    );
    assert_eq!(labels(&read("5").expect("hidden").data), "10");
    for (name, part) in [
        ("6", "`Notes`"),
        ("0", "`Notes`"),
        ("-1", "`Notes`"),
        ("my data", "`My data`"),
    ] {
        let error = read(name).expect_err(name);
        assert_eq!(error.kind, FormatErrorKind::BadOption);
        assert!(
            error.detail.contains(part) && error.detail.contains("`sheet`"),
            "{error}"
        );
    }
    let error = read("Empty").expect_err("no value");
    assert_eq!(error.kind, FormatErrorKind::EmptyData);
    book.sheets.truncate(2);
    let error = xlsx(&book, &Options::default()).expect_err("no value");
    assert_eq!(error.kind, FormatErrorKind::EmptyData);
    assert!(
        error.detail.contains("`sheet=`") && error.detail.contains("`Notes`"),
        "{error}"
    );
}

#[test]
fn workbooks_of_different_writers_are_read_alike() {
    let rows = [row(&["y", "a"]), row(&["1", "p"]), row(&["0", "q"])].concat();
    let expected = good(&Book::of(&rows));
    let parts = Book::of(&rows).parts();
    let changed = |change: &dyn Fn(&str, &str) -> (String, String)| {
        let parts: Vec<_> = parts
            .iter()
            .map(|(name, text)| change(name, text))
            .collect();
        let parts: Vec<_> = parts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let parsed = parse(
            Format::Xlsx,
            archive(&parts).as_slice(),
            &Options::default(),
        );
        assert_eq!(parsed.as_ref(), Ok(&expected));
    };
    let keep = |name: &str| name.to_owned();
    // Strict namespaces, and prefixes of elements.
    changed(&|name, text| {
        let strict = text.replace(MAIN, "http://purl.oclc.org/ooxml/spreadsheetml/main");
        (
            keep(name),
            strict.replace(
                RELATED,
                "http://purl.oclc.org/ooxml/officeDocument/relationships",
            ),
        )
    });
    changed(&|name, text| {
        if name.ends_with(".rels") {
            return (keep(name), keep(text));
        }
        let open = text
            .replace('<', "<x:")
            .replace("<x:/", "</x:")
            .replace("<x:?", "<?");
        (keep(name), open.replace("xmlns=", "xmlns:x="))
    });
    changed(&|name, text| {
        (
            keep(name),
            text.replace("xmlns:r=", "xmlns:rel=")
                .replace("r:id=", "rel:id="),
        )
    });
    // Absolute targets, targets with dots, names in another case or with backslashes, a byte order mark.
    changed(&|name, text| {
        (
            keep(name),
            text.replace(r#""worksheets/"#, r#""/xl/worksheets/"#),
        )
    });
    changed(&|name, text| {
        (
            keep(name),
            text.replace(r#""worksheets/"#, r#""./../xl/worksheets/"#),
        )
    });
    changed(&|name, text| (name.to_uppercase(), keep(text)));
    changed(&|name, text| (name.replace('/', "\\"), keep(text)));
    changed(&|name, text| (keep(name), format!("\u{feff}{text}")));
    changed(&|name, text| {
        (
            keep(name),
            text.replace("><", ">\r\n  <!-- a comment --><?pi?><"),
        )
    });
    // Elements that the reader does not know, and a root without relationships of its own.
    changed(&|name, text| {
        let row = r#"<x14:f xmlns:x14="u"><x14:row><c><v>7</v></c></x14:row></x14:f>"#;
        let more = format!("<extLst><ext>{row}</ext></extLst></worksheet>");
        let cols = r#"<dimension ref="A1:XFD9"/><cols><col min="1" max="9"/></cols><sheetData>"#;
        (
            keep(name),
            text.replace("</worksheet>", &more)
                .replace("<sheetData>", cols),
        )
    });
    changed(&|name, text| (name.replace("_rels/.rels", "_rels/.other"), keep(text)));
}

#[test]
fn workbook_rows_and_cells_may_lack_references() {
    let texts = [r#"<v>y</v>"#, r#"<v>a</v>"#, r#"<v>p</v>"#, r#"<v>q</v>"#];
    let [y, a, p, q] = texts;
    let expected = good(&Book::of(
        &[row(&["y", "a"]), row(&["1", "p"]), row(&["0", "q"])].concat(),
    ));
    for rows in [
        [
            format!(r#"<row r="3"><c t="str">{y}</c><c t="str">{a}</c></row>"#),
            format!(r#"<row><c><v>1</v></c><c t="str">{p}</c></row>"#),
            format!(r#"<row><c><v>0</v></c><c r="B5" t="str">{q}</c></row>"#),
        ],
        [
            format!(r#"<row><c r="B2" t="str">{y}</c><c t="str">{a}</c></row>"#),
            format!(r#"<row><c r="B7"><v>1</v></c><c r="C7" t="str">{p}</c></row>"#),
            format!(r#"<row><c r="B8"><v>0</v></c><c t="str">{q}</c></row>"#),
        ],
    ] {
        assert_eq!(good(&Book::of(&rows.concat())), expected, "{rows:?}");
    }
}

/// Tables of words, numbers and empty cells, with a label first.
fn tables() -> impl Strategy<Value = Vec<Vec<String>>> {
    let cell = prop_oneof![
        Just(String::new()),
        "[a-c]{1,2}",
        (-3..3_i32).prop_map(|number| number.to_string()),
        (-1e3..1e3_f64).prop_map(|number| number.to_string()),
    ];
    (1..5_usize).prop_flat_map(move |columns| vec(vec(cell.clone(), columns), 1..8))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_table_is_the_same_in_xlsx_and_csv(table in tables(), memory_bytes_max in 0_u64..2000) {
        let names: Vec<String> = (0..table[0].len()).map(|at| format!("f{at}")).collect();
        let mut rows = vec![[vec!["y".to_owned()], names].concat()];
        rows.extend(table.iter().enumerate().map(|(at, cells)| {
            [vec![(at % 2).to_string()], cells.clone()].concat()
        }));
        let csv: Vec<String> = rows.iter().map(|cells| cells.join(",")).collect();
        let cells = |cells: &Vec<String>| row(&cells.iter().map(String::as_str).collect::<Vec<_>>());
        let book = Book::of(&rows.iter().map(cells).collect::<String>());
        let options = with(TableOptions {
            numbers: Numbers::Thermometer,
        bins: Some(3),
            ..TableOptions::default()
        });
        let text = parse(Format::Csv, csv.join("\n").as_bytes(), &options);
        let read = xlsx(&book, &options);
        match (text, read) {
            (Ok(text), Ok(read)) => {
                prop_assert_eq!(&read, &text);
                let spool = Spool::new(memory_bytes_max, || Ok(Cursor::new(Vec::new())));
                let mut gathered = gather(Format::Xlsx, book.bytes().as_slice(), &options, spool).expect("good");
                let (mut spooled, mut held) = (Vec::new(), Vec::new());
                gathered.store(&mut spooled, 1000).expect("memory");
                crate::Parsed::from(read.clone()).store(&mut held, 1000).expect("memory");
                prop_assert!(spooled == held);
                prop_assert_eq!(gathered.table, read.table);
            }
            (Err(text), Err(read)) => prop_assert_eq!(text.kind, read.kind),
            (text, read) => prop_assert!(false, "{:?} {:?}", text, read),
        }
    }
}
