//! A service over PostgreSQL: processes that share a database, and errors at the start. `tests/faults` tests such
//! services under faults.

use halfspace::storage::postgres;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::time::Instant;

use crate::service::{Client, Program, TIMEOUT, TestDatabase, long_job, short_job};

async fn get(client: Client, path: &str) -> Value {
    client.get(path).await.expect(200).json()
}

async fn status(client: Client, path: &str) -> u16 {
    client.open("GET", path, &[], b"").await.unwrap().status()
}

#[tokio::test]
async fn postgres_job_of_an_api_process_is_computed_by_a_worker() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let url = database.url();
    let settings = |role| ["--database-url", url.as_str(), "--role", role];
    let api = Program::start(directory.path(), &settings("api"));
    let client = api.client();
    let answer = client.post("/v1/jobs", &short_job(), None).await.unwrap();
    let path = answer.expect(202).header("location").unwrap().to_owned();
    assert_eq!(get(client, &path).await["status"], "queued");

    let worker = Program::start(directory.path(), &settings("worker"));
    let job = client.until_status(&path, "succeeded").await;
    let events = client.get(&format!("{path}/events")).await.expect(200);
    assert_eq!(events.text().matches("event: status").count(), 3);
    assert_eq!(events.text().matches("event: result").count(), 1);
    let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let predicted = client
        .post(
            &format!("{model}/predict"),
            &json!({"unlabelled": {"examples": ["111"]}}),
            None,
        )
        .await;
    assert_eq!(
        predicted.unwrap().expect(200).json()["predictions"],
        json!([1])
    );
    // A client that waits receives its answer when the other process has finished the job.
    let waited = client.post("/v1/jobs", &short_job(), Some("wait=30")).await;
    assert_eq!(waited.unwrap().expect(200).json()["status"], "succeeded");

    cancelled_by_another_process(client).await;
    a_dataset_is_trained_on(client).await;
    a_session_learns(client).await;
    let deleted = client.send("DELETE", &path, &[], b"").await.unwrap();
    deleted.expect(204);
    client.get(&path).await.expect(404);

    // A worker serves only the operations routes.
    let client = worker.client();
    for path in ["/livez", "/readyz", "/metrics", "/version"] {
        client.get(path).await.expect(200);
    }
    for path in ["/v1/jobs", "/v1/limits", "/docs/", "/openapi.json", "/"] {
        assert_eq!(status(client, path).await, 404, "{path}");
    }
}

async fn cancelled_by_another_process(client: Client) {
    let answer = client.post("/v1/jobs", &long_job(1), None).await.unwrap();
    let path = answer.expect(202).header("location").unwrap().to_owned();
    client.until_status(&path, "running").await;
    let cancel = client
        .send("POST", &format!("{path}/cancel"), &[], b"")
        .await;
    cancel.unwrap().expect(202);
    client.until_status(&path, "cancelled").await;
}

async fn a_dataset_is_trained_on(client: Client) {
    let headers = [("content-type", "text/csv")];
    let rows = b"1,1,1\n-1,0,0\n1,1,0\n";
    let stored = client
        .send(
            "POST",
            "/v1/datasets?name=three&labels=first",
            &headers,
            rows,
        )
        .await;
    let dataset = stored.unwrap().expect(201).id();
    let asked = json!({"train": {"learner": {"name": "perceptron"}, "data": {"dataset": dataset}}});
    let job = client
        .post("/v1/jobs", &asked, Some("wait=30"))
        .await
        .unwrap();
    assert_eq!(job.expect(200).json()["result"]["training"]["errors"], 0);
    let path = format!("/v1/datasets/{dataset}");
    assert_eq!(get(client, &path).await["examples"], 3);
    let listed = get(client, "/v1/datasets").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let deleted = client.send("DELETE", &path, &[], b"").await.unwrap();
    deleted.expect(204);
}

async fn a_session_learns(client: Client) {
    let asked = json!({"learner": {"name": "perceptron"}, "n": 3, "seed": 7});
    let opened = client.post("/v1/sessions", &asked, None).await.unwrap();
    let path = opened.expect(201).header("location").unwrap().to_owned();
    let headers = [
        ("content-type", "application/x-ndjson"),
        ("if-match", "\"0\""),
    ];
    let lines = b"{\"x\": \"111\", \"y\": 1}\n{\"x\": \"000\", \"y\": -1}\n";
    let learnt = client
        .send("POST", &format!("{path}/examples"), &headers, lines)
        .await;
    assert_eq!(learnt.unwrap().expect(200).text().lines().count(), 2);
    assert_eq!(get(client, &path).await["position"], 2);
    let deleted = client.send("DELETE", &path, &[], b"").await.unwrap();
    deleted.expect(204);
}

