//! Objects of buckets as an operator meets them: settings that the start refuses, the command `import`, and a table
//! that is larger than the memory of the process.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parquet::basic::Compression;
use parquet::data_type::{DoubleType, Int32Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::service::{Object, Program, SourceServer, memory_peak, program, until};

/// Columns of numbers beside the label.
const COLUMNS: usize = 32;

/// Rows per row group, whose numbers take 16 MiB.
const GROUP_ROWS: usize = 65_536;

/// What the limit on the memory of a process leaves to the process itself.
const BASE_BYTES: u64 = 64 << 20;

/// Writes a table of so many row groups, without compression.
fn write_table(path: &Path, groups: usize) {
    let columns: String = (0..COLUMNS)
        .map(|at| format!("required double c{at}; "))
        .collect();
    let schema = format!("message table {{ {columns}required int32 label; }}");
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let labels: Vec<i32> = (0..GROUP_ROWS).map(|row| (row % 2) as i32).collect();
    for group in 0..groups {
        let mut rows = writer.next_row_group().unwrap();
        for column in 0..COLUMNS {
            let value = |row: usize| (row * (column + 1) % 10_007) as f64 + group as f64 / 1024.0;
            let values: Vec<f64> = (0..GROUP_ROWS).map(value).collect();
            let mut own = rows.next_column().unwrap().unwrap();
            own.typed::<DoubleType>()
                .write_batch(&values, None, None)
                .unwrap();
            own.close().unwrap();
        }
        let mut own = rows.next_column().unwrap().unwrap();
        own.typed::<Int32Type>()
            .write_batch(&labels, None, None)
            .unwrap();
        own.close().unwrap();
        rows.close().unwrap();
    }
    writer.close().unwrap();
}

/// Imports a table of so many row groups with a limit on the memory of the process. Prints the figures.
async fn import_within(groups: usize, limit: u64, kill_from: Option<u64>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write_table(&path, groups);
    let bytes = path.metadata().unwrap().len();
    let server = SourceServer::start().await;
    server.put("lake/in/t.parquet", Object::file(&path));
    let mut settings = server.settings("s3://lake/in/");
    settings.extend(["--memory-bytes-max".to_owned(), limit.to_string()]);
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let data = directory.path().join("data");
    let mut service = Program::start(&data, &settings);
    let mut idle = memory_peak(service.pid());
    let mut begun = Instant::now();
    let body = json!({"source": "s3://lake/in/t.parquet", "max_seconds": 3600});
    if let Some(byte) = kill_from {
        server.hold_from(byte);
    }
    let path = "/v1/datasets/import?labels=label";
    let answer = service.client().post(path, &body, None).await;
    let job = answer
        .unwrap()
        .expect(202)
        .header("location")
        .unwrap()
        .to_owned();
    if let Some(byte) = kill_from {
        until("the held part", async || {
            let seen = service.client().get(&job).await.json();
            (seen["progress"]["bytes"].as_u64()? >= byte).then_some(())
        })
        .await;
        service.kill();
        server.release();
        begun = Instant::now();
        service = Program::start(&data, &settings);
        idle = memory_peak(service.pid());
    }
    let deadline = Instant::now() + Duration::from_secs(600);
    let mut seen = Vec::new();
    let ended = loop {
        let job = service.client().get(&job).await.expect(200).json();
        let fraction = job["progress"]["fraction"].as_f64().unwrap_or(0.0);
        if seen.last().is_none_or(|last| *last < fraction) {
            seen.push(fraction);
        }
        if !job["finished_at"].is_null() {
            break job;
        }
        assert!(Instant::now() < deadline, "waited too long: {job}");
        sleep(Duration::from_millis(20)).await;
    };
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(ended["status"], "succeeded", "{ended}");
    let result = &ended["result"];
    assert_eq!(result["examples"], groups * GROUP_ROWS);
    assert_eq!(result["source_bytes"], bytes);
    assert!(seen.len() > 3, "{seen:?}");
    if let (Some(idle), Some(peak)) = (idle, memory_peak(service.pid())) {
        let grown = peak - idle;
        println!(
            "{bytes} bytes of Parquet in {seconds:.1} s, {:.0} MB/s; memory {peak} bytes at the peak, {grown} beyond \
             the idle process, limit {limit}; {} figures of progress; {} bytes stored",
            bytes as f64 / 1e6 / seconds,
            seen.len(),
            result["bytes"]
        );
        // The idle process holds mostly its own program code.
        assert!(bytes > limit && grown < limit - BASE_BYTES);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_larger_than_the_memory_of_the_process_is_imported() {
    import_within(14, 192 << 20, None).await;
}

/// 2 GiB of Parquet, with a kill in the middle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn sources_at_full_size() {
    import_within(128, 256 << 20, Some(1 << 30)).await;
}

#[tokio::test]
async fn sources_that_are_no_prefixes_are_refused_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let keys = [
        "--aws-access-key-id",
        "ada",
        "--aws-secret-access-key",
        "s3cret",
    ];
    for (sources, further, named) in [
        ("s3://lake/in/", &[][..], "AWS_ACCESS_KEY_ID"),
        ("lake/in/", &keys, "s3://bucket/key"),
        ("s3://lake/in/,s3://ada:s3cret@lake/", &keys, "credentials"),
        ("s3://lake/../x/", &keys, "`..`"),
        ("s3://Lake/", &keys, "name of a bucket"),
    ] {
        let settings = [&["--sources", sources], further].concat();
        let (status, said) = Program::run(directory.path(), &settings);
        assert!(!status.success());
        assert!(said.contains("--sources") && said.contains(named), "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[tokio::test]
async fn sources_that_reach_the_blobs_are_refused_at_the_start() {
    let tiny =
        crate::service::TinyS3::on(tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap());
    let bucket = crate::service::TestBucket::at(tiny.address());
    let directory = tempfile::tempdir().unwrap();
    let mut settings = bucket.settings();
    settings.extend(["--sources".to_owned(), "s3://halfspace/".to_owned()]);
    let data = directory.path().to_owned();
    let run = move || {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        Program::run(&data, &settings)
    };
    let (status, said) = tokio::task::spawn_blocking(run).await.unwrap();
    assert!(!status.success());
    assert!(
        said.contains("--sources") && said.contains("--blob-url"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn command_import_stores_the_object_in_a_running_service() {
    let server = SourceServer::start().await;
    server.put(
        "lake/in/t.csv",
        Object::bytes("a,b,class\n1,0,yes\n0,1,no\n"),
    );
    let directory = tempfile::tempdir().unwrap();
    let settings = server.settings("s3://lake/in/");
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let service = Program::start(directory.path(), &settings);
    let url = format!("http://{}", service.client().address);
    let run = |arguments: &[&str]| {
        let output = program().arg("import").args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    };
    let source = "s3://lake/in/t.csv";
    let line = [
        source,
        "--param",
        "labels=class",
        "--name",
        "lake",
        "--server",
        &url,
    ];
    let (is_done, said) = tokio::task::block_in_place(|| run(&line));
    assert!(is_done, "{said}");
    let job: Value =
        serde_json::from_str(&said[said.find('{').unwrap()..=said.rfind('}').unwrap()]).unwrap();
    let path = format!(
        "/v1/datasets/{}",
        job["result"]["dataset"].as_str().unwrap()
    );
    assert_eq!(service.client().get(&path).await.json()["name"], "lake");
    for (line, named) in [
        (&[source][..], "--server"),
        (&["s3://lake/out/t.csv", "--server", &url], "--sources"),
        (
            &["s3://lake/in/none.csv", "--server", &url],
            "no such object",
        ),
    ] {
        let (is_done, said) = tokio::task::block_in_place(|| run(line));
        assert!(!is_done && said.contains(named), "{said}");
    }
}
