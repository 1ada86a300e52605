//! Callbacks: a receiver gets a signed notice of a job's end, again and again until it accepts the notice or refuses
//! it for good. The service refuses URLs that must not be called.

use halfspace::storage::{BusyReceivers, WorkerId, sqlite};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::service::{
    Client, Program, Receiver, SECRET, Service, TestDatabase, create_key, endless, long_job,
    request, short_job, train, until,
};

/// Settings that allow receivers on the loopback address.
const SETTINGS: [&str; 6] = [
    "--callback-secret",
    SECRET,
    "--callback-allow",
    "127.0.0.0/8",
    "--lease-seconds",
    "2",
];

fn calling(mut job: Value, receiver: &Receiver) -> Value {
    job["callback"] = json!(receiver.url());
    job
}

async fn submitted(client: Client, job: &Value) -> String {
    let answer = client.post("/v1/jobs", job, None).await.unwrap();
    answer.expect(202).header("location").unwrap().to_owned()
}

/// Waits until a field of the job's callback has this value, and returns the callback.
async fn until_callback(client: Client, path: &str, field: &str, value: Value) -> Value {
    until(&format!("the {field} of {path}"), async || {
        let job = client.get(path).await.expect(200).json();
        (job["callback"][field] == value).then(|| job["callback"].clone())
    })
    .await
}

#[tokio::test]
async fn callback_reports_the_end_signed_and_the_job_shows_it() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &SETTINGS);
    let client = program.client();
    let receiver = Receiver::start().await;
    let path = submitted(client, &calling(short_job(), &receiver)).await;
    let call = receiver.call().await;
    call.assert_signed();
    assert_eq!(call.line(), "POST /hook?of=test HTTP/1.1");
    assert_eq!(call.header("content-type"), "application/json");
    let job = client.get(&path).await.expect(200).json();
    assert_eq!(path, format!("/v1/jobs/{}", call.header("webhook-id")));
    let told = call.document();
    assert_eq!(told["type"], "job.succeeded");
    assert_eq!(told["timestamp"], job["finished_at"]);
    for field in ["id", "task", "status", "name", "created_at", "finished_at"] {
        assert_eq!(told["data"][field], job[field], "{field}");
    }
    assert_eq!(told["data"]["model"], job["result"]["model"]);
    let pending = json!({"url": receiver.url(), "state": "pending", "failures": 0, "error": null});
    assert_eq!(job["callback"], pending);
    call.answer("204 No Content").await;
    until_callback(client, &path, "state", json!("delivered")).await;
    let metrics = client.get("/metrics").await.expect(200);
    let counted = "halfspace_callbacks_total{outcome=\"delivered\"} 1";
    assert!(metrics.text().contains(counted), "{}", metrics.text());

    // A waiting client is answered before the delivery. A cancelled job calls back too.
    let waited = calling(short_job(), &receiver);
    let waited = client.post("/v1/jobs", &waited, Some("wait=30")).await;
    let waited = waited.unwrap().expect(200).json();
    assert_eq!(waited["callback"], pending);
    let call = receiver.call().await;
    assert_eq!(waited["id"], call.header("webhook-id"));
    call.answer("200 OK").await;
    let path = submitted(client, &calling(long_job(1), &receiver)).await;
    client.until_status(&path, "running").await;
    let cancel = client
        .send("POST", &format!("{path}/cancel"), &[], b"")
        .await;
    cancel.unwrap().expect(202);
    let call = receiver.call().await;
    assert_eq!(call.document()["type"], "job.cancelled");
    call.answer("200 OK").await;
    until_callback(client, &path, "state", json!("delivered")).await;
}

#[tokio::test]
async fn callback_is_retried_after_a_failure_but_not_after_410() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &SETTINGS);
    let client = program.client();
    let (receiver, unwilling) = (Receiver::start().await, Receiver::start().await);
    let path = submitted(client, &calling(short_job(), &receiver)).await;
    let refused_path = submitted(client, &calling(short_job(), &unwilling)).await;
    let first = receiver.call().await;
    let (id, body) = (first.header("webhook-id").to_owned(), first.body.clone());
    first.answer("500 Internal Server Error").await;
    unwilling.call().await.answer("410 Gone").await;
    let failed = until_callback(client, &path, "failures", json!(1)).await;
    assert_eq!(failed["state"], "pending");
    assert!(
        failed["error"].as_str().unwrap().contains("500"),
        "{failed}"
    );
    let gone = until_callback(client, &refused_path, "state", json!("given-up")).await;
    assert_eq!(gone["failures"], 1);
    assert!(gone["error"].as_str().unwrap().contains("410"), "{gone}");
    // The first pause of the schedule is five seconds plus jitter.
    let second = receiver.call().await;
    second.assert_signed();
    assert_eq!((second.header("webhook-id"), &second.body), (&*id, &body));
    second.answer("200 OK").await;
    let delivered = until_callback(client, &path, "state", json!("delivered")).await;
    assert_eq!(
        (&delivered["failures"], &delivered["error"]),
        (&json!(1), &Value::Null)
    );
}

