//! Texts in other charsets than UTF-8, through the routes with data.

use serde_json::json;

use super::uploads::gzip;
use crate::service::Service;

const TABLE: &str = "size,name,class\n1,Müller,grün\n2,Möller,rot\n3,Müller,rot\n4,Möller,grün\n";

/// Text in windows-1252, where the characters of these tests are their own codes.
fn latin(text: &str) -> Vec<u8> {
    text.chars()
        .map(|character| u8::try_from(character).unwrap())
        .collect()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn marked(text: &str) -> Vec<u8> {
    utf16(&format!("\u{feff}{text}"))
}

fn form(head: &str, part_type: &str, file: &[u8]) -> Vec<u8> {
    let head = format!(
        "{head}--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"t.csv\"\r\n{part_type}\r\n"
    );
    [head.as_bytes(), file, b"\r\n--b--\r\n"].concat()
}

#[tokio::test]
async fn upload_in_any_charset_is_the_same_dataset() {
    let service = Service::start().await;
    let plain = service.post_as("/v1/datasets", "text/csv", TABLE).await;
    let plain = plain.expect(201).json();
    let (any, multipart) = ("text/csv", "multipart/form-data; boundary=b");
    let field = "--b\r\ncontent-disposition: form-data; name=\"charset\"\r\n\r\nlatin1\r\n";
    let large = TABLE.repeat(3000).replace("size,name,class\n1", "1");
    let large = format!("size,name,class\n{large}");
    let of_large = service.post_as("/v1/datasets", any, large.clone()).await;
    let of_large = of_large.expect(201).json();
    for (path, media_type, body, expected) in [
        (
            "/v1/datasets?charset=windows-1252",
            any,
            latin(TABLE),
            &plain,
        ),
        (
            "/v1/datasets?charset=windows-1252",
            any,
            latin(&large),
            &of_large,
        ),
        (
            "/v1/datasets?charset=latin1",
            any,
            gzip(&latin(TABLE)),
            &plain,
        ),
        (
            "/v1/datasets",
            "text/csv; charset=\"ISO-8859-1\"",
            latin(TABLE),
            &plain,
        ),
        (
            "/v1/datasets?charset=latin1",
            "text/csv; charset=cp1252",
            latin(TABLE),
            &plain,
        ),
        (
            "/v1/datasets",
            "text/csv; charset=utf-8",
            TABLE.into(),
            &plain,
        ),
        ("/v1/datasets", any, marked(TABLE), &plain),
        ("/v1/datasets", any, marked(&large), &of_large),
        ("/v1/datasets", any, gzip(&marked(TABLE)), &plain),
        (
            "/v1/datasets",
            "text/csv; charset=utf-16",
            marked(TABLE),
            &plain,
        ),
        ("/v1/datasets?charset=utf-16le", any, utf16(TABLE), &plain),
        (
            "/v1/datasets?charset=latin1",
            multipart,
            form("", "", &latin(TABLE)),
            &plain,
        ),
        (
            "/v1/datasets",
            multipart,
            form(field, "", &gzip(&latin(TABLE))),
            &plain,
        ),
        (
            "/v1/datasets",
            multipart,
            form(
                "",
                "content-type: text/csv; charset=latin1\r\n",
                &latin(TABLE),
            ),
            &plain,
        ),
        (
            "/v1/datasets",
            multipart,
            form("", "", &marked(TABLE)),
            &plain,
        ),
    ] {
        let stored = service
            .post_as(path, media_type, body)
            .await
            .expect(201)
            .json();
        for member in ["sha256", "encoding_sha256", "table", "classes"] {
            assert_eq!(
                stored[member], expected[member],
                "{path} {media_type} {member}"
            );
        }
    }
    let rows = json!({"data": {"rows": [{"name": "Müller", "class": "grün"}, {"name": "Möller", "class": "rot"}]}});
    let plain = service
        .post_json("/v1/datasets", &rows)
        .await
        .expect(201)
        .json();
    for (path, media_type, body) in [
        (
            "/v1/datasets?charset=latin1",
            "application/json; charset=latin1",
            latin(&rows.to_string()),
        ),
        (
            "/v1/datasets",
            "application/json; charset=latin1",
            latin(&rows.to_string()),
        ),
        (
            "/v1/datasets",
            "application/json; charset=utf-16",
            marked(&rows.to_string()),
        ),
    ] {
        let stored = service.post_as(path, media_type, body).await;
        assert_eq!(
            stored.expect(201).json()["sha256"],
            plain["sha256"],
            "{path}"
        );
    }
}

/// Two classes that differ in one byte stay two in a training, an evaluation and a prediction.
#[tokio::test]
async fn classes_in_another_charset_stay_apart() {
    let service = Service::start().await;
    let table = "size,class\n1,Müller\n2,Möller\n3,Müller\n4,Möller\n";
    let path = "/v1/learners/perceptron/train?seed=1&charset=windows-1252";
    let job = service.post_as(path, "text/csv", latin(table)).await;
    let job = job.expect(200).json();
    let model = job["result"]["model"]
        .as_str()
        .unwrap_or_else(|| panic!("{job}"))
        .to_owned();
    let shown = service
        .get(&format!("/v1/models/{model}"))
        .await
        .expect(200)
        .json();
    assert!(
        shown.to_string().contains("Müller") && shown.to_string().contains("Möller"),
        "{shown}"
    );

    let path = format!("/v1/models/{model}/evaluate");
    let whole = service
        .post_as(&path, "text/csv", table)
        .await
        .expect(200)
        .json();
    for (query, body) in [("?charset=latin1", latin(table)), ("", marked(table))] {
        let path = format!("{path}{query}");
        let evaluated = service.post_as(&path, "text/csv", body).await;
        assert_eq!(evaluated.expect(200).json(), whole, "{query}");
    }
    let known = format!("{path}?charset=latin1");
    let unknown = service
        .post_as(&known, "text/csv", latin("size,class\n1,Mäller\n"))
        .await;
    assert!(
        unknown.text().contains("Mäller") && unknown.text().contains("Müller"),
        "{}",
        unknown.text()
    );

    let path = format!("/v1/models/{model}/predict");
    for (media_type, body) in [
        ("text/csv", "size\n1\n2\n"),
        ("application/x-ndjson", "{\"size\": 1}\n{\"size\": 2}\n"),
    ] {
        let plain = service.post_as(&path, media_type, body).await.expect(200);
        let predicted = service.post_as(&path, media_type, marked(body)).await;
        assert_eq!(predicted.expect(200).text(), plain.text(), "{media_type}");
    }
}

#[tokio::test]
async fn bad_charsets_are_refused_with_a_remedy() {
    let service = Service::start().await;
    let xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    let none = "/v1/datasets";
    for (path, media_type, body, problem, told) in [
        (
            "/v1/datasets?charset=latin9000",
            "text/csv",
            latin(TABLE),
            (400, "invalid-parameter"),
            "shift_jis",
        ),
        (
            "/v1/datasets?charset=",
            "text/csv",
            latin(TABLE),
            (400, "invalid-parameter"),
            "shift_jis",
        ),
        (
            none,
            "text/csv; charset=latin9000",
            latin(TABLE),
            (415, "unsupported-media-type"),
            "shift_jis",
        ),
        (
            "/v1/datasets?charset=latin1",
            "text/csv; charset=utf-8",
            latin(TABLE),
            (400, "bad-option"),
            "one charset",
        ),
        (
            "/v1/datasets?charset=latin1",
            "text/csv",
            marked(TABLE),
            (400, "bad-option"),
            "byte order mark",
        ),
        (
            none,
            "text/csv",
            latin(TABLE),
            (400, "syntax"),
            "`charset=windows-1252`",
        ),
        (
            none,
            "text/csv",
            utf16(TABLE),
            (400, "syntax"),
            "`charset=utf-16le`",
        ),
        (
            "/v1/datasets?charset=shift_jis",
            "text/csv",
            latin("a,class\n1,M\u{fc}\n"),
            (400, "syntax"),
            "0xFC",
        ),
        (
            "/v1/datasets?charset=utf-16le",
            "text/csv",
            latin("a"),
            (400, "syntax"),
            "utf-16le",
        ),
        (
            "/v1/datasets?charset=latin1",
            xlsx,
            latin(TABLE),
            (400, "bad-option"),
            "charset",
        ),
        (
            "/v1/datasets?charset=latin1&n=8",
            "application/octet-stream",
            latin(TABLE),
            (400, "bad-option"),
            "charset",
        ),
    ] {
        let refused = service.post_as(path, media_type, body).await;
        let (status, code) = problem;
        assert_eq!(
            refused.problem(status),
            code,
            "{path} {media_type} {}",
            refused.text()
        );
        assert!(refused.text().contains(told), "{path} {}", refused.text());
    }
    let octets = "application/octet-stream; charset=latin1";
    let stored = service
        .post_as("/v1/datasets?n=8", octets, vec![1, 2])
        .await;
    assert_eq!(stored.expect(201).json()["examples"], 2);
}

/// A session reads a byte order mark, but learns lines before it could know another charset.
#[tokio::test]
async fn session_streams_refuse_a_charset() {
    let service = Service::start().await;
    let session = json!({"learner": {"name": "perceptron"}, "n": 2});
    let session = service
        .post_json("/v1/sessions", &session)
        .await
        .expect(201)
        .id();
    let path = format!("/v1/sessions/{session}/examples");
    let lines = "{\"x\": \"10\", \"y\": 1}\n{\"x\": \"01\", \"y\": -1}\n";
    let refused = format!("{path}?charset=utf-16le");
    let refused = service
        .post_as(&refused, "application/x-ndjson", utf16(lines))
        .await;
    assert!(
        refused.problem(400) == "bad-option" && refused.text().contains("charset"),
        "{}",
        refused.text()
    );
    let learnt = service
        .post_as(&path, "application/x-ndjson", marked(lines))
        .await;
    let learnt = learnt.expect(200);
    assert_eq!(learnt.text().lines().count(), 2, "{}", learnt.text());
    let csv = format!("{path}?charset=utf-16le&labels=last");
    let learnt = service
        .post_as(&csv, "text/csv", utf16("1,0,1\n0,1,-1\n"))
        .await;
    let learnt = learnt.expect(200);
    assert_eq!(learnt.text().lines().count(), 2, "{}", learnt.text());
}
