//! Uploads of datasets that do not fit into the upload memory, and failed uploads, which leave nothing behind.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::service::{Answer, Program, Service, memory_peak, request, skipped, until};

const LIBSVM: &str = "text/x-libsvm";
const OCTETS: &str = "application/octet-stream";
const NPY: &str = "application/x-npy";

/// A service that sends the rows of the tests, which take about eight kilobytes, to disk.
async fn spooling(settings: &[&str]) -> Service {
    Service::limited(settings, |limits| limits.upload_memory_bytes_max = 1000).await
}

/// A thousand rows of 50 bits, some of them duplicates.
fn lines() -> Vec<String> {
    let pair = |row: usize, at: usize| 1 + at * 10 + row * (at + 3) % 10;
    let line = |row: usize| {
        let pairs: String = (0..5)
            .map(|at| format!(" {}:1", pair(row % 900, at)))
            .collect();
        format!(
            "{}{pairs}\n",
            if row.is_multiple_of(3) { "1" } else { "-1" }
        )
    };
    (0..1_000).map(line).collect()
}

/// A `.npy` file of labelled rows of 70 doubles, some of them duplicates.
fn doubles(rows: usize) -> Vec<u8> {
    wide_doubles(rows, 70)
}

fn wide_doubles(rows: usize, n: usize) -> Vec<u8> {
    let shape = (rows, n + 1);
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape:?}, }}");
    let mut body = b"\x93NUMPY\x01\x00".to_vec();
    body.extend((header.len() as u16).to_le_bytes());
    body.extend(header.bytes());
    for row in 0..rows {
        let row = row * 7 / 8;
        let values = (0..n).map(|column| (row * 31 + column * column) as f64 / 8.0 - 5.0);
        let label = (row % 2) as f64;
        body.extend(values.chain([label]).flat_map(f64::to_le_bytes));
    }
    body
}

pub(super) fn gzip(body: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// Files and directories of the data directory, except the database and the service's own files.
fn left(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path.clone());
            }
            found.push(path);
        }
    }
    let known = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let own = ["address", "lock", "blobs", "store-id"];
        own.contains(&&*name) || name.starts_with("halfspace.sqlite")
    };
    found.retain(|path| !known(path));
    found
}

/// Number of unnamed files in the directory that a process holds open, where the system reports them.
fn nameless(process: &str, directory: &Path) -> Option<usize> {
    let entries = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    let links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let is_ours = |link: &PathBuf| {
        link.starts_with(directory) && link.to_string_lossy().ends_with("(deleted)")
    };
    Some(links.filter(is_ours).count())
}

/// Lines that exceed a small body. The service reads a small body completely before parsing it.
fn more_lines() -> String {
    lines().concat().repeat(8)
}

/// The document of a dataset without its id and creation time.
fn described(answer: Answer) -> Value {
    let mut dataset = answer.expect(201).json();
    for own in ["id", "created_at"] {
        dataset.as_object_mut().unwrap().remove(own);
    }
    dataset
}

/// The last examples of a dataset.
async fn page(service: &Service, id: &str) -> Value {
    let path = format!("/v1/datasets/{id}/examples?offset=950&limit=100");
    service.get(&path).await.expect(200).json()
}

#[tokio::test]
async fn spooled_uploads_equal_uploads_in_memory() {
    let (memory, spooled) = (Service::start().await, spooling(&[]).await);
    let body = lines().concat().into_bytes();
    // Late values make the data real, and late indices make the rows wide.
    let real = [body.as_slice(), b"1 3:0.5\n"].concat();
    let wide = [body.as_slice(), b"1 3:1 200:1\n"].concat();
    for body in [body, real, wide] {
        let plain = body.clone();
        let expected = memory.post_as("/v1/datasets", LIBSVM, plain).await;
        let examples = page(&memory, &expected.id()).await;
        let expected = described(expected);
        assert_ne!(expected["duplicates"], 0);
        let zstd = zstd::encode_all(body.as_slice(), 1).unwrap();
        for (coding, body) in [
            ("identity", body.clone()),
            ("gzip", gzip(&body)),
            ("zstd", zstd),
        ] {
            let headers = [("content-type", LIBSVM), ("content-encoding", coding)];
            let answer = spooled
                .send(request("POST", "/v1/datasets", &headers, body))
                .await;
            let id = answer.id();
            assert_eq!(described(answer), expected, "{coding}");
            assert_eq!(page(&spooled, &id).await, examples, "{coding}");
        }
    }
    let answer = spooled
        .post_as("/v1/datasets", LIBSVM, lines().concat())
        .await;
    let data = json!({"dataset": answer.id()});
    let body = json!({"train": {"learner": {"name": "pocket"}, "data": data, "seed": 1,
        "stop": {"max_mistakes": 20}}});
    assert_eq!(spooled.run(&body).await["status"], "succeeded");
}

