//! Tests of XLSX: cells that a table cannot hold, damaged files, and files that expand to more than they may.

use std::alloc::System;
use std::io::{Cursor, ErrorKind, Read};

use halfspace_core::memory::{CountingAllocator, MemoryBudget};

use super::workbooks::{Book, archive, relationships, row, sheet};
use super::*;
use crate::{Missing, Spool, TableOptions, gather};

#[global_allocator]
static ALLOCATOR: CountingAllocator<System> = CountingAllocator(System);

fn refused(book: &Book) -> FormatError {
    refused_with(book, &Options::default())
}

fn refused_with(book: &Book, options: &Options) -> FormatError {
    let body = book.bytes();
    let error = parse(Format::Xlsx, body.as_slice(), options).expect_err("a bad workbook");
    let spool = Spool::new(0, || Ok(Cursor::new(Vec::new())));
    let spooled = gather(Format::Xlsx, body.as_slice(), options, spool);
    assert_eq!(spooled.err(), Some(error.clone()));
    error
}

fn at_cell(name: &str) -> Option<Place> {
    Some(Place::SheetCell(name.to_owned()))
}

fn ignoring(column: &str) -> Options {
    Options {
        table: TableOptions {
            ignore: vec![column.to_owned()],
            ..TableOptions::default()
        },
        ..Options::default()
    }
}

