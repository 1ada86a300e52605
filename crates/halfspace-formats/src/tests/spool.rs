//! Tests of the spool: spooled rows have the same stored form, bit by bit, as rows in memory.

use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::*;

use super::properties::{arff, csv, libsvm, ndjson, npy, octets, sparse_arff, with_n};
use super::*;
use crate::building::rows::real_bytes;
use crate::{LabelRule, NotReserved, ParsedRows, RowsKind, Spool, Stored, gather, stored_bytes};

/// Makes a spool in memory for rows beyond `memory_bytes_max` bytes.
fn spool(memory_bytes_max: u64) -> Spool {
    Spool::new(memory_bytes_max, || Ok(Cursor::new(Vec::new())))
}

/// The stored form of a body, and all facts about it.
fn stored(mut parsed: Parsed<ParsedRows>) -> (Vec<u8>, Stored, Parsed<()>) {
    let mut bytes = Vec::new();
    let stored = parsed.store(&mut bytes, 1_000).expect("memory");
    (bytes, stored, parsed.with(|_| ()))
}

fn is_spooled(parsed: &Parsed<ParsedRows>) -> bool {
    matches!(parsed.data, ParsedRows::Spooled(_))
}

/// Reads a body through a spool, compares the result with a read into memory, and returns whether the spool was used.
fn check(format: Format, body: &[u8], options: &Options, memory_bytes_max: u64) -> bool {
    let options = &first_label(format, options);
    let expected = parse(format, body, options).expect("good").into();
    let gathered = gather(format, body, options, spool(memory_bytes_max)).expect("good");
    let spooled = is_spooled(&gathered);
    let (gathered, expected) = (stored(gathered), stored(expected));
    assert!(gathered == expected, "{format:?}, {memory_bytes_max} bytes");
    spooled
}

/// A target that other code can read.
#[derive(Clone, Default)]
struct Target(Arc<Mutex<Vec<u8>>>);

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a body through a spool with a target, and compares the target and the facts with a read into memory. Returns
/// whether the rows were written to the target.
fn check_target(format: Format, body: &[u8], options: &Options, memory_bytes_max: u64) -> bool {
    let options = &first_label(format, options);
    let (target, own) = (Target::default(), Target::default());
    let opened = target.clone();
    let spool = spool(memory_bytes_max).storing(100_000, opened);
    let gathered = gather(format, body, options, spool).expect("good");
    let mut expected = Parsed::<ParsedRows>::from(parse(format, body, options).expect("good"));
    let ParsedRows::Stored(found) = &gathered.data else {
        assert!(target.0.lock().expect("no panic").is_empty());
        return false;
    };
    let stored = expected.store(own.clone(), 100_000).expect("memory");
    assert_eq!((**found).clone(), stored);
    assert!(*target.0.lock().expect("no panic") == *own.0.lock().expect("no panic"));
    assert!(gathered.with(|_| ()) == expected.with(|_| ()));
    true
}