#[tokio::test]
async fn callback_of_a_killed_process_is_sent_by_another() {
    told_after_a_kill("sqlite").await;
    if let Some(database) = TestDatabase::new().await {
        told_after_a_kill(&database.url()).await;
    }
}

/// Over a shared database the killed process's lease must expire first: the limit of a delivery plus two
/// seconds.
async fn told_after_a_kill(database_url: &str) {
    let directory = tempfile::tempdir().unwrap();
    let settings = [&SETTINGS[..], &["--database-url", database_url]].concat();
    let program = Program::start(directory.path(), &settings);
    let receiver = Receiver::start().await;
    let path = submitted(program.client(), &calling(short_job(), &receiver)).await;
    let first = receiver.call().await;
    program.kill();
    let program = Program::start(directory.path(), &settings);
    let second = receiver.call().await;
    second.assert_signed();
    assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(second.body, first.body);
    second.answer("200 OK").await;
    let client = program.client();
    let delivered = until_callback(client, &path, "state", json!("delivered")).await;
    assert_eq!(delivered["failures"], 0);
}

#[tokio::test]
async fn silent_callback_receiver_does_not_keep_a_process_from_stopping() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = Program::start(directory.path(), &SETTINGS);
    let receiver = Receiver::start().await;
    let path = submitted(program.client(), &calling(short_job(), &receiver)).await;
    let unanswered = receiver.call().await;
    let begun = Instant::now();
    program.terminate();
    assert!(program.ended().await.success());
    // The stop takes less time than the limit of a delivery.
    assert!(begun.elapsed() < Duration::from_secs(9));
    let program = Program::start(directory.path(), &SETTINGS);
    let again = receiver.call().await;
    assert_eq!(again.body, unanswered.body);
    again.answer("200 OK").await;
    until_callback(program.client(), &path, "state", json!("delivered")).await;
}

#[tokio::test]
async fn process_of_role_api_delivers_no_callbacks() {
    let directory = tempfile::tempdir().unwrap();
    let settings = [&SETTINGS[..], &["--role", "api"]].concat();
    let mut api = Program::start(directory.path(), &settings);
    let receiver = Receiver::start().await;
    let client = api.client();
    let path = submitted(client, &calling(short_job(), &receiver)).await;
    // The job ends in this process. A deliverer in this process would wake at once.
    let cancel = client
        .send("POST", &format!("{path}/cancel"), &[], b"")
        .await;
    cancel.unwrap().expect(202);
    let job = client.get(&path).await.expect(200).json();
    assert_eq!(job["callback"]["state"], "pending");
    api.terminate();
    assert!(api.ended().await.success());
    let store = sqlite::open(&directory.path().join("halfspace.sqlite")).await;
    let store = store.unwrap();
    let claim = store
        .claim_callback(&WorkerId::new("test"), 0, &BusyReceivers::default())
        .await;
    assert_eq!(claim.unwrap().unwrap().lease.claim, 1, "nobody had it");
    store.close().await;
    // A worker process delivers the callback.
    let settings = [&SETTINGS[..], &["--role", "worker"]].concat();
    let _worker = Program::start(directory.path(), &settings);
    let call = receiver.call().await;
    assert_eq!(call.document()["type"], "job.cancelled");
    call.answer("200 OK").await;
}

#[tokio::test]
async fn callback_url_that_is_not_allowed_is_refused() {
    let secret = ["--callback-secret", SECRET];
    let service = Service::idle(&secret).await;
    let refused = [
        ("", "http:// or https://"),
        ("example.com/hook", "http:// or https://"),
        ("ftp://example.com/", "http:// or https://"),
        (
            "https://user:password@example.com/",
            "must not contain a user",
        ),
        ("https://example.com/#here", "fragment"),
        ("http://127.0.0.1/", "does not connect to"),
        ("http://0x7f.1/", "does not connect to"),
        ("http://[::ffff:10.0.0.1]/", "does not connect to"),
        (
            "http://169.254.169.254/latest/meta-data/",
            "does not connect to",
        ),
    ];
    for (url, reason) in refused {
        let mut job = short_job();
        job["callback"] = json!(url);
        let answer = service.post_json("/v1/jobs", &job).await;
        assert_eq!(answer.problem(422), "bad-callback", "{url}");
        let error = &answer.json()["errors"][0];
        assert_eq!(error["pointer"], "/callback", "{url}");
        let detail = error["detail"].as_str().unwrap();
        assert!(detail.contains(reason), "{url}: {detail}");
    }
    let path = "/v1/learners/perceptron/train?labels=first&callback=http://10.0.0.1/";
    let answer = service.post_as(path, "text/csv", "1,1,1\n-1,0,0\n").await;
    assert_eq!(answer.problem(422), "bad-callback");
    assert_eq!(answer.json()["errors"][0]["parameter"], "callback");
    // Jobs and lists show an accepted URL in normalised form.
    let mut job = train(json!({"name": "directed-drift"}), endless(15));
    job["callback"] = json!("HTTPS://Example.COM:443/a?b=c");
    let path = service.submit(&job).await;
    let shown = service.get(&path).await.expect(200).json();
    let expected = json!({"url": "https://example.com/a?b=c", "state": "pending",
        "failures": 0, "error": null});
    assert_eq!(shown["callback"], expected);
    let listed = service.get("/v1/jobs").await.expect(200).json();
    assert_eq!(listed["items"][0]["callback"], expected);
    // Without a callback secret the service accepts no callback.
    let service = Service::idle(&[]).await;
    let headers = [("content-type", "application/json")];
    let asked = request("POST", "/v1/jobs", &headers, job.to_string());
    let answer = service.send(asked).await;
    assert_eq!(answer.problem(422), "bad-callback");
}

