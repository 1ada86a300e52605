//! Server-sent events as a client reads them, and checks of the events of an ended job.

use serde_json::Value;

use super::Client;

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: u64,
    pub kind: String,
    pub data: Value,
}

impl Event {
    /// Parses a block of lines. Returns `None` for a comment.
    pub fn parsed(block: &str) -> Option<Self> {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        Some(Self {
            id: field("id: ")?.parse().unwrap(),
            kind: field("event: ")?.to_owned(),
            data: serde_json::from_str(field("data: ")?).unwrap(),
        })
    }

    /// Whether the event reports the end of its job.
    pub fn is_end(&self) -> bool {
        let status = self.data["status"].as_str().unwrap_or_default();
        self.kind != "progress" && !["queued", "running"].contains(&status)
    }
}

/// Asserts that the numbers of the events count up from `first` without gaps.
#[track_caller]
pub fn assert_numbered(events: &[Event], first: u64) {
    let ids: Vec<u64> = events.iter().map(|event| event.id).collect();
    let expected: Vec<u64> = (first..first + ids.len() as u64).collect();
    assert_eq!(ids, expected);
}

/// Asserts that these are all events of an ended job. Two events report the end, the status and the result, and
/// no event follows them.
#[track_caller]
pub fn assert_ended_once(events: &[Event]) {
    assert_numbered(events, 1);
    let ends: Vec<usize> = (0..events.len())
        .filter(|&index| events[index].is_end())
        .collect();
    assert_eq!(ends, [events.len() - 2, events.len() - 1], "{events:?}");
    let [status, result] = [ends[0], ends[1]].map(|index| &events[index]);
    assert_eq!(
        (status.kind.as_str(), result.kind.as_str()),
        ("status", "result")
    );
    assert_eq!(status.data["status"], result.data["status"]);
}

/// Asserts that the events of an ended job report one end, with the job's result.
pub async fn ended_once(client: Client, path: &str, job: &Value) {
    let events = client.events(path).await;
    assert_ended_once(&events);
    let last = events.last().unwrap();
    assert_eq!(last.data["status"], job["status"], "{path}");
    assert_eq!(last.data["result"], job["result"], "{path}");
}