/// Makes a `.npy` file of rows of doubles.
fn doubles(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Vec<u8> {
    let row = |row| (0..columns).map(move |column| (row, column));
    let values = (0..rows).flat_map(row);
    let bytes: Vec<u8> = values
        .flat_map(|(row, column)| value(row, column).to_le_bytes())
        .collect();
    super::binary::npy("<f8", rows, columns, &bytes)
}

#[test]
fn npy_rows_are_spooled_directly_to_their_target() {
    // Some rows repeat, and some with both labels. -0.0 is stored as 0.0. Labels of new data get their codes last, so
    // the labelled rows go to a session with its classes.
    let value = |row: usize, column: usize| match column {
        0 => (row % 2) as f64,
        1 => -0.0,
        _ => (row / 3 * 31 + column) as f64 / 8.0,
    };
    let options = [LabelsColumn::First, LabelsColumn::None].map(|labels| Options {
        labels: Some(labels),
        label_rule: LabelRule::of(None),
        ..Options::default()
    });
    for options in &options {
        // Rows of at least 64 features have checks of their own. The last shape takes several chunks.
        for (rows, columns) in [(1, 3), (64, 3), (200, 5), (130, 65), (200, 70), (9_000, 80)] {
            let body = doubles(rows, columns, value);
            for memory_bytes_max in [0, 100, 5_000, 1 << 30] {
                let is_written = check_target(Format::Npy, &body, options, memory_bytes_max);
                let features = columns - usize::from(options.labels == Some(LabelsColumn::First));
                assert_eq!(is_written, real_bytes(rows, features) > memory_bytes_max);
            }
        }
    }
}

/// While packed rows leave memory, the kind of the data is not known yet.
#[test]
fn rows_that_turn_real_late_are_not_written_to_the_target() {
    let value = |row: usize, _| if row == 300 { 0.5 } else { (row % 2) as f64 };
    let options = Options {
        labels: Some(LabelsColumn::None),
        ..Options::default()
    };
    let body = doubles(400, 80, value);
    assert!(!check_target(Format::Npy, &body, &options, 1_000));
    assert!(check_target(Format::Npy, &body, &options, 250_000));
    let real = Options {
        values: Some(RowsKind::Real),
        ..options
    };
    assert!(check_target(Format::Npy, &body, &real, 1_000));
}

#[test]
fn spool_target_does_not_change_errors() {
    let value = |row: usize, column: usize| (row * 3 + column) as f64 / 8.0;
    let mut infinite = doubles(300, 70, value);
    let at = infinite.len() - 7 * 8;
    infinite[at..at + 8].copy_from_slice(&f64::INFINITY.to_le_bytes());
    let whole = doubles(300, 70, value);
    let claimed = super::binary::npy("<f8", 1 << 53, 70, &vec![1; 300 * 70 * 8]);
    let options = Options {
        labels: Some(LabelsColumn::None),
        ..Options::default()
    };
    for body in [
        &infinite[..],
        &whole[..whole.len() - 1],
        &[&whole[..], b"0"].concat(),
        &claimed,
    ] {
        let expected = parse(Format::Npy, body, &options).map(|_| ());
        let spool = spool(1_000).storing(100, Target::default());
        let found = gather(Format::Npy, body, &options, spool).map(|_| ());
        assert!(found.is_err());
        assert_eq!(found, expected);
    }
    let full = FormatErrorKind::Spool(ErrorKind::StorageFull);
    let spool = spool(1_000).storing(100, Full(Cursor::new(Vec::new()), 100_000));
    let found = gather(Format::Npy, whole.as_slice(), &options, spool).map(|_| ());
    assert_eq!(found.expect_err("full").kind, full);
}

/// Returns `rows` copies of one row, followed by other rows.
fn after_rows(rows: usize, row: &str, others: &str) -> Vec<u8> {
    (row.repeat(rows) + others).into_bytes()
}

#[test]
fn spool_of_few_rows_makes_no_file() {
    let opened = Arc::new(AtomicUsize::new(0));
    let body = after_rows(640, "1 1:1 3:1\n", "0 2:1\n");
    let read = |memory_bytes_max| {
        let opened = Arc::clone(&opened);
        let spool = Spool::new(memory_bytes_max, move || {
            opened.fetch_add(1, Ordering::SeqCst);
            Ok(Cursor::new(Vec::new()))
        });
        let gathered = gather(Format::Libsvm, body.as_slice(), &Options::default(), spool);
        is_spooled(&gathered.expect("good"))
    };
    // 640 rows take 8 bytes each, and 4 bytes per active feature.
    assert!(!read(16 * 640 + 100));
    assert_eq!(opened.load(Ordering::SeqCst), 0);
    assert!(read(15 * 640));
    assert_eq!(opened.load(Ordering::SeqCst), 1);
}

#[test]
fn data_that_turn_real_late_are_spooled_packed() {
    let options = Options::default();
    for memory_bytes_max in [0, 600, 5_000, 100_000] {
        // In dense data a 0 bit is 0, or -1 after the first -1.
        for row in ["1,0,1\n", "1,-1,1\n", "1,1,1\n"] {
            for rows in [1, 64, 700, 720] {
                let body = after_rows(rows, row, "0,0.5,1\n1,1,0\n");
                let spooled = check(Format::Csv, &body, &options, memory_bytes_max);
                // Doubles take more than bits.
                assert_eq!(spooled, real_bytes(rows + 2, 3) > memory_bytes_max);
            }
        }
        // In sparse data an absent value is 0.
        for row in ["1 1:1 70:1\n", "-1 1:1 2:-1 5:1\n", "1\n"] {
            let body = after_rows(700, row, "1 2:0.5\n-1 90:1 100:2\n1 2:-1\n");
            check(Format::Libsvm, &body, &options, memory_bytes_max);
        }
    }
}

#[test]
fn rows_that_become_wider_late_are_spooled_narrow() {
    let options = Options::default();
    for memory_bytes_max in [0, 600, 5_000, 100_000] {
        for row in ["1 1:1 3:1\n", "-1 1:1 2:-1\n", "1 2:1.5\n"] {
            for rows in [1, 63, 64, 700] {
                let wider = "1 300:1\n".to_owned() + &"-1 3:1 2000:1\n".repeat(70);
                let body = after_rows(rows, row, &wider);
                let spooled = check(Format::Libsvm, &body, &options, memory_bytes_max);
                assert!(spooled || memory_bytes_max >= 5_000);
            }
        }
    }
}

#[test]
fn real_rows_of_all_lengths_are_spooled() {
    let row = |row: usize| match row % 7 {
        0 => format!("1 {}:0.5\n", 1 + row * 37 % 3_000),
        1 => "-1\n".to_owned(),
        short => format!("-1 {short}:{row}.25\n"),
    };
    let body: String = (0..500).map(row).collect();
    let options = Options::default();
    for memory_bytes_max in [0, 1_000, 5_000] {
        assert!(check(
            Format::Libsvm,
            body.as_bytes(),
            &options,
            memory_bytes_max
        ));
    }
}

/// The last row determines the length of all short rows before it, but in memory they stay short.
#[test]
fn spool_keeps_sparse_rows_short_in_memory() {
    let options = Options::default();
    let body = after_rows(200, "1 1:0.5\n", "1 1000:1\n");
    assert!(check(Format::Libsvm, &body, &options, 2_000));
    assert!(!check(Format::Libsvm, &body, &options, 5_000));
}

#[test]
fn error_after_spooled_rows_has_its_place() {
    let body = after_rows(10_000, "1 1:1 3:1\n", "1 3:1 2:1\n");
    let error = gather(
        Format::Libsvm,
        body.as_slice(),
        &Options::default(),
        spool(600),
    );
    let error = error.err().expect("indices that do not ascend");
    assert_eq!(error.kind, FormatErrorKind::IndexOrder);
    assert_eq!(error.place, Some(at(10_001, 7)));
}

/// With a spool the limit counts stored bytes, and the error uses the configured name of the limit.
#[test]
fn spool_limit_counts_stored_bytes() {
    let mut options = Options::default();
    options.limits.state_bytes_max = 10 * 512;
    options.limits.state_limit_name = "dataset_bytes_max";
    let read = |rows| {
        let body = after_rows(rows, "1 1:1 2:-1\n", "");
        gather(Format::Libsvm, body.as_slice(), &options, spool(600)).map(|_| ())
    };
    assert_eq!(read(640), Ok(()));
    let error = read(641).expect_err("a block more");
    let kind = FormatErrorKind::TooLarge {
        limit: "dataset_bytes_max",
        value: 10 * 512,
    };
    assert_eq!((error.kind, error.place), (kind, Some(at(641, 1))));
}

/// A file on a disk that is full after a number of bytes.
struct Full(Cursor<Vec<u8>>, usize);

impl Read for Full {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Seek for Full {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.0.seek(place)
    }
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.1 - self.0.get_ref().len();
        match room.min(bytes.len()) {
            0 => Err(ErrorKind::StorageFull.into()),
            taken => self.0.write(&bytes[..taken]),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn spool_on_a_full_disk_differs_from_a_bad_body() {
    let full = FormatErrorKind::Spool(ErrorKind::StorageFull);
    // Wide rows fill the write buffer early, and narrow rows are written at the end.
    for (n, room) in [(3, 100), (70_000, 100_000)] {
        let body = after_rows(300, &format!("{}\n", "1".repeat(n)), "");
        let spool = Spool::new(600, move || Ok(Full(Cursor::new(Vec::new()), room)));
        let error = gather(Format::Ndjson, body.as_slice(), &Options::default(), spool);
        assert_eq!(error.err().map(|error| error.kind), Some(full));
    }
    let spool = Spool::new(600, || {
        Err::<Cursor<Vec<u8>>, _>(ErrorKind::StorageFull.into())
    });
    let body = after_rows(300, "101\n", "");
    let error = gather(Format::Ndjson, body.as_slice(), &Options::default(), spool);
    assert_eq!(error.err().map(|error| error.kind), Some(full));
}

/// Labelled rows of bits or signs, all of one length. A late row may be real.
fn rows() -> impl Strategy<Value = Vec<(bool, Vec<i32>)>> {
    let values = prop_oneof![Just([0, 1]), Just([-1, 1])];
    let sizes = (1_usize..90, 1_usize..300);
    let rows = (values, sizes).prop_flat_map(|(values, (n, rows))| {
        let value = proptest::sample::select(values.to_vec());
        vec((any::<bool>(), vec(value, n)), rows)
    });
    let late = proptest::option::of((any::<prop::sample::Index>(), -3..4));
    (rows, late).prop_map(|(mut rows, late)| {
        if let Some((at, value)) = late {
            let at = at.index(rows.len());
            rows[at].1[0] = value;
        }
        rows
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn spooled_rows_are_stored_as_rows_in_memory(rows in rows(), memory_bytes_max in 0_u64..20_000) {
        let options = with_n(rows[0].1.len());
        for (format, body) in [
            (Format::Libsvm, libsvm(&rows).into_bytes()),
            (Format::Csv, csv(&rows).into_bytes()),
            (Format::Ndjson, ndjson(&rows).into_bytes()),
            (Format::Arff, arff(&rows).into_bytes()),
            (Format::Arff, sparse_arff(&rows).into_bytes()),
            (Format::Npy, npy(&rows)),
        ] {
            check(format, &body, &options, memory_bytes_max);
            check_target(format, &body, &options, memory_bytes_max);
        }
        // Without n, some example must have a feature.
        if rows.iter().any(|(_, row)| row.iter().any(|value| *value != 0)) {
            check(Format::Libsvm, libsvm(&rows).as_bytes(), &Options::default(), memory_bytes_max);
        }
        let options = Options { labels: Some(LabelsColumn::Appended), ..options };
        let body = octets(&rows, BitOrder::Big);
        check(Format::Octets, &body, &options, memory_bytes_max);
    }

    #[test]
    fn spool_reads_rows_as_far_as_bytes_are_reserved(
        rows in rows(),
        memory_bytes_max in 0_u64..20_000,
        share in 0.1_f64..1.5,
    ) {
        let options = with_n(rows[0].1.len());
        for (format, body) in [
            (Format::Libsvm, libsvm(&rows).into_bytes()),
            (Format::Csv, csv(&rows).into_bytes()),
            (Format::Arff, sparse_arff(&rows).into_bytes()),
            (Format::Npy, npy(&rows)),
        ] {
            let (read, needed, _) = gather_reserving(format, &body, &options, memory_bytes_max, u64::MAX);
            let stored = stored_bytes(&read.expect("good").data.header()).expect("few");
            // The stored form also contains the header, the labels of each block and the check of each unit.
            let beside = 48 + 16 * rows.len().div_ceil(64) as u64 + 8 * rows.len() as u64;
            let found = needed.max(memory_bytes_max / 2) + beside;
            prop_assert!(found >= stored, "{found} {stored} {needed} {}", rows.len());
            let room = (needed as f64 * share) as u64;
            let (read, _, written) = gather_reserving(format, &body, &options, memory_bytes_max, room);
            match read {
                Ok(_) => prop_assert!(needed <= room),
                Err(error) => {
                    prop_assert!(needed > room);
                    prop_assert_eq!(error.kind, FormatErrorKind::NotReserved);
                }
            }
            // Each piece of up to 64 rows has three extra words. A sparse value takes at most 13 bytes, and at least 4
            // in the body.
            let sparse = if format == Format::Libsvm { 4 * body.len() as u64 } else { 0 };
            let most = 2 * room + 24 * rows.len() as u64 + sparse;
            prop_assert!(written <= most, "{} {}", written, room);
        }
    }
}

/// A spool in memory that publishes its length.
struct MeasuredSpool(Cursor<Vec<u8>>, Arc<AtomicU64>);

impl Read for MeasuredSpool {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Seek for MeasuredSpool {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.0.seek(place)
    }
}

impl Write for MeasuredSpool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a body while at most `room` bytes can be reserved. Returns the result, the largest reservation that was
/// requested, and the number of spooled bytes.
fn gather_reserving(
    format: Format,
    body: &[u8],
    options: &Options,
    memory_bytes_max: u64,
    room: u64,
) -> (Result<Parsed<ParsedRows>, FormatError>, u64, u64) {
    let options = &first_label(format, options);
    let (asked, written) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (most, spooled) = (Arc::clone(&asked), Arc::clone(&written));
    let open = move || Ok(MeasuredSpool(Cursor::new(Vec::new()), Arc::clone(&spooled)));
    let spool = Spool::new(memory_bytes_max, open).reserving(move |bytes| {
        let before = most.swap(bytes, Ordering::SeqCst);
        assert!(bytes > before, "{bytes} are asked for after {before}");
        match bytes <= room {
            true => Ok(bytes),
            false => Err(NotReserved),
        }
    });
    let read = gather(format, body, options, spool);
    let load = |count: &AtomicU64| count.load(Ordering::SeqCst);
    (read, load(&asked), load(&written))
}

#[test]
fn spool_reserves_bytes_in_few_steps() {
    let asked = Arc::new(AtomicUsize::new(0));
    let times = Arc::clone(&asked);
    let spool = spool(1_000).reserving(move |bytes| {
        times.fetch_add(1, Ordering::SeqCst);
        Ok(bytes.next_multiple_of(64 << 10))
    });
    let body = after_rows(64 * 300, "1 1:1 3:1\n", "");
    let read = gather(Format::Libsvm, body.as_slice(), &Options::default(), spool);
    assert!(is_spooled(&read.expect("good")));
    assert_eq!(
        asked.load(Ordering::SeqCst),
        (300_usize * 512).div_ceil(64 << 10)
    );
}