/// The head of the body states the number of rows, so the blob is written while the body arrives.
#[tokio::test]
async fn npy_upload_beyond_the_memory_is_stored_as_in_memory() {
    let (memory, direct) = (Service::start().await, spooling(&[]).await);
    // The larger body is stored in several parts, even in a bucket.
    for rows in [1_000, 16_000] {
        let body = doubles(rows);
        let expected = memory.post_as("/v1/datasets", NPY, body.clone()).await;
        let examples = page(&memory, &expected.id()).await;
        let expected = described(expected);
        assert_eq!(
            (&expected["values"], &expected["duplicates"]),
            (&json!("real"), &json!(rows / 8))
        );
        for (coding, body) in [("identity", body.clone()), ("gzip", gzip(&body))] {
            let headers = [("content-type", NPY), ("content-encoding", coding)];
            let answer = direct
                .send(request("POST", "/v1/datasets", &headers, body))
                .await;
            let id = answer.id();
            assert_eq!(described(answer), expected, "{rows} {coding}");
            assert_eq!(page(&direct, &id).await, examples, "{rows} {coding}");
        }
        let preview = direct
            .post_as("/v1/previews", NPY, body)
            .await
            .expect(200)
            .json();
        assert_eq!(preview["data"]["sha256"], expected["sha256"]);
    }
}

#[tokio::test]
async fn npy_upload_with_a_late_fault_leaves_nothing() {
    let service = spooling(&[]).await;
    let whole = doubles(8_000);
    let mut infinite = whole.clone();
    let at = whole.len() - 71 * 8;
    infinite[at..at + 8].copy_from_slice(&f64::INFINITY.to_le_bytes());
    let damaged = gzip(&whole)[..100_000].to_vec();
    for (coding, body, code) in [
        ("identity", infinite, "bad-value"),
        ("identity", whole[..whole.len() - 1].to_vec(), "truncated"),
        ("identity", [&whole[..], b"0"].concat(), "syntax"),
        ("gzip", damaged, "truncated"),
    ] {
        let headers = [("content-type", NPY), ("content-encoding", coding)];
        let answer = service
            .send(request("POST", "/v1/datasets", &headers, body))
            .await;
        assert_eq!(answer.problem(400), code);
        assert_eq!(left(service.directory()), [] as [&Path; 0], "{code}");
    }
    let listed = service.get("/v1/datasets").await.expect(200).json();
    assert_eq!(listed["items"], json!([]));
    assert_eq!(nameless("self", service.directory()).unwrap_or(0), 0);
}

/// The blob is a temporary file beside its place until the upload is complete.
#[tokio::test]
async fn truncated_npy_upload_leaves_nothing_after_a_cut_or_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(directory.path(), &[]);
    // More than the 16 MiB that an upload holds in memory.
    let body = doubles(40_000);
    let head = format!(
        "POST /v1/datasets?labels=none HTTP/1.1\r\nhost: localhost\r\ncontent-type: {NPY}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let files = || left(directory.path());
    for is_killed in [false, true] {
        let mut stream = TcpStream::connect(program.client().address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&body[..body.len() - 1]).await.unwrap();
        let has_file = || files().iter().any(|path| path.is_file());
        until("the blob", async || has_file().then_some(())).await;
        if is_killed {
            program.kill();
            program = Program::start(directory.path(), &[]);
            assert_eq!(files(), [] as [&Path; 0]);
        } else {
            drop(stream);
            until("its end", async || files().is_empty().then_some(())).await;
        }
        let listed = program.client().get("/v1/datasets").await;
        assert_eq!(listed.expect(200).json()["items"], json!([]));
    }
}

