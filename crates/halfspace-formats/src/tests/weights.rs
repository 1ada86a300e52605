//! Tests of the weights of examples: every format of tables reads the same ones, the stored form keeps them, and what
//! is refused and where.

use std::io::Cursor;
use std::sync::Arc;

use halfspace_core::learners::engine::run::{Interrupt, StopFlag};
use halfspace_core::learners::sample::weights::Weight;
use proptest::prelude::*;

use super::parquet_tables::plain;
use super::parquet_writer::{Column, texts, written};
use super::workbooks::{Book, row};
use super::*;
use crate::{
    BlocksError, Buffers, CellKeeper, Layout, Preview, Spool, StoredExamples, TableEncoding,
    TableOptions, digest, encode_again, encode_for, gather, gather_shown, read_blocks,
};

const TABLE: &str = "x,word,w,y\n1.5,red,1,p\n2,blue,2.5,q\n-3,red,0.0014,p\n4,green,1000,q\n";

fn of(weights: Option<&Arc<[Weight]>>) -> Option<Vec<u32>> {
    let thousandths = |weight: &Weight| weight.thousandths();
    weights.map(|weights| weights.iter().map(thousandths).collect())
}

fn weighted(body: &str, query: &str) -> Parsed {
    parse(Format::Csv, body.as_bytes(), &options(query)).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(format: Format, body: &str, query: &str) -> (Option<Place>, String) {
    let error = parse(format, body.as_bytes(), &options(query)).expect_err(body);
    assert!(
        matches!(
            error.kind,
            FormatErrorKind::BadValue | FormatErrorKind::TableOption | FormatErrorKind::BadOption
        ),
        "{error:?}"
    );
    (error.place, error.detail)
}

#[test]
fn weights_are_no_features_and_the_encoding_names_their_column() {
    let parsed = weighted(TABLE, "weights=w");
    assert_eq!(
        of(parsed.weights.as_ref()),
        Some(vec![1000, 2500, 1, 1_000_000])
    );
    let names = ["x", "word=blue", "word=green", "word=red"];
    assert_eq!(parsed.feature_names, Some(names.map(str::to_owned).into()));
    let table = parsed.table.as_ref().expect("a table");
    let column = table.weights.as_ref().expect("weights");
    assert_eq!((column.column.as_str(), column.index), ("w", 3));
    assert!(table.ignored.is_empty());
    table.check(Some(4)).expect("numbers of columns from 1");
    let json = serde_json::to_string(&**table).expect("text");
    let again: TableEncoding = serde_json::from_str(&json).expect("an encoding");
    assert_eq!(again, **table);
    let without = weighted(TABLE, "ignore=w");
    assert_eq!(
        (&without.data, without.weights),
        (&parsed.data, None),
        "the examples are those without weights"
    );
    assert!(
        !serde_json::to_string(&without.table)
            .unwrap()
            .contains("weights")
    );
}

#[test]
fn weights_are_named_like_labels() {
    let own = weighted(TABLE, "weights=w");
    for query in ["weights=3", "weights=-2"] {
        assert_eq!(weighted(TABLE, query), own, "{query}");
    }
    let last = weighted("y,x,w\np,1,2\nq,2,3\n", "weights=last");
    assert_eq!(of(last.weights.as_ref()), Some(vec![2000, 3000]));
    let bare = "2,1,0,p\n3,0,1,q\n3,1,1,q\n";
    for query in ["weights=first", "weights=1", "weights=column_1"] {
        let parsed = weighted(bare, &format!("{query}&labels=last"));
        assert_eq!(of(parsed.weights.as_ref()), Some(vec![2000, 3000, 3000]));
        assert_eq!(rows(&parsed.data), ["10", "01", "11"]);
    }
    // A name of the option tells that the first row has the names.
    let numbers = "w,1,label\n2,5,1\n3,7,0\n";
    let parsed = weighted(numbers, "weights=w");
    assert_eq!(of(parsed.weights.as_ref()), Some(vec![2000, 3000]));
    // A column of weights is not taken for the labels.
    let parsed = weighted("x,y,class\n1,2,p\n0,3,q\n", "weights=y");
    assert_eq!(parsed.class_names(), Some(vec!["p".into(), "q".into()]));
}

#[test]
fn weights_of_1_are_no_weights() {
    let ones = "x,w,y\n1,1,p\n2,1.0,q\n3,1.0004,q\n";
    let parsed = weighted(ones, "weights=w");
    assert_eq!(parsed.weights, None);
    assert_eq!(parsed.digest(), weighted(ones, "ignore=w").digest());
    assert!(parsed.table.expect("a table").weights.is_some());
    let vw = read(Format::Vw, "p 1 | a\nq 1.0 | b\n").expect("lines");
    let bare = read(Format::Vw, "p | a\nq | b\n").expect("lines");
    assert_eq!((vw.digest(), vw), (bare.digest(), bare));
}

#[test]
fn every_format_reads_the_same_weights() {
    let query = options("weights=w");
    let cells: Vec<Vec<&str>> = TABLE
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    let sheet: String = cells.iter().map(|cells| row(cells)).collect();
    same_as_csv(Format::Xlsx, &Book::of(&sheet).bytes(), TABLE, &query);
    let tabs = TABLE.replace(',', "\t");
    same_as_csv(Format::Tsv, tabs.as_bytes(), TABLE, &query);
    let objects = cells[1..].iter().map(|cells| {
        let [x, word, w, y] = cells[..] else {
            panic!("four")
        };
        format!(r#"{{"x":{x},"word":"{word}","w":{w},"y":"{y}"}}"#)
    });
    let objects: Vec<String> = objects.collect();
    same_as_csv(Format::Ndjson, objects.join("\n").as_bytes(), TABLE, &query);
    let list = format!("[{}]", objects.join(","));
    same_as_csv(Format::Json, list.as_bytes(), TABLE, &query);
    let stated = format!(r#"{{"table":{{"rows":{list},"weights":"w"}}}}"#);
    let stated = read(Format::Json, &stated).expect("rows");
    assert_eq!(stated.digest(), weighted(TABLE, "weights=w").digest());
    let columns = vec![
        Column::Doubles([1.5, 2.0, -3.0, 4.0].map(Some).to_vec()),
        texts(&["red", "blue", "red", "green"]),
        Column::Doubles([1.0, 2.5, 0.0014, 1000.0].map(Some).to_vec()),
        texts(&["p", "q", "p", "q"]),
    ];
    let fields = "optional double x; optional binary word (STRING); optional double w; \
        optional binary y (STRING)";
    let parquet = written(fields, &[columns], plain());
    same_as_csv(Format::Parquet, &parquet, TABLE, &query);
    let arff = "@relation r\n@attribute x numeric\n@attribute word {red,blue,green}\n\
        @attribute w numeric\n@attribute y {p,q}\n@data\n";
    let arff = arff.to_owned() + TABLE.split_once('\n').expect("lines").1;
    let arff = parse(Format::Arff, arff.as_bytes(), &query).expect("rows");
    let own = weighted(TABLE, "weights=w");
    assert_eq!(
        (&arff.weights, rows(&arff.data)),
        (&own.weights, rows(&own.data))
    );
}

#[test]
fn tables_of_numbers_read_weights_in_every_format() {
    let csv = "x,w,label\n1,2,1\n0,3.5,0\n1,1,0\n";
    let query = options("weights=w");
    let columns = vec![
        Column::Int32([1, 0, 1].map(Some).to_vec()),
        Column::Doubles([2.0, 3.5, 1.0].map(Some).to_vec()),
        Column::Int32([1, 0, 0].map(Some).to_vec()),
    ];
    let fields = "optional int32 x; optional double w; optional int32 label";
    same_as_csv(
        Format::Parquet,
        &written(fields, &[columns], plain()),
        csv,
        &query,
    );
    let sparse = "@relation r\n@attribute x numeric\n@attribute w numeric\n@attribute label {1,0}\n\
        @data\n{0 1,1 2}\n{1 3.5,2 0}\n{0 1,1 1,2 0}\n";
    let sparse = parse(Format::Arff, sparse.as_bytes(), &query).expect("rows");
    let own = weighted(csv, "weights=w");
    assert_eq!((&sparse.weights, &sparse.data), (&own.weights, &own.data));
    assert_eq!(rows(&own.data), ["1", "0", "1"]);
    // A word after rows of numbers begins a scan.
    let words = "red,1,0\nblue,1,1\ngreen,2,0\ngrey,1,1\n";
    let scanned = weighted(&(csv.to_owned() + words), "weights=w");
    let expected = [2000, 3500, 1000, 1000, 1000, 2000, 1000];
    assert_eq!(of(scanned.weights.as_ref()), Some(expected.to_vec()));
    assert_eq!(scanned.data.n(), 6);
    let named = weighted(csv, "weights=w&vocabulary=open");
    assert_eq!(named.weights, own.weights);
    assert_eq!(named_rows(&named), [vec!["x"], vec![], vec!["x"]]);
}

#[test]
fn rows_that_are_left_out_have_no_weight() {
    let body = "x,w,y\n1,2,p\n,3,q\n2,4,\n3,,q\n4,5,q\n5,-,p\n";
    for query in [
        "weights=w&missing=drop",
        "weights=w&missing=drop&kinds=x:number",
    ] {
        let parsed = weighted(body, query);
        assert_eq!(of(parsed.weights.as_ref()), Some(vec![2000, 5000]));
        assert_eq!(parsed.table.expect("a table").missing.rows_dropped, 4);
    }
}

#[test]
fn bad_weights_are_refused_at_their_place() {
    let rule = Weight::RULE;
    let cases = [
        ("abc", "has the weight `abc`"),
        ("-1", "has the weight `-1`"),
        ("0.0004", "has the weight `0.0004`"),
        ("1e9", "has the weight `1e9`"),
        ("inf", "has the weight `inf`"),
        ("1000.1", "has the weight `1000.1`"),
        ("50%", "has the weight `50%`"),
    ];
    for (cell, found) in cases {
        let body = format!("x,w,y\n1,2,p\n2,{cell},q\n");
        let (place, detail) = refusal(Format::Csv, &body, "weights=w");
        assert_eq!(place, Some(at(3, 3)), "{detail}");
        assert_eq!(detail, format!("In the column `w`, row 2 {found}; {rule}."));
        let (place, detail) = refusal(Format::Vw, &format!("p 2 | a\nq {cell} | b\n"), "");
        assert_eq!(place, Some(at(2, 3)));
        assert_eq!(detail, format!("The example {found}; {rule}."));
    }
    let (_, detail) = refusal(Format::Csv, "x,w,y\n1,0,p\n2,1,q\n", "weights=w");
    let left_out = "and an example that is not to count is left out";
    assert_eq!(
        detail,
        format!("In the column `w`, row 1 has the weight `0`; {rule}, {left_out}.")
    );
    for cell in ["", "NaN", "?", "N/A"] {
        let body = format!("x,w,y\n1,{cell},p\n2,1,q\n");
        let (place, detail) = refusal(Format::Csv, &body, "weights=w");
        assert_eq!(place, Some(at(2, 3)), "{detail}");
        let drop = "`missing=drop` leaves such rows out";
        assert_eq!(
            detail,
            format!("In the column `w`, row 1 has no weight; {rule}. {drop}.")
        );
    }
    let (place, detail) = refusal(
        Format::Ndjson,
        "{\"x\":1,\"w\":2,\"y\":\"p\"}\n{\"x\":2,\"w\":true,\"y\":\"q\"}\n",
        "weights=w",
    );
    assert_eq!(place, Some(at(2, 12)), "{detail}");
    let json = r#"[{"x":1,"w":"heavy","y":"p"},{"x":2,"w":1,"y":"q"}]"#;
    let (place, _) = refusal(Format::Json, json, "weights=w");
    assert_eq!(place, Some(Place::Pointer("/0/w".to_owned())));
    let comma = weighted("x;w;y\n1;2,5;p\n0;1;q\n", "weights=w&decimal=,");
    assert_eq!(of(comma.weights.as_ref()), Some(vec![2500, 1000]));
}

#[test]
fn a_column_of_weights_has_no_other_use() {
    for (query, reason) in [
        ("weights=y&labels=last", "the labels are in it too"),
        ("weights=w&labels=w", "the labels are in it too"),
        ("weights=w&ignore=w", "the request ignores it too"),
        ("weights=w&kinds=w:ignored", "the request ignores it too"),
        ("weights=v", "which the table does not have"),
    ] {
        let (_, detail) = refusal(Format::Csv, TABLE, query);
        assert!(detail.contains(reason), "{query}: {detail}");
    }
    for format in [Format::Libsvm, Format::Vw, Format::Npy, Format::Octets] {
        let (_, detail) = refusal(format, "", "weights=w");
        assert!(
            detail.starts_with("The option `weights` is for tables"),
            "{detail}"
        );
    }
    let all = weighted(TABLE, "weights=w&kinds=*:nominal");
    assert_eq!(all.weights, weighted(TABLE, "weights=w").weights);
    let none = weighted(TABLE, "weights=none");
    assert_eq!(none, weighted(TABLE, ""));
}

/// The options for a later table that is read as `encoding` says.
fn under(encoding: &Arc<TableEncoding>, query: &str) -> Options {
    let stated = options(query);
    Options {
        table: TableOptions {
            encoding: Some(Arc::clone(encoding)),
            ..stated.table
        },
        ..stated
    }
}

#[test]
fn later_tables_are_read_with_and_without_the_weights() {
    for query in ["weights=w", "weights=w&vocabulary=open"] {
        let own = weighted(TABLE, query);
        let encoding = own.table.clone().expect("a table");
        let open = if query.contains("open") {
            "vocabulary=open"
        } else {
            ""
        };
        let later = |body: &str, query: &str| {
            let options = under(&encoding, &[open, query].join("&"));
            parse(Format::Csv, body.as_bytes(), &options).unwrap_or_else(|error| panic!("{error}"))
        };
        let with = later(TABLE, "");
        assert_eq!((&with.data, &with.weights), (&own.data, &None));
        assert_eq!(
            with.table.as_ref().expect("a table").weights,
            encoding.weights
        );
        let without = "x,word,y\n1.5,red,p\n2,blue,q\n-3,red,p\n4,green,q\n";
        let without = later(without, "");
        assert_eq!(without.data, own.data);
        let kept = without.table.expect("a table");
        assert_eq!(
            kept.weights.as_ref().map(|own| own.column.as_str()),
            Some("w")
        );
        kept.check((query == "weights=w").then_some(4))
            .expect("numbers of columns from 1");
        let bad = TABLE.replace("2.5", "heavy");
        assert_eq!(later(&bad, "").data, own.data, "the column is not read");
        assert_eq!(later(TABLE, "weights=w").weights, own.weights);
        let unlabelled = "x,word\n1.5,red\n2,blue\n-3,red\n4,green\n";
        assert_eq!(
            later(unlabelled, "labels=none").data.features(),
            own.data.features()
        );
    }
    // The encoding has features of the column.
    let encoding = weighted(TABLE, "").table.expect("a table");
    let error = parse(
        Format::Csv,
        TABLE.as_bytes(),
        &under(&encoding, "weights=w"),
    );
    let detail = error.expect_err("a feature").detail;
    assert!(
        detail.contains("the encoding reads features from it"),
        "{detail}"
    );
}

#[test]
fn later_tables_without_names_are_read_with_and_without_the_weights() {
    let read = |encoding: &Arc<TableEncoding>, body: &str, query: &str| {
        parse(Format::Csv, body.as_bytes(), &under(encoding, query))
    };
    let own = weighted("7,1,0,p\n8,0,1,q\n9,1,1,q\n", "weights=1&labels=4");
    let encoding = own.table.clone().expect("a table");
    for (body, query) in [
        ("7,1,0,p\n8,0,1,q\n9,1,1,q\n", ""),
        ("1,0,p\n0,1,q\n1,1,q\n", "labels=last"),
        ("1,0\n0,1\n1,1\n", "labels=none"),
        ("7,1,0\n8,0,1\n9,1,1\n", "labels=none&weights=1"),
        ("1,0,7,p\n0,1,8,q\n1,1,9,q\n", "weights=3"),
    ] {
        let parsed = read(&encoding, body, query).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(
            parsed.data.features(),
            own.data.features(),
            "{body} {query}"
        );
    }
    let doubtful = read(&encoding, "1,0,p\n0,1,q\n", "labels=none").expect_err("labels or weights");
    assert!(
        doubtful.detail.contains("either the labels or the weights"),
        "{doubtful}"
    );
    let wide = read(&encoding, "1,0,p,1,2\n", "").expect_err("five cells");
    assert_eq!(wide.kind, FormatErrorKind::UnequalLength);
    // The labels may have moved to the front.
    let encoding = weighted("7,p,1,0\n8,q,0,1\n9,q,1,1\n", "weights=1&labels=2");
    let encoding = encoding.table.expect("a table");
    let body = "p,1,0\nq,0,1\n".as_bytes();
    let doubtful = crate::parse(Format::Csv, body, &under(&encoding, ""));
    let doubtful = doubtful.expect_err("labels or weights");
    assert!(doubtful.detail.contains("labels=first"), "{doubtful}");
    let parsed = read(&encoding, "p,1,0\nq,0,1\nq,1,1\n", "labels=first").expect("rows");
    assert_eq!(parsed.data, own.data);
}

#[test]
fn lines_of_vowpal_wabbit_have_weights() {
    let vw = read(Format::Vw, "p | a\nq 2.5 | b\np 1 0 'tag| c\n").expect("lines");
    assert_eq!(of(vw.weights.as_ref()), Some(vec![1000, 2500, 1000]));
    let bare = read(Format::Vw, "p | a\nq | b\np | c\n").expect("lines");
    assert_eq!(bare.weights, None);
    assert_eq!((&bare.data, &bare.vocabulary), (&vw.data, &vw.vocabulary));
    assert_ne!(bare.digest(), vw.digest());
}

#[test]
fn a_preview_shows_the_column_of_weights() {
    let shown = |body: &str| {
        let preview = Preview::new(2);
        let read = gather_shown(
            Format::Csv,
            body.as_bytes(),
            &options("weights=w"),
            None,
            &preview,
        );
        let seen = preview
            .finish(None)
            .expect("a table")
            .columns
            .expect("columns");
        let roles: Vec<String> = seen
            .iter()
            .map(|column| serde_json::to_value(column.role).unwrap().to_string())
            .collect();
        (read.map(drop), roles.join(" "), seen[2].clone())
    };
    let (read, roles, column) = shown(TABLE);
    assert_eq!(read, Ok(()));
    assert_eq!(roles, r#""feature" "feature" "weights" "label""#);
    assert_eq!((column.kind, column.kinds.len()), (None, 0));
    let (read, refused, _) = shown(&TABLE.replace("2.5", "heavy"));
    assert_eq!(refused, roles);
    assert!(read.expect_err("text").detail.contains("`heavy`"));
}

/// The stored form of a body with weights.
fn stored(parsed: Parsed) -> (Vec<u8>, [u8; 32]) {
    let mut parsed = Parsed::from(parsed);
    let most = parsed.stored_bytes().expect("small");
    let mut bytes = Vec::new();
    let facts = parsed.store(&mut bytes, 100).expect("memory");
    let is_dense = parsed.data.header().entries.is_none();
    // The names of classes come on top.
    assert!(!is_dense || bytes.len() as u64 >= most);
    (bytes, facts.digest)
}

fn opened(bytes: Vec<u8>, sha256: [u8; 32]) -> Result<StoredExamples, BlocksError> {
    let buffers = Buffers {
        whole_bytes_max: 0,
        window_bytes: 1,
    };
    StoredExamples::open(
        Box::new(bytes::Bytes::from(bytes)),
        sha256,
        buffers,
        StopFlag::default(),
    )
}

#[test]
fn stored_form_keeps_weights_and_finds_every_flipped_bit() {
    let bodies = [
        (Format::Csv, TABLE, "weights=w"),
        (Format::Csv, "x,w,y\n1,2,p\n0,3,q\n1,1,q\n", "weights=w"),
        (
            Format::Csv,
            "x,w,y\n1.5,2,p\n0,3,q\n1,1,q\n",
            "weights=w&labels=none&ignore=y",
        ),
        (Format::Vw, "p 2 | a\nq | b c\n", ""),
    ];
    for (format, body, query) in bodies {
        let parsed = parse(format, body.as_bytes(), &options(query)).expect(body);
        let weights = parsed.weights.clone();
        assert!(weights.is_some());
        let expected = parsed.digest();
        let data = parsed.data.clone();
        let (mut bytes, sha256) = stored(parsed);
        assert_eq!(sha256, expected);
        assert!(Layout::read(bytes.as_slice()).expect("own").is_weighted());
        let read = read_blocks(bytes.as_slice()).expect("own");
        assert_eq!((&read.0, &read.3), (&data, &weights));
        let digests = digest(&read.0, read.1.as_ref(), read.2.as_ref(), read.3.as_deref());
        assert_eq!(digests, sha256);
        let examples = opened(bytes.clone(), sha256).expect("own");
        assert_eq!(examples.weights(), Ok(weights));
        examples.verify(&StopFlag::default()).expect("own");
        assert!(examples.damages(true, 10, &mut |_| {}).is_empty());
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read_blocks(bytes.as_slice()).is_err(), "bit {bit}");
            if let Ok(examples) = opened(bytes.clone(), sha256) {
                assert_eq!(
                    examples.damages(false, 1, &mut |_| {}).len(),
                    1,
                    "bit {bit}"
                );
                let verified = examples.verify(&StopFlag::default());
                assert_eq!(verified, Err(Interrupt::Unreadable), "bit {bit}");
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for length in 0..bytes.len() {
            assert!(opened(bytes[..length].to_vec(), sha256).is_err());
        }
    }
}

#[test]
fn stored_data_without_weights_have_none() {
    let (bytes, sha256) = stored(weighted(TABLE, "ignore=w"));
    assert_eq!(opened(bytes, sha256).expect("own").weights(), Ok(None));
}

#[test]
fn raw_cells_give_the_weights_again() {
    for body in [TABLE, "x,w,label\n1,2,1\n0,3.5,0\n1,1,0\n"] {
        let keeper = CellKeeper::default();
        let keeping = Options {
            cells: Some(keeper.clone()),
            ..options("weights=w")
        };
        let own = parse(Format::Csv, body.as_bytes(), &keeping).expect("rows");
        let mut cells = Vec::new();
        let mut raw = keeper.take().expect("the weights are no examples");
        raw.write(&mut cells).expect("memory");
        let again = encode_again(cells.as_slice(), &options("weights=w"), None).expect("cells");
        let again = again.in_memory();
        assert_eq!((again.digest(), &again.table), (own.digest(), &own.table));
        // The columns of the dataset keep their use, unless the request says otherwise.
        let table = own.table.clone().expect("a table");
        let mut kept = options("scale=standard");
        kept.table.roles = Some(Arc::new(crate::Roles::beside_features(&table)));
        let scaled = encode_again(cells.as_slice(), &kept, None).expect("cells");
        assert_eq!(scaled.weights, own.weights);
        let mut none = options("weights=none");
        none.table.roles.clone_from(&kept.table.roles);
        let none = encode_again(cells.as_slice(), &none, None).expect("cells");
        assert_eq!(none.weights, None);
        let fitted = encode_for(
            || Ok(cells.as_slice()),
            &table,
            own.classes.as_ref(),
            &|row| row != 1,
            &ParseLimits::DEFAULT,
            None,
        );
        let fitted = fitted.expect("rows").expect("an encoding of its own");
        assert_eq!(fitted.weights, own.weights);
        assert_eq!(fitted.table.expect("a table").weights, table.weights);
    }
}

proptest! {
    /// Rows that leave memory have the weights of rows in memory, and the same stored form.
    #[test]
    fn spooled_rows_have_the_same_weights(
        rows in proptest::collection::vec((0_i32..4, 1_u32..=1_000_000, any::<bool>()), 2..200),
        has_word in any::<bool>(),
        memory_bytes_max in 1_u64..2_000,
    ) {
        let last = if has_word { "a,1,p\nb,1,p\nc,1,q\nd,1,p\n" } else { "1,1,p\n2,1,p\n3,1,q\n0,1,q\n" };
        let line = |(x, w, y): &(i32, u32, bool)| {
            format!("{x},{},{}\n", f64::from(*w) / 1000.0, if *y { "p" } else { "q" })
        };
        let lines: String = rows.iter().map(line).collect();
        let body = format!("x,w,y\n{lines}{last}");
        let options = options("weights=w");
        let own = parse(Format::Csv, body.as_bytes(), &options).expect("rows");
        let expected: Vec<u32> = rows.iter().map(|row| row.1).chain([1000; 4]).collect();
        let is_weighted = expected.iter().any(|weight| *weight != 1000);
        prop_assert_eq!(of(own.weights.as_ref()), is_weighted.then_some(expected));
        let part = own.rows(1..rows.len());
        let slice = own.weights.as_ref().map(|all| all[1..rows.len()].to_vec());
        let slice = slice.filter(|slice| slice.iter().any(|weight| *weight != Weight::ONE));
        prop_assert_eq!(part.weights.as_deref().map(<[Weight]>::to_vec), slice);
        let spool = Spool::new(memory_bytes_max, || Ok(Cursor::new(Vec::new())));
        let mut spooled = gather(Format::Csv, body.as_bytes(), &options, spool).expect("rows");
        prop_assert_eq!(&spooled.weights, &own.weights);
        let mut bytes = Vec::new();
        let facts = spooled.store(&mut bytes, 100).expect("memory");
        prop_assert_eq!(facts.digest, own.digest());
        let (expected, sha256) = stored(own);
        prop_assert!(bytes == expected && sha256 == facts.digest);
    }
}
