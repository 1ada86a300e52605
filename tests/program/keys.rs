//! `halfspace keys` beside a running service, which obeys new and revoked keys. A secret is shown only once.

use std::path::Path;
use std::process::{Output, Stdio};

use crate::service::{Client, Program, TestDatabase, program, until};

fn keys(data_dir: &Path, settings: &[&str], command: &[&str]) -> Output {
    program()
        .args(["keys", "--log", "trace", "--data-dir"])
        .arg(data_dir)
        .args(settings)
        .args(command)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The id and the secret in the output of `keys create`.
fn created(said: &str) -> (String, String) {
    let field = |name: &str| {
        let line = said.lines().find(|line| line.starts_with(name));
        let word = line.and_then(|line| line.split_whitespace().nth(1));
        word.unwrap_or_else(|| panic!("no {name}: {said}"))
            .to_owned()
    };
    (field("id"), field("secret"))
}

async fn status(client: Client, secret: Option<&str>) -> u16 {
    let bearer = secret.map(|secret| format!("Bearer {secret}"));
    let headers = bearer
        .iter()
        .map(|bearer| ("authorization", bearer.as_str()));
    let headers: Vec<_> = headers.collect();
    let answer = client.send("GET", "/v1/jobs", &headers, b"").await;
    answer.unwrap().status.as_u16()
}

async fn until_status(client: Client, secret: Option<&str>, expected: u16) {
    until("the service to heed the keys", async || {
        (status(client, secret).await == expected).then_some(())
    })
    .await;
}

async fn made_and_revoked_beside_a_service(settings: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    let service = Program::start(home, settings);
    let client = service.client();
    assert_eq!(status(client, None).await, 200);
    // An unknown secret is ignored while no key exists.
    assert_eq!(status(client, Some("anything")).await, 200);

    let one = keys(home, settings, &["create", "--name", "one", "--jobs", "5"]);
    let (id, secret) = created(&said(&one));
    // 256 bits take 43 characters.
    assert!(secret.len() >= 4 + 43, "{secret}");
    let two = keys(home, settings, &["create", "--name", "two"]);
    let (other_id, other) = created(&said(&two));
    assert_ne!((&id, &secret), (&other_id, &other));
    until_status(client, None, 401).await;
    assert_eq!(status(client, Some(&secret)).await, 200);
    assert_eq!(status(client, Some(&other)).await, 200);

    let revoked = keys(home, settings, &["revoke", &id]);
    said(&revoked);
    until_status(client, Some(&secret), 401).await;
    assert_eq!(status(client, Some(&other)).await, 200);
    let listed = keys(home, settings, &["list"]);
    let lines = said(&listed);
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with(&id) && lines[0].contains("revoked 20"));
    assert!(lines[0].contains("jobs <= 5") && lines[0].ends_with("one"));
    assert!(lines[1].starts_with(&other_id) && lines[1].contains("  valid"));

    // Only the answer of `keys create` shows a secret, at every log level.
    for output in [&one, &two, &revoked, &listed] {
        let logged = String::from_utf8_lossy(&output.stderr);
        assert!(!logged.contains(&secret) && !logged.contains(&other));
    }
    assert!(!said(&listed).contains(&secret));
}

#[tokio::test]
async fn keys_are_made_and_revoked_beside_a_service() {
    made_and_revoked_beside_a_service(&[]).await;
}

#[tokio::test]
async fn keys_are_made_and_revoked_beside_a_service_over_postgres() {
    if let Some(database) = TestDatabase::new().await {
        made_and_revoked_beside_a_service(&["--database-url", &database.url()]).await;
    }
}

#[test]
fn key_commands_refuse_bad_arguments_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let made = program()
        .args(["migrate", "--data-dir"])
        .arg(directory.path())
        .output();
    said(&made.unwrap());
    let nobody = "key_018bcfe568007000b333333333333333";
    for (command, reason) in [
        (vec!["revoke", nobody], "no such key"),
        (vec!["revoke", "job_1"], "the id must be"),
        (vec!["create"], "--name"),
        (vec!["create", "--name", ""], "1 to 256"),
        (vec!["create", "--name", "a\nb"], "on one line"),
        (vec!["create", "--name", "a", "--bytes", "x"], "--bytes"),
    ] {
        let output = keys(directory.path(), &[], &command);
        assert!(!output.status.success(), "{command:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains(reason), "{command:?}: {told}");
    }
    assert_eq!(said(&keys(directory.path(), &[], &["list"])), "");
}

#[tokio::test]
async fn log_lines_contain_no_secret_of_a_key() {
    let directory = tempfile::tempdir().unwrap();
    let made = keys(directory.path(), &[], &["create", "--name", "a"]);
    let (id, secret) = created(&said(&made));
    let log = directory.path().join("log");
    let service = Program::start_logging("trace", &log, directory.path(), &[]);
    let client = service.client();
    assert_eq!(status(client, Some(&secret)).await, 200);
    assert_eq!(status(client, Some("hsk_of-nobody")).await, 401);
    service.kill();
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!(logged.contains("route=\"/v1/jobs\""), "{logged}");
    assert!(!logged.contains(&secret) && !logged.contains("hsk_of-nobody"));
    let database = std::fs::read(directory.path().join("halfspace.sqlite")).unwrap();
    let wal = directory.path().join("halfspace.sqlite-wal");
    let stored = [database, std::fs::read(wal).unwrap_or_default()].concat();
    let holds = |text: &str| {
        stored
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    assert!(holds(&id) && !holds(&secret));
}

#[test]
fn key_commands_list_and_revoke_create_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let absent = directory.path().join("absent");
    let id = "key_018bcfe568017000b333333333333333";
    for command in [&["list"][..], &["revoke", id]] {
        let refused = keys(&absent, &[], command);
        assert!(!refused.status.success(), "{command:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(
            said.contains("--data-dir") && said.contains("no store"),
            "{said}"
        );
        assert!(!absent.exists());
    }
}