/// The compressed body is shorter than the quota, so only its rows exceed the quota.
#[tokio::test]
async fn npy_upload_beyond_a_quota_is_refused_and_leaves_nothing() {
    let quota = ["--stored-bytes-max", "2000000"];
    let service = spooling(&quota).await;
    let whole = doubles(8_000);
    let compressed = gzip(&whole);
    assert!(compressed.len() < 2_000_000);
    for (coding, body) in [("identity", whole), ("gzip", compressed)] {
        let headers = [("content-type", NPY), ("content-encoding", coding)];
        let answer = service
            .send(request("POST", "/v1/datasets", &headers, body))
            .await;
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("stored_bytes_max is 2000000"), "{detail}");
        assert_eq!(answer.problem(413), "too-large", "{coding}");
        assert_eq!(left(service.directory()), [] as [&Path; 0], "{coding}");
    }
    // The refused bodies have released their bytes.
    let fits = service.post_as("/v1/datasets", NPY, doubles(3_000)).await;
    fits.expect(201);
}

#[tokio::test]
async fn upload_with_a_fault_in_the_middle_names_it_and_leaves_nothing() {
    let service = spooling(&[]).await;
    let mut lines = lines();
    lines[700] = "1 3:1 2:1\n".to_owned();
    let body = lines.concat().into_bytes();
    for (coding, body) in [("identity", body.clone()), ("gzip", gzip(&body))] {
        let headers = [("content-type", LIBSVM), ("content-encoding", coding)];
        let answer = service
            .send(request("POST", "/v1/datasets", &headers, body))
            .await;
        let error = answer.json()["errors"][0].clone();
        assert_eq!((&error["line"], &error["column"]), (&json!(701), &json!(7)));
        assert_eq!(answer.problem(400), "bad-index");
    }
    // A dataset over the size limit leaves nothing behind either.
    let service = spooling(&["--body-bytes-max", "5120"]).await;
    let body = "1 1:1\n".repeat(641);
    let answer = service.post_as("/v1/datasets", LIBSVM, body).await;
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("body_bytes_max is 5120"), "{detail}");
    assert_eq!(answer.json()["errors"][0]["line"], 641);
    assert_eq!(answer.problem(413), "too-large");
    let listed = service.get("/v1/datasets").await.expect(200).json();
    assert_eq!(listed["items"], json!([]));
    assert_eq!(left(service.directory()), [] as [&Path; 0]);
    assert_eq!(nameless("self", service.directory()).unwrap_or(0), 0);
}

/// The limit of state bytes does not apply to uploads, and dense bodies need a permit too.
#[tokio::test]
async fn a_dataset_may_be_larger_than_the_state_of_a_job() {
    let service = spooling(&["--state-bytes-max", "5000"]).await;
    let answer = service
        .post_as("/v1/datasets", LIBSVM, lines().concat())
        .await;
    assert_eq!(answer.expect(201).json()["examples"], 1_000);
}

/// The locked database makes the upload wait after its blob is stored and before its row is.
#[tokio::test]
async fn upload_keeps_its_permit_until_it_is_stored() {
    use sqlx::{Connection, Executor};
    let service = Service::limited(&[], |limits| limits.uploads_max = 1).await;
    if service.has_blobs_elsewhere() {
        return;
    }
    let database = service.directory().join("halfspace.sqlite");
    let mut lock = sqlx::SqliteConnection::connect(&database.to_string_lossy())
        .await
        .unwrap();
    lock.execute("BEGIN IMMEDIATE").await.unwrap();
    // A small body would need no permit.
    let body = "1 1:1\n".repeat(20_000);
    let first = service.post_as("/v1/datasets", LIBSVM, body.clone());
    let second = async {
        until("the blob of the first", async || {
            let data = |path: &PathBuf| path.ends_with("data");
            left(service.directory()).iter().any(data).then_some(())
        })
        .await;
        let answer = service.post_as("/v1/datasets", LIBSVM, body).await;
        lock.execute("COMMIT").await.unwrap();
        assert_eq!(answer.problem(503), "queue-full");
    };
    let (first, ()) = tokio::join!(first, second);
    first.expect(201);
}

