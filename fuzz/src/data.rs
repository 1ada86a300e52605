//! The targets of data formats. Their input is one body, see `input.rs`.

use std::io::{Cursor, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use halfspace_formats::{
    BitOrder, DataForm, Format, FormatError, FormatErrorKind, ParsedRows, LabelsColumn, LineSteps,
    NdjsonPortions, Options, Parsed, Place, Preview, RowsKind, Spool, Supply, TextFormat, digest, gather, gather_shown,
    json as documents, parse, read_blocks, write_blocks, write_examples,
};
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use halfspace_core::learners::sample::examples::Examples;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::Header;
use super::input::Input;
use super::pieces::Pieces;

/// No text written by these targets is longer.
const TEXT_BYTES_MAX: u64 = 1 << 24;

pub fn arff(bytes: &[u8]) {
    body(Format::Arff, bytes);
}

pub fn csv(bytes: &[u8]) {
    body(Format::Csv, bytes);
    body(Format::Tsv, bytes);
}

pub fn libsvm(bytes: &[u8]) {
    body(Format::Libsvm, bytes);
}

pub fn vw(bytes: &[u8]) {
    body(Format::Vw, bytes);
}

pub fn npy(bytes: &[u8]) {
    body(Format::Npy, bytes);
}

pub fn parquet(bytes: &[u8]) {
    body(Format::Parquet, bytes);
}

/// Workbooks: any bytes, and an archive whose parts are the pieces of the body between bytes 0xFF.
pub fn xlsx(bytes: &[u8]) {
    body(Format::Xlsx, bytes);
    let Some((prefix, parts)) = bytes.split_first_chunk::<6>() else {
        return;
    };
    const NAMES: [&str; 5] = [
        "xl/worksheets/sheet1.xml",
        "xl/sharedStrings.xml",
        "xl/styles.xml",
        "xl/_rels/workbook.xml.rels",
        "xl/workbook.xml",
    ];
    const RELATED: &[u8] = br#"<Relationships>
        <Relationship Id="r1" Type="/worksheet" Target="worksheets/sheet1.xml"/>
        <Relationship Id="r2" Type="/sharedStrings" Target="sharedStrings.xml"/>
        <Relationship Id="r3" Type="/styles" Target="styles.xml"/></Relationships>"#;
    const USUAL: [&[u8]; 5] = [
        b"<worksheet/>",
        b"<sst/>",
        b"<styleSheet/>",
        RELATED,
        br#"<workbook><sheets><sheet name="s" r:id="r1"/></sheets></workbook>"#,
    ];
    let mut given = parts.split(|&byte| byte == 0xFF);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, usual) in NAMES.into_iter().zip(USUAL) {
        let part = given.next().filter(|part| !part.is_empty()).unwrap_or(usual);
        writer.start_file(name, options).expect("memory");
        writer.write_all(part).expect("memory");
    }
    let archive = writer.finish().expect("memory").into_inner();
    body(Format::Xlsx, &[prefix, archive.as_slice()].concat());
}

/// JSON, as a whole body and as a form in a document.
pub fn json(bytes: &[u8]) {
    body(Format::Json, bytes);
    let Some(Input { options, body, .. }) = Input::from_bytes(bytes) else {
        return;
    };
    let form = documents::from_reader::<DataForm>(body, &options.limits);
    if let Ok(DataForm::Sample { parsed, .. }) = form {
        stays_within_limits(&parsed.data, &options);
    }
}

/// Lines, whole, in portions, and each by itself.
pub fn ndjson(bytes: &[u8]) {
    let whole = body(Format::Ndjson, bytes);
    let Some(input) = Input::from_bytes(bytes) else {
        return;
    };
    if let Some(Ok(parsed)) = whole {
        in_portions(&input, &parsed);
    }
    let steps = by_steps(&input, input.piece);
    assert_eq!(steps, by_steps(&input, usize::MAX), "the pieces of a stream matter");
}