/// Enough callbacks to occupy all deliveries, one after another.
const SILENT_CALLBACKS: usize = 160;

#[tokio::test]
async fn silent_callback_receiver_delays_no_other() {
    beside_a_silent_receiver("sqlite").await;
    if let Some(database) = TestDatabase::new().await {
        beside_a_silent_receiver(&database.url()).await;
    }
}

/// The service is open, so all callbacks belong to one owner.
async fn beside_a_silent_receiver(database_url: &str) {
    let directory = tempfile::tempdir().unwrap();
    let settings = [&SETTINGS[..], &["--database-url", database_url]].concat();
    let program = Program::start(directory.path(), &settings);
    let client = program.client();
    // The kernel accepts connections, and the receiver never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.2:0").await.unwrap();
    owe_silent(client, silent.local_addr().unwrap(), &[]).await;
    let receiver = Receiver::start().await;
    for _ in 0..5 {
        let path = submitted(client, &calling(short_job(), &receiver)).await;
        let ended = client.until_status(&path, "succeeded").await;
        let begun = Instant::now();
        let call = receiver.call().await;
        // A delivery to the silent receiver takes ten seconds.
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(ended["id"], call.header("webhook-id"));
        call.answer("204 No Content").await;
    }
}

/// Owes the callbacks of ended jobs to a receiver.
async fn owe_silent(client: Client, receiver: std::net::SocketAddr, headers: &[(&str, &str)]) {
    let mut job = short_job();
    job["callback"] = json!(format!("http://{receiver}/"));
    let headers = [
        &[("content-type", "application/json"), ("prefer", "wait=30")],
        headers,
    ]
    .concat();
    for _ in 0..SILENT_CALLBACKS {
        let body = job.to_string();
        let answer = client
            .send("POST", "/v1/jobs", &headers, body.as_bytes())
            .await;
        answer.unwrap().expect(200);
    }
}

/// The receivers differ in their ports alone, so they are one host.
#[tokio::test]
async fn hanging_callbacks_of_one_key_delay_no_other_key_at_the_same_host() {
    let directory = tempfile::tempdir().unwrap();
    let (_, one) = create_key(directory.path(), &[], "one");
    let (_, other) = create_key(directory.path(), &[], "other");
    let program = Program::start(directory.path(), &SETTINGS);
    let client = program.client();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let one = format!("Bearer {one}");
    owe_silent(
        client,
        silent.local_addr().unwrap(),
        &[("authorization", &one)],
    )
    .await;
    let receiver = Receiver::start().await;
    let job = calling(short_job(), &receiver).to_string();
    let other = format!("Bearer {other}");
    let headers = [
        ("content-type", "application/json"),
        ("authorization", &*other),
    ];
    let begun = Instant::now();
    let submitted = client
        .send("POST", "/v1/jobs", &headers, job.as_bytes())
        .await;
    let submitted = submitted.unwrap().expect(202);
    let call = receiver.call().await;
    // A delivery to the silent receiver takes ten seconds, and there are ten rounds of them.
    let waited = begun.elapsed();
    assert!(waited < Duration::from_secs(8), "{waited:?}");
    assert_eq!(submitted.id(), call.header("webhook-id"));
    call.answer("204 No Content").await;
}

#[tokio::test]
async fn callback_error_does_not_show_why_a_receiver_is_unreachable() {
    let directory = tempfile::tempdir().unwrap();
    let settings = ["--callback-secret", SECRET, "--callback-allow", "127.0.0.2"];
    let program = Program::start(directory.path(), &settings);
    let client = program.client();
    let gone = tokio::net::TcpListener::bind("127.0.0.2:0").await.unwrap();
    let nobody_listens = format!("http://{}/", gone.local_addr().unwrap());
    drop(gone);
    let mut reasons = Vec::new();
    for url in [
        nobody_listens.as_str(),
        "http://halfspace-test.invalid/",
        // The service does not call this host's address, even if a process listens there.
        "http://localhost/",
    ] {
        let mut job = short_job();
        job["callback"] = json!(url);
        let path = submitted(client, &job).await;
        let failed = until_callback(client, &path, "failures", json!(1)).await;
        reasons.push(failed["error"].clone());
    }
    assert_eq!(reasons, vec![json!("the receiver was not reached"); 3]);
}