#[tokio::test]
async fn failed_start_on_postgres_names_the_setting_and_no_password() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let socket = database.socket();
    let host = socket.parent().unwrap().display();
    let missing = format!("postgres:///no_such_database?host={host}&user=postgres&password=s3cret");
    let wrong_password = format!("postgres:///postgres?host={host}&user=locked&password=s3cret");
    for (url, reason) in [
        ("mysql://ada:s3cret@db/half", "must be sqlite or postgres"),
        ("postgres://ada:s3cret@db:port/half", "invalid port"),
        ("postgres://ada:s3cret@db/half?pasword=s3cret", "pasword"),
        // Nothing listens on port 1 of the loopback address.
        ("postgres://ada:s3cret@127.0.0.1:1/half", "refused"),
        (missing.as_str(), "no_such_database"),
        (wrong_password.as_str(), "password authentication failed"),
    ] {
        for command in ["serve", "migrate"] {
            let (status, said) = Program::run(directory.path(), &["--database-url", url, command]);
            assert_eq!(status.code(), Some(1), "{url}: {said}");
            assert!(said.contains("error: --database-url"), "{url}: {said}");
            assert!(said.contains(reason), "{url}: {said}");
            assert!(!said.contains("s3cret"), "{url}: {said}");
            assert!(!said.contains("listens on"), "{url}: {said}");
        }
    }
    let right = wrong_password.replace("s3cret", "right");
    let (_, said) = Program::run(directory.path(), &["--database-url", &right, "migrate"]);
    // The role may log in but may not create tables.
    assert!(
        said.contains("error: --database-url postgres://locked@"),
        "{said}"
    );
    assert!(
        said.contains("permission denied") && !said.contains("right@"),
        "{said}"
    );
}

#[test]
fn start_fails_in_time_on_a_silent_postgres_server() {
    let directory = tempfile::tempdir().unwrap();
    // The kernel accepts connections that the process never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "postgres://ada:s3cret@{}/half",
        silent.local_addr().unwrap()
    );
    let (status, said) = Program::run(directory.path(), &["--database-url", &url]);
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("error: --database-url"), "{said}");
    assert!(said.contains("does not respond within"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

#[tokio::test]
async fn migrate_makes_the_postgres_schema_and_refuses_a_newer_one() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let url = database.url();
    for _ in 0..2 {
        let (status, said) = Program::run(directory.path(), &["--database-url", &url, "migrate"]);
        assert!(status.success(), "{said}");
    }
    let mut connection = database.connect().await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (9999, 'from the future', TRUE, '', 0)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    let (status, said) = Program::run(directory.path(), &["--database-url", &url]);
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(
        said.contains("error: --database-url") && said.contains("9999"),
        "{said}"
    );
}

#[tokio::test]
async fn running_service_never_shows_the_postgres_password() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    // The server ignores this password.
    let url = format!("{}&password=s3cret", database.url());
    let program = Program::start(directory.path(), &["--database-url", &url]);
    let client = program.client();
    for path in ["/metrics", "/readyz", "/version", "/v1/limits"] {
        assert!(!client.get(path).await.text().contains("s3cret"), "{path}");
    }
}

/// A claim locks the row of the owner and then counts. A request that counted first could wait for the claim while
/// the claim waits for the request.
#[tokio::test]
async fn a_job_of_an_inactive_owner_counts_after_it_locks_the_owner() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &["--database-url", &database.url()]);
    let client = program.client();
    let mut watcher = database.connect().await;
    let grid = json!({"grid": {"train": short_job()["train"], "over": {"seed": [1, 2]}}});
    for body in [short_job(), grid] {
        run(&mut watcher, "DELETE FROM owner_shares").await;
        let mut claim = database.connect().await;
        run(&mut claim, "BEGIN; SET LOCAL lock_timeout = '5s'").await;
        run(
            &mut claim,
            "INSERT INTO owner_shares VALUES ('anonymous', 0, 0, 1, TRUE)",
        )
        .await;
        let stored = tokio::spawn(async move { client.post("/v1/jobs", &body, None).await });
        until_one_waits_for_a_lock(&mut watcher).await;
        let every_stripe = "INSERT INTO usage AS u SELECT 'anonymous', generate_series(0, 15), 0, 0, 0 \
             ON CONFLICT (owner, stripe) DO UPDATE SET queued = u.queued";
        run(&mut claim, every_stripe).await;
        run(&mut claim, "COMMIT").await;
        let answer = stored.await.unwrap().unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
        let path = format!("/v1/jobs/{}", answer.json()["id"].as_str().unwrap());
        client.until_status(&path, "succeeded").await;
    }
}

#[tokio::test]
async fn postgres_transactions_counting_the_same_owners_are_serialised() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    postgres::open(&database.place()).await.unwrap();
    let mut first = database.connect().await;
    let wanted = stripe(&mut first).await;
    // The process id of a backend determines the stripe, and each connection has another backend.
    let mut tries = 0;
    let mut second = loop {
        let mut other = database.connect().await;
        if stripe(&mut other).await == wanted {
            break other;
        }
        other.close().await.unwrap();
        tries += 1;
        assert!(tries < 1_000, "no connection of the same stripe");
    };
    run(&mut first, "BEGIN; SELECT count_usage('one', 1, 0, 0)").await;
    let counted = tokio::spawn(async move {
        run(&mut second, "SELECT count_usage('next', 1, 0, 0)").await;
    });
    until_one_waits_for_a_lock(&mut database.connect().await).await;
    run(&mut first, "SELECT count_usage('next', 1, 0, 0); COMMIT").await;
    counted.await.unwrap();
}

async fn run(connection: &mut PgConnection, statements: &'static str) {
    let run = sqlx::raw_sql(statements).execute(connection);
    run.await.unwrap();
}

async fn stripe(connection: &mut PgConnection) -> i32 {
    let select = sqlx::query_scalar("SELECT pg_backend_pid() % 16");
    select.fetch_one(connection).await.unwrap()
}

/// Returns when a session of the database waits for a lock of another session.
async fn until_one_waits_for_a_lock(watcher: &mut PgConnection) {
    let deadline = Instant::now() + TIMEOUT;
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while Instant::now() < deadline {
        let select = sqlx::query_scalar::<_, i64>(waiting);
        if select.fetch_one(&mut *watcher).await.unwrap() > 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("no session waits");
}