/// Packed bits, as a body and as the form `packed` of JSON.
pub fn octets(bytes: &[u8]) {
    let whole = body(Format::Octets, bytes);
    let Some(Input { options, body, .. }) = Input::from_bytes(bytes) else {
        return;
    };
    let (Some(n), Some(whole)) = (options.n, whole) else {
        return;
    };
    let is_plain = matches!(options.labels, None | Some(LabelsColumn::None));
    if !is_plain || options.header != Header::Auto {
        return;
    }
    let order = match options.bit_order.unwrap_or_default() {
        BitOrder::Big => "big",
        BitOrder::Little => "little",
    };
    let rows = STANDARD.encode(body);
    let packed = format!(r#"{{"packed":{{"n":{n},"rows":"{rows}","bit_order":"{order}"}}}}"#);
    let packed = parse(Format::Json, packed.as_bytes(), &Options {
        n: options.n,
        limits: options.limits.clone(),
        ..Options::default()
    });
    match (whole, packed) {
        (Ok(whole), Ok(packed)) => {
            assert_eq!(whole.data.features(), packed.data.features(), "packed");
        }
        (Err(_), Err(_)) => {}
        (whole, packed) => panic!("{whole:?} {packed:?}"),
    }
}

/// Parses a body in several ways, which must agree, and returns the outcome.
fn body(format: Format, bytes: &[u8]) -> Option<Result<Parsed, FormatError>> {
    let input = Input::from_bytes(bytes)?;
    let (options, text) = (&input.options, input.body);
    let whole = parse(format, text, options);
    let pieces = Pieces {
        body: text,
        piece: input.piece,
    };
    let in_pieces = parse(format, pieces, options);
    match format {
        // Depth is counted ahead of the parser, as far as the bytes have arrived.
        Format::Json if whole.is_err() => assert!(in_pieces.is_err()),
        _ => assert_eq!(whole, in_pieces, "the pieces of a body matter"),
    }
    if let Err(error) = &whole {
        stands_in(error, text);
    }
    if let Ok(parsed) = &whole {
        stays_within_limits(&parsed.data, options);
        survives_the_store(parsed);
        survives_being_written(parsed);
    }
    through_a_spool(format, &input, &whole);
    under_a_preview(format, &input, &whole);
    Some(whole)
}

/// A preview does not change the outcome, and each of its rows has one cell per name.
fn under_a_preview(format: Format, input: &Input<'_>, whole: &Result<Parsed, FormatError>) {
    let preview = Preview::new(3);
    let read = gather_shown(format, input.body, &input.options, None, &preview);
    let read = read.map_err(|error| preview.explained(error).unwrap_or_else(|error| error));
    assert_eq!(whole.as_ref().err(), read.as_ref().err(), "a preview matters");
    if let (Ok(whole), Ok(read)) = (whole, &read) {
        let is_same = matches!(&read.data, ParsedRows::Memory(data) if *data == whole.data);
        assert!(is_same, "a preview matters");
        let facts = (&read.first_real, &read.feature_names, &read.classes, &read.table);
        assert_eq!(facts, (&whole.first_real, &whole.feature_names, &whole.classes, &whole.table));
    }
    let shown = preview.finish(read.ok().as_mut()).expect("rows in memory");
    assert!(shown.rows.len() <= 3);
    assert!(shown.rows.iter().all(|row| row.len() == shown.names.len()));
}

fn stays_within_limits(data: &Data, options: &Options) {
    assert!((1..=options.limits.n_max).contains(&data.n()));
    assert!(data.examples() > 0);
    if let Features::Real(matrix) = data.features() {
        assert!(matrix.values().iter().all(|value| value.is_finite()));
    }
    let bytes = data.shape().memory_bytes();
    assert!(bytes <= options.limits.state_bytes_max, "{bytes}");
}

/// The place of an error is in the body or right behind it.
fn stands_in(error: &FormatError, body: &[u8]) {
    match &error.place {
        None => {}
        Some(Place::Line { line, column }) => {
            let mut lines = body.split(|&byte| byte == b'\n');
            let length = lines.nth(*line as usize - 1).map(<[u8]>::len);
            // If JSON ends early, the error may be on a line that has not begun.
            let length = length.unwrap_or_else(|| panic!("no such line: {error}"));
            assert!((1..=length as u64 + 1).contains(column), "{length}: {error}");
        }
        Some(Place::Byte(offset)) => assert!(*offset <= body.len() as u64, "{error}"),
        Some(Place::Cell { row, column }) => assert!(*row > 0 && *column > 0, "{error}"),
        Some(Place::SheetCell(cell)) => assert!(cell.contains('!'), "{error}"),
        Some(Place::Pointer(pointer)) => {
            assert!(pointer.is_empty() || pointer.starts_with('/'), "{error}");
        }
    }
}

fn survives_the_store(parsed: &Parsed) {
    let mut stored = Vec::new();
    let vocabulary = parsed.vocabulary.as_deref();
    write_blocks(&parsed.data, None, vocabulary, None, &mut stored).expect("memory");
    let (data, _, names, _) = read_blocks(stored.as_slice()).expect("own");
    assert_eq!((&data, names.as_ref()), (&parsed.data, vocabulary));
}

/// If data are written in a text format and read again, they are the same.
fn survives_being_written(parsed: &Parsed) {
    let labelled = parsed.data.labels().are_given();
    let formats = [
        (TextFormat::Ndjson, Format::Ndjson),
        (TextFormat::Csv, Format::Csv),
        (TextFormat::Libsvm, Format::Libsvm),
    ];
    let vocabulary = parsed.vocabulary.as_deref();
    // Only the first writes names.
    let formats = &formats[..if vocabulary.is_some() { 1 } else { 3 }];
    for &(written, format) in formats {
        let zero = parsed.zero_bit_value as i8;
        let text = write_examples(&parsed.data, None, vocabulary, zero, written, TEXT_BYTES_MAX);
        let text = text.expect("short");
        let options = Options {
            labels: match format {
                Format::Ndjson => None,
                _ if !labelled => Some(LabelsColumn::None),
                Format::Csv => Some(LabelsColumn::First),
                _ => None,
            },
            header: match format {
                Format::Csv => Header::False,
                _ => Header::Auto,
            },
            n: Some(parsed.data.n()).filter(|_| vocabulary.is_none()),
            open_vocabulary: vocabulary.is_some(),
            values: Some(kind(&parsed.data)),
            unlabelled: match parsed.data.labels() {
                Labels::Unlabelled => super::UnlabelledMeans::Nothing,
                _ => super::UnlabelledMeans::HalfSpace,
            },
            ..Options::default()
        };
        let again = parse(format, text.as_bytes(), &options);
        let again = again.unwrap_or_else(|error| panic!("{format:?}: {error}\n{text}"));
        assert_eq!(again.data, parsed.data, "{format:?}\n{text}");
        let digest = |of: &Parsed| digest(&of.data, None, of.vocabulary.as_deref(), None);
        assert_eq!(digest(&again), digest(parsed));
    }
}

fn kind(data: &Data) -> RowsKind {
    match data.features().is_real() {
        false => RowsKind::Boolean,
        true => RowsKind::Real,
    }
}

/// Spooled rows are stored exactly as rows in memory are.
fn through_a_spool(format: Format, input: &Input<'_>, whole: &Result<Parsed, FormatError>) {
    let open = || Ok(Cursor::new(Vec::new()));
    let spool = Spool::new(input.memory_bytes_max, open);
    let gathered = gather(format, input.body, &input.options, spool);
    match (whole, gathered) {
        (Ok(whole), Ok(mut gathered)) => {
            let mut spooled = Vec::new();
            let of_spool = gathered.store(&mut spooled, 1000).expect("memory");
            let mut held = Vec::new();
            let of_memory = Parsed::from(whole.clone()).store(&mut held, 1000).expect("memory");
            assert_eq!(of_spool, of_memory, "what is known of spooled rows");
            assert!(spooled == held, "spooled rows");
            assert_eq!(gathered.zero_bit_value, whole.zero_bit_value);
            assert_eq!(gathered.first_real, whole.first_real);
            assert_eq!(gathered.feature_names, whole.feature_names);
            assert_eq!(gathered.vocabulary, whole.vocabulary);
        }
        // In memory signs count twice.
        (Err(error), _) if matches!(error.kind, FormatErrorKind::TooLarge { .. }) => {}
        (Err(whole), Err(gathered)) => assert_eq!(*whole, gathered),
        (Err(error), Ok(_)) => panic!("not with a spool: {error}"),
        (Ok(_), Err(error)) => panic!("{error}"),
    }
}

/// The portions of lines together are the body.
fn in_portions(input: &Input<'_>, whole: &Parsed) {
    let is_named = whole.vocabulary.is_some();
    let options = Options {
        n: Some(whole.data.n()).filter(|_| !is_named),
        open_vocabulary: is_named,
        values: Some(kind(&whole.data)),
        ..input.options.clone()
    };
    let pieces = Pieces {
        body: input.body,
        piece: input.piece,
    };
    let mut portions = NdjsonPortions::new(pieces, &options).expect("known options");
    let (mut text, mut lines) = (String::new(), Vec::new());
    loop {
        let supply = portions.read(1 + input.memory_bytes_max / 16);
        let supply = supply.unwrap_or_else(|error| panic!("a portion: {error}"));
        if let Some(portion) = portions.take().expect("few") {
            assert_eq!(portion.lines.len(), portion.parsed.data.examples());
            lines.extend(portion.lines);
            text += &ndjson_of(&portion.parsed);
        }
        if supply == Supply::End {
            break;
        }
    }
    assert_eq!(text, ndjson_of(whole), "portions");
    assert!(lines.is_sorted_by(|one, other| one < other));
    assert_eq!(lines.len(), whole.data.examples());
}

fn ndjson_of(parsed: &Parsed) -> String {
    let vocabulary = parsed.vocabulary.as_deref();
    write_examples(&parsed.data, None, vocabulary, 0, TextFormat::Ndjson, TEXT_BYTES_MAX).expect("short")
}

/// The examples of a stream, each parsed alone, and how the stream ends.
fn by_steps(input: &Input<'_>, piece: usize) -> (Vec<String>, Option<FormatError>) {
    let pieces = Pieces {
        body: input.body,
        piece,
    };
    let mut steps = LineSteps::new(pieces, input.options.clone());
    let mut seen = Vec::new();
    loop {
        let step = match steps.next(|parsed| parsed.first_real.is_none()) {
            Ok(Some(step)) => step,
            Ok(None) => return (seen, None),
            Err(error) => return (seen, Some(error)),
        };
        let text = ndjson_of(&step.parsed);
        seen.extend(text.lines().map(str::to_owned));
    }
}
