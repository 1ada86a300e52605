//! Small bodies that expand to many columns, features, values or bytes.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};

use crate::scale::Scale;

/// A body with its format, and the parameters of data that make it costly.
#[derive(Clone)]
pub struct Body {
    pub what: &'static str,
    pub media_type: &'static str,
    pub coding: Option<&'static str>,
    pub query: &'static str,
    pub bytes: Vec<u8>,
}

const CSV: &str = "text/csv";
const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const LIBSVM: &str = "text/x-libsvm";
const ARFF: &str = "text/x-arff";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

fn body(
    what: &'static str,
    media_type: &'static str,
    query: &'static str,
    bytes: impl Into<Vec<u8>>,
) -> Body {
    Body {
        what,
        media_type,
        coding: None,
        query,
        bytes: bytes.into(),
    }
}

impl Body {
    fn gzip(self) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&self.bytes).unwrap();
        Self {
            bytes: encoder.finish().unwrap(),
            coding: Some("gzip"),
            ..self
        }
    }

    fn zstd(self) -> Self {
        Self {
            bytes: zstd::encode_all(self.bytes.as_slice(), 3).unwrap(),
            coding: Some("zstd"),
            ..self
        }
    }
}

/// Bodies with examples, for every route that reads examples.
pub fn of_data(scale: Scale) -> Vec<Body> {
    let columns = scale.of(200_000, 1 << 20);
    vec![
        thermometers(9_000),
        thermometers(4_000),
        body(
            "a row of many cells",
            CSV,
            "header=false&labels=first",
            format!("0{}\n", ",1".repeat(columns)),
        )
        .zstd(),
        body(
            "many names and values of one letter",
            "text/tab-separated-values",
            "header=true&labels=first",
            wide_table(scale.of(100_000, 400_000), '\t'),
        )
        .zstd(),
        body(
            "a long name for 255 thresholds",
            CSV,
            "header=true&labels=last&numbers=thermometer&bins=255",
            long_name(scale.of(1 << 18, 1 << 24)),
        )
        .zstd(),
        body(
            "510 sparse rows of reals",
            LIBSVM,
            "",
            "+1 1048576:0.5\n-1 1048576:0.5\n".repeat(255),
        )
        .gzip(),
        body(
            "nominal attributes",
            ARFF,
            "",
            nominal(scale.of(50_000, 400_000)),
        )
        .zstd(),
        body(
            "a workbook of empty cells",
            XLSX,
            "labels=first",
            workbook(scale.of(500, 100_000)),
        ),
        body(
            "a line without end",
            NDJSON,
            "",
            format!("{{\"x\": \"{}", "01".repeat(15 << 20)),
        )
        .zstd(),
        body(
            "objects of one member",
            NDJSON,
            "",
            "{\"x\": [1, 0], \"y\": {\"\": {\"\": 0}}}\n".repeat(10_000),
        )
        .gzip(),
        body(
            "the header of a large array",
            "application/x-npy",
            "labels=first",
            npy("(1000000, 1048576)"),
        ),
        body(
            "octets of wide rows",
            "application/octet-stream",
            "n=1048576",
            vec![0x5A; 1 << 20],
        )
        .gzip(),
    ]
}

/// Documents for routes that read JSON.
pub fn of_json() -> Vec<Body> {
    let maps = |count| format!("{{\"a\": [{}0]}}", "{\"\":0},".repeat(count));
    let deep = format!("{{\"a\": {}", "[".repeat(60_000));
    let names: Vec<String> = (0..6_000).map(|at| format!("\"{at}\":0")).collect();
    let cells: Vec<String> = (0..4_000).map(|at| format!("\"{at}\":2")).collect();
    let row = cells.join(",");
    let table = format!(
        "{{\"table\": {{\"rows\": [{{\"label\": 0, {row}}}, {{\"label\": 1, {}}}], \"numbers\": \"thermometer\", \
         \"bins\": 255}}}}",
        row.replace(":2", ":3")
    );
    let upload = format!("{{\"data\": {table}}}");
    vec![
        body("maps of one member", JSON, "", maps(9_000)),
        body("many maps of one member", JSON, "", maps(70_000)).gzip(),
        body("deep lists", JSON, "", deep),
        body("short names", JSON, "", format!("{{{}}}", names.join(","))),
        body("thermometers in JSON", JSON, "", table).gzip(),
        body("an upload of thermometers in JSON", JSON, "", upload).gzip(),
        body(
            "generated examples",
            JSON,
            "",
            "{\"data\": {\"generated\": {\"n\": 1048576, \"count\": 8000, \"sampling\": \"uniform\", \
             \"target\": {\"binary_weights\": {}}}}}",
        ),
    ]
}

/// No body.
pub fn none() -> Body {
    body("no body", JSON, "", "")
}

/// Documents of one route.
pub fn of_route(path: &str) -> Vec<Body> {
    match path {
        "/v1/constructions/kernel-perceptron-adversary" => vec![
            body(
                "a stored construction",
                JSON,
                "",
                "{\"n\":1048560,\"size\":2000,\"store\":true}",
            ),
            body("a construction", JSON, "", "{\"n\":8000,\"size\":2000}"),
        ],
        _ => Vec::new(),
    }
}