/// A table with the columns y, a and `when`, and this cell in row 3 of the last column.
fn with_cell(cell: &str) -> Book {
    let rows = [
        row(&["y", "a", "when"]),
        row(&["1", "p", "0"]),
        format!(r#"<row><c><v>0</v></c><c t="str"><v>q</v></c>{cell}</row>"#),
    ];
    let mut book = Book::of(&rows.concat());
    book.styles = concat!(
        r#"<numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/>"#,
        r#"<numFmt numFmtId="165" formatCode="0 &quot;d&quot;"/></numFmts>"#,
        r#"<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>"#,
        r#"<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs>"#,
    )
    .to_owned();
    book
}

#[test]
fn cells_without_a_value_for_a_table_are_named() {
    let cases = [
        (r#"<c t="e"><v>#DIV/0!</v></c>"#, "#DIV/0!"),
        (r#"<c t="e"><f>1/0</f><v>#DIV/0!</v></c>"#, "#DIV/0!"),
        (r#"<c><f>A1+1</f></c>"#, "formula"),
        (r#"<c><f>A1+1</f><v/></c>"#, "formula"),
        (r#"<c><f t="shared" si="0"/><v></v></c>"#, "formula"),
        (r#"<c t="str"><f>A1</f></c>"#, "formula"),
    ];
    for (cell, word) in cases {
        let book = with_cell(cell);
        let error = refused(&book);
        assert_eq!(
            (error.kind, &error.place),
            (FormatErrorKind::BadValue, &at_cell("Sheet1!C3")),
            "{cell}"
        );
        assert!(
            error.detail.contains(word) && error.detail.contains("`ignore=when`"),
            "{error}"
        );
        // The remedy works.
        parse(Format::Xlsx, book.bytes().as_slice(), &ignoring("when")).expect(cell);
    }
    for cell in [
        r#"<c s="3"><v>4</v></c>"#,
        r#"<c s="99"><v>4</v></c>"#,
        r#"<c s="1"/>"#,
        r#"<c s="1" t="str"><f>A1</f><v>0</v></c>"#,
        r#"<c t="str"><f>A1</f><v></v></c>"#,
    ] {
        parse(
            Format::Xlsx,
            with_cell(cell).bytes().as_slice(),
            &Options::default(),
        )
        .expect(cell);
    }
}

/// The error #N/A says that there is no value, and a request can say so too.
#[test]
fn unavailable_values_can_be_missing() {
    for cell in [
        r##"<c t="e"><v>#N/A</v></c>"##,
        r##"<c t="e"><f>NA()</f><v>#N/A</v></c>"##,
        r##"<c t="str"><v>#N/A</v></c>"##,
    ] {
        let mut options = Options::default();
        options.table.missing_values = vec!["#N/A".to_owned()];
        options.table.missing = Some(Missing::Drop);
        let parsed = parse(Format::Xlsx, with_cell(cell).bytes().as_slice(), &options).expect(cell);
        assert_eq!(parsed.data.examples(), 1, "{cell}");
        let table = parsed.table.expect("a table");
        assert_eq!(table.missing.rows_dropped, 1, "{cell}");
    }
}

#[test]
fn workbook_cell_faults_have_their_kinds() {
    let cases = [
        (r#"<c><v>x</v></c>"#, FormatErrorKind::BadValue),
        (r#"<c><v>1e999</v></c>"#, FormatErrorKind::BadValue),
        (r#"<c t="s"><v>0</v></c>"#, FormatErrorKind::Syntax),
        (r#"<c t="s"><v>-1</v></c>"#, FormatErrorKind::Syntax),
        (r#"<c t="b"><v>2</v></c>"#, FormatErrorKind::Syntax),
        (r#"<c t="z"><v>2</v></c>"#, FormatErrorKind::Syntax),
        (r#"<c s="1"><v>-1</v></c>"#, FormatErrorKind::Syntax),
        (r#"<c s="1"><v>1e9</v></c>"#, FormatErrorKind::Syntax),
        (r#"<c t="d"><v>2024-02-30</v></c>"#, FormatErrorKind::Syntax),
    ];
    for (cell, kind) in cases {
        let error = refused(&with_cell(cell));
        assert_eq!(
            (error.kind, &error.place),
            (kind, &at_cell("Sheet1!C3")),
            "{cell}: {error}"
        );
    }
    // A fault of the header, of the columns, and of the table itself.
    let mut book = Book::of(r#"<row><c t="str"><v>y</v></c><c t="e"><v>#REF!</v></c></row>"#);
    assert_eq!(refused(&book).place, at_cell("Sheet1!B1"));
    book.sheets[0] = (
        "Q 1",
        "",
        sheet(&[row(&["y", "a"]), row(&["1", "p"]), row(&["0", "q", "r"])].concat()),
    );
    let error = refused(&book);
    assert_eq!(
        (error.kind, error.place),
        (FormatErrorKind::UnequalLength, at_cell("'Q 1'!C3"))
    );
    let book = Book::of(&[row(&["y", "a", "a"]), row(&["1", "p", "q"])].concat());
    let named = Options {
        header: Header::True,
        ..Options::default()
    };
    let error = refused_with(&book, &named);
    assert_eq!(
        (error.kind, error.place),
        (FormatErrorKind::Schema, at_cell("Sheet1!C1"))
    );
    let book = Book::of(&[row(&["b", "a"]), row(&["1", "p"])].concat());
    let error = refused(&book);
    assert_eq!(
        (error.kind, error.place),
        (FormatErrorKind::TableOption, at_cell("Sheet1!A1"))
    );
}

#[test]
fn merged_cells_are_refused_inside_the_table() {
    let merged = |range: &str| {
        let mut book = Book::of(
            &[
                "<row/>".to_owned(),
                row(&["y", "a", "b"]),
                row(&["1", "p", "q"]),
                row(&["0", "q", ""]),
            ]
            .concat(),
        );
        let more =
            format!(r#"</sheetData><mergeCells count="1"><mergeCell ref="{range}"/></mergeCells>"#);
        book.sheets[0].2 = book.sheets[0].2.replace("</sheetData>", &more);
        book
    };
    for range in ["A2:B2", "B4:C4", "C3:C9", "A1:C2", "C4:Z9"] {
        let error = refused(&merged(range));
        assert_eq!(error.kind, FormatErrorKind::BadValue);
        assert!(error.detail.contains(range), "{error}");
        let first = range.split(':').next().expect("a cell");
        assert_eq!(error.place, at_cell(&format!("Sheet1!{first}")));
    }
    for range in ["A1:C1", "A5:C5", "D2:E3", "B3:B3", "B3"] {
        parse(
            Format::Xlsx,
            merged(range).bytes().as_slice(),
            &Options::default(),
        )
        .expect(range);
    }
    parse(
        Format::Xlsx,
        merged("C3:C4").bytes().as_slice(),
        &ignoring("b"),
    )
    .expect("an ignored column");
    assert_eq!(refused(&merged("A0:B")).kind, FormatErrorKind::Syntax);
}

#[test]
fn workbook_rows_and_cells_must_ascend() {
    for rows in [
        r#"<row r="2"/><row r="2"/>"#,
        r#"<row r="2"/><row r="1"/>"#,
        r#"<row r="0"/>"#,
        r#"<row r="x"/>"#,
        r#"<row r="1"><c r="B1"/><c r="A1"/></row>"#,
        r#"<row r="1"><c r="B1"/><c r="B1"/></row>"#,
        r#"<row r="1"><c r="B2"/></row>"#,
        r#"<row><c r="B2"/><c r="C3"/></row>"#,
        r#"<row><c r="XFE1"/></row>"#,
        r#"<row><c r="XFD1"/><c/></row>"#,
    ] {
        let error = refused(&Book::of(rows));
        assert_eq!(error.kind, FormatErrorKind::Syntax, "{rows}: {error}");
        assert!(error.detail.contains("xl/worksheets/sheet1.xml"), "{error}");
    }
}

#[test]
fn files_other_than_workbooks_are_named() {
    let read =
        |body: &[u8]| parse(Format::Xlsx, body, &Options::default()).expect_err("no workbook");
    let ole = [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".as_slice(), &[0; 600]].concat();
    for (body, kind, word) in [
        (b"".as_slice(), FormatErrorKind::EmptyData, "empty"),
        (b"y,a\n1,2\n", FormatErrorKind::Syntax, "zip"),
        (b"PK\x03\x04", FormatErrorKind::Truncated, "truncated"),
        (&ole, FormatErrorKind::Unsupported, "password"),
        (&archive(&[]), FormatErrorKind::Syntax, "xl/workbook.xml"),
        (
            &archive(&[("content.xml", "<a/>"), ("mimetype", "ods")]),
            FormatErrorKind::Syntax,
            "xl/workbook.xml",
        ),
    ] {
        let error = read(body);
        assert_eq!((error.kind, &error.place), (kind, &None), "{error}");
        assert!(error.detail.contains(word), "{error}");
    }
    let xlsb = relationships(&[("officeDocument", "xl/workbook.bin")]);
    let error = read(&archive(&[
        ("_rels/.rels", &xlsb),
        ("xl/workbook.bin", "\u{1}"),
    ]));
    assert!(
        error.kind == FormatErrorKind::Unsupported && error.detail.contains("xlsb"),
        "{error}"
    );
}

#[test]
fn workbook_needs_only_the_parts_in_use() {
    let mut book = with_cell(r#"<c t="s"><v>0</v></c>"#);
    book.strings = "<si><t>5</t></si>".to_owned();
    let parts = book.parts();
    for (missing, _) in &parts {
        let rest = parts.iter().filter(|(name, _)| name != missing);
        let rest: Vec<_> = rest
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let read = parse(Format::Xlsx, archive(&rest).as_slice(), &Options::default());
        match missing.as_str() {
            "_rels/.rels" => assert!(read.is_ok(), "the usual name"),
            "xl/_rels/workbook.xml.rels" => {
                assert_eq!(
                    read.map_err(|error| error.kind),
                    Err(FormatErrorKind::EmptyData)
                );
            }
            missing => {
                let error = read.expect_err(missing);
                assert_eq!(error.kind, FormatErrorKind::Syntax);
                assert!(error.detail.contains(missing), "{error}");
            }
        }
    }
}

#[test]
fn truncated_and_changed_workbooks_are_refused() {
    let mut book = with_cell(r#"<c t="s"><v>0</v></c>"#);
    book.strings = "<si><t>5</t></si>".to_owned();
    let body = book.bytes();
    let read = |body: &[u8]| parse(Format::Xlsx, body, &Options::default());
    let expected = read(&body).expect("good");
    for length in 0..body.len() {
        let error = read(&body[..length]).expect_err("cut off");
        let kinds = [
            FormatErrorKind::Truncated,
            FormatErrorKind::Syntax,
            FormatErrorKind::EmptyData,
        ];
        assert!(kinds.contains(&error.kind), "{length}: {error}");
        assert!(
            length < 4 || error.kind == FormatErrorKind::Truncated,
            "{length}: {error}"
        );
    }
    let mut accepted = 0;
    for at in 0..body.len() {
        let mut changed = body.clone();
        changed[at] ^= 0x10;
        // A change of a time stamp or of the like does not matter.
        if let Ok(parsed) = read(&changed) {
            assert_eq!(parsed, expected, "byte {at}");
            accepted += 1;
        }
    }
    assert!(accepted < body.len() / 2, "{accepted}");
}

#[test]
fn an_encrypted_member_is_refused() {
    let mut body = Book::of(&row(&["1", "0"])).bytes();
    // Bit 0 of the flags of each member, in the member and in the directory.
    for (mark, offset) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        for at in memchr::memmem::find_iter(&body.clone(), mark) {
            body[at + offset] |= 1;
        }
    }
    let error = parse(Format::Xlsx, body.as_slice(), &Options::default()).expect_err("encrypted");
    assert!(
        error.kind == FormatErrorKind::Unsupported && error.detail.contains("password"),
        "{error}"
    );
}

#[test]
fn workbook_with_bad_xml_is_refused() {
    let entity = r#"<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>"#;
    let deep = format!("{}{}", "<a>".repeat(70), "</a>".repeat(70));
    let long_tag = format!(r#"<row x="{}"/>"#, "x".repeat(20_000));
    let cases = [
        (format!("{entity}{}", sheet("")), "document type"),
        (sheet(r#"<row><c t="str"><v>&e;</v></c></row>"#), "entity"),
        (sheet(r#"<row><c t="str"><v>&#0;</v></c></row>"#), "entity"),
        (sheet(&deep), "deeper"),
        (sheet(&long_tag), "tag"),
        (sheet("<row><c></row>"), "expected"),
        ("<worksheet><sheetData>".to_owned(), "ends"),
        ("<worksheet".to_owned(), "not closed"),
        (String::new(), "ends"),
        ("<chartsheet/>".to_owned(), "chartsheet"),
        (sheet(r#"<row r="1></row>"#), "not closed"),
    ];
    for (text, word) in cases {
        let mut book = Book::of("");
        book.sheets[0].2.clone_from(&text);
        let error = refused(&book);
        let kinds = [
            FormatErrorKind::Syntax,
            FormatErrorKind::TooDeep { limit: 64 },
        ];
        assert!(kinds.contains(&error.kind), "{error}");
        assert!(
            error.detail.contains(word) && error.detail.contains("sheet1.xml"),
            "{word}: {error}"
        );
    }
}

fn limited(change: impl FnOnce(&mut ParseLimits)) -> Options {
    let mut options = Options::default();
    change(&mut options.limits);
    options
}

fn limit(error: &FormatError) -> &'static str {
    match error.kind {
        FormatErrorKind::TooLarge { limit, .. } => limit,
        _ => panic!("{error}"),
    }
}

/// Reads a workbook with a spool in files, and returns the outcome and the peak of the memory.
fn measured(book: &Book, options: &Options) -> (Result<(), FormatError>, u64) {
    let body = book.bytes();
    let grant = MemoryBudget::unlimited()
        .try_take(1 << 20)
        .expect("unlimited");
    let outcome = grant.within(|| {
        let spool = Spool::new(1 << 16, temporary_file);
        gather(Format::Xlsx, body.as_slice(), options, spool).map(drop)
    });
    (outcome, grant.peak())
}

/// Opens a file without a name.
fn temporary_file() -> std::io::Result<std::fs::File> {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("halfspace-workbook-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

#[test]
fn a_long_cell_is_refused_in_bounded_memory() {
    let long = "x".repeat(40 << 20);
    let mut shared = Book::of(r#"<row><c t="s"><v>0</v></c></row>"#);
    shared.strings = format!("<si><t>{long}</t></si>");
    let runs = format!("<r><t>{}</t></r>", "x".repeat(1 << 20)).repeat(40);
    let mut rich = shared.clone();
    rich.strings = format!("<si>{runs}</si>");
    let inline = Book::of(&format!(r#"<row><c t="str"><v>{long}</v></c></row>"#));
    let comment = Book::of(&format!("<!--{long}-->"));
    let part = format!(r#"<c t="str"><v>{}</v></c>"#, "x".repeat(1 << 20));
    let row = Book::of(&format!("<row>{}</row>", part.repeat(40)));
    let options = limited(|limits| limits.line_bytes_max = 4 << 20);
    for book in [shared, rich, inline, comment, row] {
        let (outcome, peak) = measured(&book, &options);
        assert_eq!(limit(&outcome.expect_err("too long")), "line_bytes_max");
        assert!(peak < 24 << 20, "{peak}");
    }
}

#[test]
fn workbook_bomb_is_refused_at_its_ratio() {
    let book = Book::of(&"<row/>".repeat(4 << 20));
    let options = limited(|limits| {
        limits.decompression_ratio_max = 100;
        limits.decompressed_bytes_free = 1 << 20;
    });
    let (outcome, peak) = measured(&book, &options);
    assert_eq!(
        limit(&outcome.expect_err("a bomb")),
        "decompression_ratio_max"
    );
    assert!(peak < 2 << 20, "{peak}");
    let long = limited(|limits| limits.body_bytes_max = 1 << 20);
    assert_eq!(limit(&refused_with(&book, &long)), "body_bytes_max");
    // Empty rows are read without memory.
    let (outcome, peak) = measured(&book, &Options::default());
    assert_eq!(
        outcome.map_err(|error| error.kind),
        Err(FormatErrorKind::EmptyData)
    );
    assert!(peak < 2 << 20, "{peak}");
    // The body itself is limited before it is kept.
    let short = limited(|limits| limits.body_bytes_max = 100);
    assert_eq!(limit(&refused_with(&book, &short)), "body_bytes_max");
}

#[test]
fn workbook_of_few_bytes_and_many_cells_is_refused() {
    let mut options = limited(|limits| {
        limits.decompression_ratio_max = 100;
        limits.decompressed_bytes_free = 1 << 20;
    });
    options.header = Header::False;
    options.labels = Some(LabelsColumn::None);
    // A long string in many cells.
    let mut book = Book::of(&r#"<row><c t="s"><v>0</v></c></row>"#.repeat(10_000));
    book.strings = format!("<si><t>{}</t></si>", "x".repeat(1000));
    let (outcome, peak) = measured(&book, &options);
    assert_eq!(
        limit(&outcome.expect_err("many bytes")),
        "decompression_ratio_max"
    );
    assert!(peak < 8 << 20, "{peak}");
    // Rows of one cell in a wide table.
    let wide = r#"<row><c><v>1</v></c><c r="XFD1"><v>1</v></c></row>"#.to_owned();
    let rows = wide + &"<row><c><v>1</v></c></row>".repeat(10_000);
    assert_eq!(
        limit(&refused_with(&Book::of(&rows), &options)),
        "decompression_ratio_max"
    );
}

#[test]
fn stated_counts_of_a_workbook_are_not_trusted() {
    let mut book = Book::of(r#"<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>"#);
    book.strings = "<si><t>1</t></si><si><t>0</t></si>".to_owned();
    let parts = book.parts();
    let stated = |text: &str| {
        let sst = text.replace(
            "<sst ",
            r#"<sst count="100000000000" uniqueCount="100000000000" "#,
        );
        sst.replace(
            "<sheetData>",
            r#"<dimension ref="A1:XFD1048576"/><sheetData>"#,
        )
    };
    let parts: Vec<_> = parts
        .iter()
        .map(|(name, text)| (name.as_str(), stated(text)))
        .collect();
    let parts: Vec<_> = parts
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let body = archive(&parts);
    let grant = MemoryBudget::unlimited()
        .try_take(1 << 20)
        .expect("unlimited");
    let read = grant.within(|| {
        parse(Format::Xlsx, body.as_slice(), &Options::default()).map(|parsed| parsed.data.n())
    });
    assert_eq!(read, Ok(1));
    assert!(grant.peak() < 1 << 20, "{}", grant.peak());
}

#[test]
fn workbook_with_too_many_zip_entries_is_refused() {
    let names: Vec<String> = (0..10_001).map(|number| format!("p{number}")).collect();
    let parts: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    let error = parse(
        Format::Xlsx,
        archive(&parts).as_slice(),
        &Options::default(),
    )
    .expect_err("many");
    assert_eq!(error.kind, FormatErrorKind::Unsupported);
    // The records of ZIP64 claim more members than any archive has.
    let body = Book::of(&row(&["1", "0"])).bytes();
    let end = memchr::memmem::rfind(&body, b"PK\x05\x06").expect("an end");
    let first = u32::from_le_bytes(body[end + 16..end + 20].try_into().expect("4 bytes"));
    let with_end64 = |count: u64, first: u64| {
        let mut end64 = [
            b"PK\x06\x06".as_slice(),
            &44_u64.to_le_bytes(),
            &[45, 0, 45, 0],
            &[0; 8],
        ]
        .concat();
        for word in [count, count, end as u64 - first, first] {
            end64.extend(word.to_le_bytes());
        }
        let locator = [
            b"PK\x06\x07".as_slice(),
            &[0; 4],
            &(end as u64).to_le_bytes(),
            &1_u32.to_le_bytes(),
        ]
        .concat();
        let mut last = body[end..].to_vec();
        last[8..12].fill(0xff);
        last[12..20].fill(0xff);
        let body = [&body[..end], &end64, &locator, &last].concat();
        parse(Format::Xlsx, body.as_slice(), &Options::default())
    };
    let parts = u64::from(u16::from_le_bytes([body[end + 10], body[end + 11]]));
    with_end64(parts, u64::from(first)).expect("a good ZIP64 directory");
    for (count, first) in [
        (u64::MAX, u64::from(first)),
        (1 << 40, u64::from(first)),
        (parts, 0),
    ] {
        with_end64(count, first).expect_err("a bad ZIP64 directory");
    }
}

#[test]
fn many_styles_and_sheets_are_refused() {
    let mut book = with_cell("");
    book.styles = format!("<cellXfs>{}</cellXfs>", "<xf/>".repeat(70_000));
    assert_eq!(refused(&book).kind, FormatErrorKind::Unsupported);
    let parts = Book::of("").parts();
    let sheets = r#"<sheet name="s"/>"#.repeat(11_000);
    let parts: Vec<_> = parts
        .iter()
        .map(|(name, text)| (name, text.replace("<sheets>", &format!("<sheets>{sheets}"))))
        .collect();
    let parts: Vec<_> = parts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let error = parse(
        Format::Xlsx,
        archive(&parts).as_slice(),
        &Options::default(),
    )
    .expect_err("many");
    assert_eq!(error.kind, FormatErrorKind::Unsupported);
}

#[test]
fn a_long_sheet_takes_little_memory() {
    let rows: String = (0..60_000)
        .map(|number| {
            format!(
                r#"<row><c><v>{}</v></c><c t="s"><v>{}</v></c><c><v>{number}</v></c></row>"#,
                number % 2,
                number % 200
            )
        })
        .collect();
    let mut book = Book::of(&(row(&["y", "word", "number"]) + &rows));
    let strings = (0..60_000).map(|number| format!("<si><t>word {number}</t></si>"));
    book.strings = strings.collect();
    let (outcome, peak) = measured(&book, &Options::default());
    outcome.expect("good");
    assert!(peak < 4 << 20, "{peak}");
}

#[test]
fn options_of_other_formats_are_refused() {
    let book = Book::of(&[row(&["1", "0"]), row(&["0", "1"])].concat());
    let options = [
        Options {
            bit_order: Some(BitOrder::Big),
            ..Options::default()
        },
        Options {
            labels: Some(LabelsColumn::Appended),
            ..Options::default()
        },
        Options {
            table: TableOptions {
                delimiter: Some(b';'),
                ..TableOptions::default()
            },
            ..Options::default()
        },
    ];
    for options in options {
        assert_eq!(
            refused_with(&book, &options).kind,
            FormatErrorKind::BadOption
        );
    }
    let sheet = Options {
        table: TableOptions {
            sheet: Some("1".to_owned()),
            ..TableOptions::default()
        },
        ..Options::default()
    };
    let error = parse(Format::Csv, b"1,0\n".as_slice(), &sheet).expect_err("no sheets");
    assert_eq!(error.kind, FormatErrorKind::BadOption);
}

#[test]
fn workbook_io_errors_differ_from_a_bad_body() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(ErrorKind::ConnectionReset.into())
        }
    }
    let error = crate::parse(Format::Xlsx, Broken, &Options::default()).expect_err("broken");
    assert_eq!(error.kind, FormatErrorKind::Io);
    let body = Book::of(&row(&["1", "0"])).bytes();
    let spool = Spool::new(0, || {
        Err::<Cursor<Vec<u8>>, _>(ErrorKind::StorageFull.into())
    });
    let error = gather(Format::Xlsx, body.as_slice(), &Options::default(), spool)
        .map(drop)
        .expect_err("full");
    assert_eq!(error.kind, FormatErrorKind::Spool(ErrorKind::StorageFull));
    // If the budget lacks the memory, the body is not at fault.
    let budget = MemoryBudget::new(1 << 20);
    let grant = budget.try_take(1000).expect("a little");
    let long = [body, vec![0; 4 << 20]].concat();
    let read = grant.within(|| crate::parse(Format::Xlsx, long.as_slice(), &Options::default()));
    assert!(matches!(
        read.expect_err("full").kind,
        FormatErrorKind::NoMemory(_)
    ));
    let text = "x".repeat(4 << 20);
    let long = Book::of(&format!(r#"<row><c t="str"><v>{text}</v></c></row>"#)).bytes();
    let read = grant.within(|| crate::parse(Format::Xlsx, long.as_slice(), &Options::default()));
    assert!(matches!(
        read.expect_err("full").kind,
        FormatErrorKind::NoMemory(_)
    ));
}