#[tokio::test]
async fn upload_of_a_client_that_leaves_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &[]);
    let process = program.pid().to_string();
    let spools = || nameless(&process, directory.path());
    // A row of a thousand doubles, so the rows exceed the 16 MiB that an upload holds in memory.
    let row = "0.5,".repeat(1_000) + "1\n";
    for framing in ["content-length: 1000000000", "transfer-encoding: chunked"] {
        let mut stream = TcpStream::connect(program.client().address).await.unwrap();
        let mut body = row.repeat(2_500);
        if framing.contains("chunked") {
            body = format!("{:x}\r\n{body}\r\n", body.len());
        }
        let head = format!(
            "POST /v1/datasets?labels=last HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\n\
             {framing}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        if spools().is_none() {
            skipped("this system does not say which files a process has open");
            return;
        }
        until("the spool", async || spools().filter(|&open| open == 1)).await;
        drop(stream);
        until("its end", async || spools().filter(|&open| open == 0)).await;
    }
    let listed = program
        .client()
        .get("/v1/datasets")
        .await
        .expect(200)
        .json();
    assert_eq!(listed["items"], json!([]));
    assert_eq!(left(directory.path()), [] as [&Path; 0]);
}

/// The server drops the request. The client disconnects, and the body then seems to end.
#[tokio::test]
async fn dropped_upload_request_stores_nothing() {
    let service = spooling(&[]).await;
    let begun = stream::iter([Ok::<_, std::convert::Infallible>(Bytes::from(more_lines()))]);
    let body = futures_util::StreamExt::chain(begun, stream::pending());
    let headers = [("content-type", LIBSVM)];
    let body = axum::body::Body::from_stream(body);
    let answer = service.open(request("POST", "/v1/datasets", &headers, body));
    let spools = || nameless("self", service.directory());
    if spools().is_none() {
        skipped("this system does not say which files a process has open");
        return;
    }
    tokio::select! {
        _ = answer => panic!("this body never ends"),
        () = until("the spool", async || spools().filter(|&open| open == 1).map(|_| ())) => {}
    }
    until("its end", async || spools().filter(|&open| open == 0)).await;
    let listed = service.get("/v1/datasets").await.expect(200).json();
    assert_eq!(listed["items"], json!([]));
    assert_eq!(left(service.directory()), [] as [&Path; 0]);
}

/// The disk is full in the spool, and in the write of a blob from memory.
#[cfg(unix)]
#[tokio::test]
async fn upload_to_a_full_disk_is_507_and_leaves_nothing() {
    const MEBIBYTES: u32 = 2_048;
    // More than the 16 MiB of memory, less than a part of a blob, and less than two parts.
    for (bytes, room) in [
        (20 << 20, 4 * MEBIBYTES),
        (5 << 20, 4 * MEBIBYTES),
        (14 << 20, 12 * MEBIBYTES),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let program = Program::start_on_a_small_disk(room, directory.path(), &[]);
        let client = program.client();
        let headers = [("content-type", OCTETS)];
        let store = async |bytes: usize| {
            let body = vec![0b1010_0101; bytes];
            client
                .send("POST", "/v1/datasets?n=8192", &headers, &body)
                .await
                .unwrap()
        };
        assert_eq!(store(bytes).await.problem(507), "storage-full");
        assert_eq!(left(directory.path()), [] as [&Path; 0]);
        // Doubles beyond the memory are written while their body arrives.
        let headers = [("content-type", NPY)];
        let body = doubles(bytes / 560 + 8_000);
        let answer = client.send("POST", "/v1/datasets", &headers, &body).await;
        assert_eq!(answer.unwrap().problem(507), "storage-full");
        assert_eq!(left(directory.path()), [] as [&Path; 0]);
        // A smaller dataset still fits.
        let stored = store(1 << 20).await.expect(201).json();
        assert_eq!(stored["duplicates"], 1_023);
    }
}

