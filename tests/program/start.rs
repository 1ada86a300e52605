//! The start of the program: log, errors, operations address and health check.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Output, Stdio};

use halfspace::records::process::REVISION;
use serde_json::{Value, json};

use crate::service::{Client, Program, create_key, program, revoke_key, until};

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = program();
    command.args(arguments).envs(variables.iter().copied());
    command.stdin(Stdio::null()).output().unwrap()
}

/// Parses a log in JSON. Every line must be an object.
fn json_lines(text: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(text).unwrap();
    let lines = text.lines().map(|line| match serde_json::from_str(line) {
        Ok(value @ Value::Object(_)) => value,
        _ => panic!("no JSON: {line}"),
    });
    lines.collect()
}

fn log_of(path: &Path) -> Vec<Value> {
    json_lines(&std::fs::read(path).unwrap())
}

/// Waits for the first log line with this message.
async fn line(log: &Path, message: &str) -> Value {
    until(message, async || {
        let is_it = |line: &Value| line["fields"]["message"] == message;
        log_of(log).into_iter().find(is_it)
    })
    .await
}

fn address(start: &Value, field: &str) -> SocketAddr {
    start["fields"][field].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn json_log_is_json_from_the_first_line() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let data = directory.path().join("data");
    let settings = ["--log-format", "json", "--ops-listen", "127.0.0.1:0"];
    let service = Program::start_silent("info", &log, &data, &settings);
    let start = line(&log, "halfspace serves").await;
    let fields = &start["fields"];
    assert_eq!(fields["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(fields["revision"], json!(REVISION));
    assert_eq!(fields["open_to_everybody"], true);
    let given = fields["settings"].as_str().unwrap();
    assert!(given.contains("--log-format=json"), "{given}");
    let main = Client {
        address: address(&start, "address"),
    };
    main.get("/v1/learners").await.expect(200);
    // The process has reported before its first request.
    let workers = main.get("/v1/workers").await.expect(200).json();
    assert_eq!(
        workers["items"].as_array().map(Vec::len),
        Some(1),
        "{workers}"
    );
    assert_eq!(workers["items"][0]["role"], "all");
    let operations = Client {
        address: address(&start, "operations"),
    };
    for path in ["/livez", "/readyz", "/metrics", "/version"] {
        operations.get(path).await.expect(200);
    }
    // The metric counts the connections of both addresses.
    let _held = TcpStream::connect(main.address).unwrap();
    until("the connections of both addresses", async || {
        let connections = operations.metric("halfspace_connections").await;
        (connections >= 2.0).then_some(())
    })
    .await;
    let other = operations.open("GET", "/v1/learners", &[], b"").await;
    assert_eq!(other.unwrap().status(), 404);
    let request = line(&log, "request").await;
    let fields = &request["fields"];
    assert_eq!(fields["route"], "/v1/learners");
    assert_eq!(fields["status"], 200);
    assert_eq!(fields["key"], "anonymous");
    assert_eq!(fields["client_left"], false);
    assert!(fields["bytes"].as_u64().unwrap() > 1000 && fields["ms"].is_number());
    drop(service);
}

#[tokio::test]
async fn a_client_that_leaves_is_logged() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let data = directory.path().join("data");
    let _service = Program::start_silent("info", &log, &data, &["--log-format", "json"]);
    let client = Client {
        address: address(&line(&log, "halfspace serves").await, "address"),
    };
    let job = client.submit(&crate::service::long_job(1)).await;
    let headers = [("prefer", "wait=60")];
    let wait = client.open("GET", &job, &headers, b"");
    // The timeout drops the request and closes its connection.
    let _ = tokio::time::timeout(std::time::Duration::from_millis(300), wait).await;
    let events = format!("{job}/events");
    let mut stream = client.open("GET", &events, &[], b"").await.unwrap();
    stream.event().await.unwrap();
    drop(stream);
    let left = until("the lines of clients that left", async || {
        let left: Vec<_> = log_of(&log)
            .into_iter()
            .map(|mut line| line["fields"].take())
            .filter(|fields| fields["client_left"] == true)
            .collect();
        (left.len() == 2).then_some(left)
    })
    .await;
    let mut told: Vec<_> = left
        .iter()
        .map(|one| (one["route"].as_str(), one["status"].as_u64()))
        .collect();
    told.sort_unstable();
    let expected = [
        (Some("/v1/jobs/{id}"), Some(499)),
        (Some("/v1/jobs/{id}/events"), Some(200)),
    ];
    assert_eq!(told, expected);
    let metrics = client.get("/metrics").await.expect(200);
    let counted = metrics.text().lines().any(|line| {
        line.starts_with("halfspace_http_request_seconds_count{") && line.contains("status=\"499\"")
    });
    assert!(counted, "{}", metrics.text());
}

/// A request that is cut off has one line, which does not say that the client left.
#[tokio::test]
async fn a_request_that_is_cut_off_is_logged_once() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let data = directory.path().join("data");
    let _service = Program::start_silent("info", &log, &data, &["--log-format", "json"]);
    let client = Client {
        address: address(&line(&log, "halfspace serves").await, "address"),
    };
    let (id, secret) = create_key(&data, &[], "first");
    let bearer = format!("Bearer {secret}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let job = crate::service::long_job(1).to_string();
    let job = client.send("POST", "/v1/jobs", &headers, job.as_bytes());
    let job = job.await.unwrap().expect(202);
    let events = format!("{}/events", job.header("location").unwrap());
    let mut stream = client.open("GET", &events, &headers, b"").await.unwrap();
    stream.event().await.unwrap();
    revoke_key(&data, &[], &id);
    while stream.event().await.unwrap().is_some() {}
    let lines = until("the line of the stream", async || {
        let mut lines = log_of(&log);
        lines.retain(|line| line.to_string().contains(&events));
        (!lines.is_empty()).then_some(lines)
    })
    .await;
    let fields: Vec<_> = lines.iter().map(|line| &line["fields"]).collect();
    assert_eq!(fields.len(), 1, "{lines:?}");
    assert_eq!(
        (&fields[0]["key"], &fields[0]["status"]),
        (&json!(id), &json!(200))
    );
    assert_eq!(
        (&fields[0]["cut_off"], &fields[0]["client_left"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn start_errors_are_json_in_a_json_log() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    for (setting, value, named) in [
        ("--ops-listen", address.as_str(), "--ops-listen"),
        ("--listen", address.as_str(), "--listen"),
        ("--cors-origins", "null", "--cors-origins"),
        ("--cors-origins", "https://a.example/", "--cors-origins"),
        ("--trusted-proxies", "proxy.example", "--trusted-proxies"),
        ("--trusted-proxies", "0.0.0.0/0", "--trusted-proxies"),
        ("--no-such-setting", "1", "--no-such-setting"),
    ] {
        let mut line = vec!["--data-dir", data, "--log-format", "json", setting, value];
        if setting != "--listen" {
            line.extend(["--listen", "127.0.0.1:0"]);
        }
        let output = run(&line, &[]);
        assert!(!output.status.success());
        let lines = json_lines(&output.stderr);
        let last = lines.last().unwrap()["fields"]["error"].as_str().unwrap();
        assert!(last.contains(named), "{setting} {value}: {last}");
        assert!(output.stdout.is_empty());
    }
    let output = run(
        &[],
        &[("HALFSPACE_LOG_FORMAT", "json"), ("HALFSPACE_WRKERS", "1")],
    );
    let lines = json_lines(&output.stderr);
    assert!(
        lines[0]["fields"]["error"]
            .as_str()
            .unwrap()
            .contains("HALFSPACE_WRKERS")
    );
}

/// A secret may come from a flag, a variable or a file. The error says from which, and shows no part of the secret.
#[test]
fn an_error_about_a_secret_names_the_place_of_the_secret() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let file = directory.path().join("secret");
    std::fs::write(&file, "s3cret").unwrap();
    let file = file.to_str().unwrap();
    for (flag, variable) in [
        ("--callback-secret", "HALFSPACE_CALLBACK_SECRET"),
        ("--database-url", "HALFSPACE_DATABASE_URL"),
        ("--blob-url", "HALFSPACE_BLOB_URL"),
        ("--aws-endpoint-url", "AWS_ENDPOINT_URL"),
    ] {
        let mut line = vec![
            "--data-dir",
            data.to_str().unwrap(),
            "--listen",
            "127.0.0.1:0",
        ];
        let keys = [
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "key"),
        ];
        if flag.starts_with("--aws") {
            line.extend(["--blob-url", "s3://bucket"]);
        }
        let of_file = format!("{variable}_FILE");
        for (source, value) in [(of_file.as_str(), file), (variable, "s3cret")] {
            let variables = [&keys[..], &[(source, value)]].concat();
            let failed = run(&line, &variables);
            assert!(!failed.status.success());
            let told = String::from_utf8(failed.stderr).unwrap();
            assert!(
                told.contains(flag) && told.contains(source),
                "{source}: {told}"
            );
            assert!(!told.contains("s3cret"), "{told}");
        }
        line.extend([flag, "s3cret"]);
        let failed = run(&line, &keys);
        let told = String::from_utf8(failed.stderr).unwrap();
        assert!(told.contains(flag) && !told.contains(&of_file), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
    }
}

/// The flag stands before or after the command, and its variable or file holds nonsense.
#[test]
fn a_flag_overrides_a_malformed_variable_or_file() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let data = data.to_str().unwrap();
    let malformed = [
        ("HALFSPACE_LISTEN", "--listen=127.0.0.1:0"),
        ("HALFSPACE_STATE_BYTES_MAX", "--state-bytes-max=1000000"),
        ("HALFSPACE_ROLE", "--role=all"),
        ("HALFSPACE_SECONDS_MAX", "--seconds-max=5"),
        ("HALFSPACE_CALLBACK_ALLOW", "--callback-allow=10.0.0.0/8"),
        ("HALFSPACE_DATABASE_URL", "--database-url=sqlite"),
        ("HALFSPACE_DATABASE_URL_FILE", "--database-url=sqlite"),
        ("HALFSPACE_LOG_FORMAT", "--log-format=text"),
    ];
    for (variable, flag) in malformed {
        for line in [
            ["--data-dir", data, flag, "migrate"],
            ["migrate", "--data-dir", data, flag],
        ] {
            let output = run(&line, &[(variable, "/n o n s e n s e")]);
            assert!(output.status.success(), "{line:?}: {output:?}");
        }
        let alone = run(
            &["migrate", "--data-dir", data],
            &[(variable, "/n o n s e n s e")],
        );
        assert!(!alone.status.success(), "{variable}");
    }
}

#[test]
fn a_removed_setting_says_what_became_of_it() {
    let told = |line: &[&str], variables: &[(&str, &str)]| {
        let output = run(line, variables);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let now = "was removed: n is at most 1,048,576";
    for line in [
        ["--n-max", "1000", "openapi"],
        ["openapi", "--n-max", "1000"],
    ] {
        assert_eq!(told(&line, &[]), format!("error: --n-max {now}\n"));
    }
    let of_variable = told(&["openapi"], &[("HALFSPACE_N_MAX", "1000")]);
    assert_eq!(of_variable, format!("error: HALFSPACE_N_MAX {now}\n"));
    let of_others = told(&["openapi"], &[("AWS_ALLOW_HTTP", "true")]);
    assert!(
        of_others.contains("http:// in AWS_ENDPOINT_URL"),
        "{of_others}"
    );
    let logged = told(&["--kernels=scalar"], &[("HALFSPACE_LOG_FORMAT", "json")]);
    assert!(
        logged.starts_with('{') && logged.contains("--kernels was removed"),
        "{logged}"
    );
}

#[test]
fn a_file_of_a_setting_that_is_no_secret_ends_the_start() {
    for name in [
        "HALFSPACE_LISTEN",
        "AWS_REGION",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    ] {
        let variable = format!("{name}_FILE");
        let output = run(&["openapi"], &[(&variable, "/etc/hostname")]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(&variable), "{told}");
    }
}

/// The setting that allows pages of any origin and API keys exclude each other.
#[tokio::test]
async fn cors_of_all_origins_is_refused_beside_keys() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let open = Program::start(data, &["--cors-origins", "*"]);
    drop(open);
    let made = run(
        &[
            "keys",
            "create",
            "--name",
            "a",
            "--data-dir",
            data.to_str().unwrap(),
        ],
        &[],
    );
    assert!(made.status.success());
    let (status, said) = Program::run(data, &["--cors-origins", "*"]);
    assert!(
        !status.success() && said.contains("--cors-origins"),
        "{said}"
    );
}

/// The health check finds the address that the service bound, although `HALFSPACE_LISTEN` names another.
#[test]
fn the_health_check_finds_the_service() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let check = || {
        let line = ["healthcheck", "--data-dir", data.to_str().unwrap()];
        run(&line, &[("HALFSPACE_LISTEN", "127.0.0.1:9")])
            .status
            .success()
    };
    assert!(!check());
    let service = Program::start(data, &[]);
    assert!(check());
    let listen = service.client().address.to_string();
    assert!(
        run(&["healthcheck", "--listen", &listen], &[])
            .status
            .success()
    );
    assert!(
        !run(&["healthcheck", "--listen", "127.0.0.1:9"], &[])
            .status
            .success()
    );
    service.kill();
    assert!(!check());
}

/// The address is open to the network, and no key is required.
#[tokio::test]
async fn an_open_service_on_the_network_warns() {
    for (listen, warns) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let data = directory.path().join("data");
        let settings = ["--log-format", "json", "--listen", listen];
        let service = Program::start_silent("info", &log, &data, &settings);
        line(&log, "halfspace serves").await;
        let is_warning = |line: &Value| {
            let message = line["fields"]["message"].as_str().unwrap_or_default();
            line["level"] == "WARN" && message.starts_with("the service is open to everybody")
        };
        assert_eq!(log_of(&log).iter().any(is_warning), warns, "{listen}");
        drop(service);
    }
}

#[test]
fn unusable_memory_limit_is_refused_with_its_setting() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let data = data.to_str().unwrap();
    for (bytes, told) in [
        ("0", "too few; the service needs 134217728"),
        ("8388608", "too few; the service needs 134217728"),
        ("134217727", "too few; the service needs 134217728"),
        ("1152921504606846976", "exceed the"),
        ("-1", "--memory-bytes-max"),
    ] {
        let setting = format!("--memory-bytes-max={bytes}");
        let output = run(
            &[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--data-dir",
                data,
                &setting,
            ],
            &[],
        );
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{bytes}");
        assert!(
            error.contains("--memory-bytes-max") && error.contains(told),
            "{error}"
        );
    }
}
