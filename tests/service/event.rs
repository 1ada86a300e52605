//! Server-sent events as a client reads them, and what those of an ended job must say.

use serde_json::Value;

use super::Client;

/// One event of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: u64,
    pub kind: String,
    pub data: Value,
}

impl Event {
    /// The event that a block of lines is, unless it is a comment.
    pub fn parsed(block: &str) -> Option<Self> {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        Some(Self {
            id: field("id: ")?.parse().unwrap(),
            kind: field("event: ")?.to_owned(),
            data: serde_json::from_str(field("data: ")?).unwrap(),
        })
    }

    /// Whether it tells of the end of its job.
    pub fn is_end(&self) -> bool {
        let status = self.data["status"].as_str().unwrap_or_default();
        self.kind != "progress" && !["queued", "running"].contains(&status)
    }
}

/// Fails unless the numbers are those from `first` on: no gap, no duplicate, in order.
#[track_caller]
pub fn assert_numbered(events: &[Event], first: u64) {
    let ids: Vec<u64> = events.iter().map(|event| event.id).collect();
    let expected: Vec<u64> = (first..first + ids.len() as u64).collect();
    assert_eq!(ids, expected);
}

/// Fails unless these are all events of a job that has ended: one end, told twice (its status, its
/// result), and nothing after it.
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

/// Fails unless the events of an ended job tell of one end, with the job's result.
pub async fn ended_once(client: Client, path: &str, job: &Value) {
    let events = client.events(path).await;
    assert_ended_once(&events);
    let last = events.last().unwrap();
    assert_eq!(last.data["status"], job["status"], "{path}");
    assert_eq!(last.data["result"], job["result"], "{path}");
}