#[tokio::test]
async fn upload_memory_does_not_grow_with_the_body() {
    let octets = vec![0b1010_0101; 256 << 20];
    for (format, path, body, examples) in [
        (OCTETS, "/v1/datasets?n=8192", octets, 256 << 10),
        (NPY, "/v1/datasets", doubles(240_000), 240_000),
        // A block of 64 rows would take all the body.
        (NPY, "/v1/datasets", wide_doubles(64, 250_000), 64),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let program = Program::start(directory.path(), &[]);
        let Some(before) = memory_peak(program.pid()) else {
            skipped("this system does not say what memory a process had");
            return;
        };
        let client = program.client();
        let headers = [("content-type", format)];
        let answer = client.send("POST", path, &headers, &body).await.unwrap();
        assert_eq!(answer.expect(201).json()["examples"], examples);
        let grown = memory_peak(program.pid()).unwrap() - before;
        // The 16 MiB of rows, twice while they grow, two parts of the blob, the rows of a spool, a key per row,
        // buffers, and free memory that the allocator has not returned yet, which was up to 125 MB in all.
        let bytes_max = if format == OCTETS {
            160 << 20
        } else {
            112 << 20
        };
        assert!(grown < bytes_max, "{format}: {grown} bytes");
    }
}

/// The first bytes of a file tell that it is compressed, except in packed bits, which may begin so.
#[tokio::test]
async fn compressed_files_need_no_header() {
    let service = Service::start().await;
    let small = b"a,b,label\n1,2,x\n3,4,y\n".to_vec();
    let large = [&b"a,b,label\n"[..], &b"1,2,x\n3,4,y\n".repeat(20_000)].concat();
    for table in [small, large] {
        let stored = service
            .post_as("/v1/datasets", "text/csv", table.clone())
            .await;
        let sha256 = stored.expect(201).json()["sha256"].clone();
        let form = |file: &[u8]| {
            let head =
                b"--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"t.csv\"\r\n\r\n";
            [&head[..], file, b"\r\n--b--\r\n"].concat()
        };
        for file in [gzip(&table), zstd::encode_all(&*table, 1).unwrap()] {
            for (media_type, body) in [
                ("text/csv", file.clone()),
                ("multipart/form-data; boundary=b", form(&file)),
            ] {
                let stored = service.post_as("/v1/datasets", media_type, body).await;
                assert_eq!(stored.expect(201).json()["sha256"], sha256, "{media_type}");
            }
        }
        let twice = gzip(&gzip(&table));
        let refused = service.post_as("/v1/datasets", "text/csv", twice).await;
        assert!(
            refused.problem(415) == "unsupported-media-type"
                && refused.text().contains("inside it"),
            "{}",
            refused.text()
        );
    }
    let bits = [0x1f, 0x8b, 8, 0];
    let stored = service
        .post_as(
            "/v1/datasets?n=8",
            "application/octet-stream",
            bits.to_vec(),
        )
        .await;
    assert_eq!(stored.expect(201).json()["examples"], 4);
}

/// A request that is sent again under its key has the same digest, whether its file is compressed or not.
#[tokio::test]
async fn compressed_file_is_stored_once_under_its_key() {
    let service = Service::start().await;
    let table = b"a,b,label\n1,2,x\n3,4,y\n";
    let headers = [("content-type", "text/csv"), ("idempotency-key", "once")];
    let mut ids = Vec::new();
    for body in [gzip(table), gzip(table), table.to_vec()] {
        let sent = request("POST", "/v1/datasets", &headers, body);
        ids.push(service.send(sent).await.expect(201).id());
    }
    assert!(ids[0] == ids[1] && ids[1] == ids[2], "{ids:?}");
}