/// A form whose file is another body.
pub fn form(file: &Body) -> Body {
    let boundary = "----boundary";
    let mut bytes = Vec::new();
    let pairs = file
        .query
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    for (name, value) in pairs {
        write!(
            bytes,
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        )
        .unwrap();
    }
    write!(
        bytes,
        "--{boundary}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\ncontent-type: {}\r\n\r\n",
        file.media_type
    )
    .unwrap();
    bytes.extend(&file.bytes);
    write!(bytes, "\r\n--{boundary}--\r\n").unwrap();
    let media_type = "multipart/form-data; boundary=----boundary";
    body("a form with a workbook", media_type, "", bytes)
}

/// Two rows of so many columns of numbers, which have two values each.
fn thermometers(columns: usize) -> Body {
    let rows = format!("0{}\n1{}\n", ",2".repeat(columns), ",3".repeat(columns));
    let query = "header=false&labels=first&numbers=thermometer&bins=255";
    let what = match columns {
        9_000 => "9,000 thermometers",
        _ => "4,000 thermometers",
    };
    body(what, CSV, query, rows).gzip()
}

/// A table whose columns have names, and values that are no numbers.
fn wide_table(columns: usize, delimiter: char) -> String {
    let mut table = "y".to_owned();
    for column in 0..columns {
        table.push(delimiter);
        table.push_str(&column.to_string());
        table.push('c');
    }
    for (label, values) in [("0", ["a", "b"]), ("1", ["b", "a"])] {
        table.push('\n');
        table.push_str(label);
        for column in 0..columns {
            table.push(delimiter);
            table.push_str(values[column % 2]);
        }
    }
    table.push('\n');
    table
}

/// A column of 1,000 numbers with a name of so many bytes.
fn long_name(bytes: usize) -> String {
    let mut table = format!("{},label\n", "n".repeat(bytes));
    for row in 0..1_000 {
        table.push_str(&format!("{row}.5,{}\n", row % 2));
    }
    table
}

fn nominal(attributes: usize) -> String {
    let mut text = "@relation r\n".to_owned();
    for attribute in 0..attributes {
        text.push_str(&format!("@attribute a{attribute} {{a,b}}\n"));
    }
    text.push_str("@attribute class {0,1}\n@data\n{}\n");
    text.push_str(&format!("{{{attributes} 1}}\n"));
    text
}

/// The header of an array of doubles with this shape, and no values.
fn npy(shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes
}

/// A workbook of 16,383 columns and so many rows, with a value in the first and the last cell of each row.
fn workbook(rows: usize) -> Vec<u8> {
    let types = concat!(
        r#"<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">"#,
        r#"<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>"#,
        r#"<Default Extension="xml" ContentType="application/xml"/></Types>"#,
    );
    let relation = |kind: &str, target: &str| {
        format!(
            concat!(
                r#"<?xml version="1.0"?>"#,
                r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">"#,
                r#"<Relationship Id="rId1" "#,
                r#"Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}" "#,
                r#"Target="{target}"/></Relationships>"#,
            ),
            kind = kind,
            target = target
        )
    };
    let book = concat!(
        r#"<?xml version="1.0"?>"#,
        r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" "#,
        r#"xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>"#,
        r#"<sheet name="a" sheetId="1" r:id="rId1"/></sheets></workbook>"#,
    );
    let mut sheet = concat!(
        r#"<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">"#,
        r#"<sheetData>"#,
    ).to_owned();
    for row in 1..=rows {
        let value = row % 2;
        sheet.push_str(&format!(
            r#"<row r="{row}"><c r="A{row}"><v>{value}</v></c><c r="XFC{row}"><v>{value}</v></c></row>"#
        ));
    }
    sheet.push_str("</sheetData></worksheet>");
    archive(&[
        ("[Content_Types].xml", types.to_owned()),
        ("_rels/.rels", relation("officeDocument", "xl/workbook.xml")),
        ("xl/workbook.xml", book.to_owned()),
        (
            "xl/_rels/workbook.xml.rels",
            relation("worksheet", "worksheets/sheet1.xml"),
        ),
        ("xl/worksheets/sheet1.xml", sheet),
    ])
}

/// A zip archive of deflated members.
fn archive(members: &[(&str, String)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in members {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text.as_bytes()).unwrap();
        let deflated = encoder.finish().unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        let mut head = Vec::new();
        for half in [20_u16, 0, 8, 0, 0] {
            head.extend(half.to_le_bytes());
        }
        let lengths = [crc.sum(), deflated.len() as u32, text.len() as u32];
        lengths
            .iter()
            .for_each(|word| head.extend(word.to_le_bytes()));
        head.extend((name.len() as u16).to_le_bytes());
        head.extend([0; 2]);
        let offset = bytes.len() as u32;
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&head);
        bytes.extend(name.as_bytes());
        bytes.extend(deflated);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&head);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = bytes.len() as u32;
    let count = members.len() as u16;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}
