//! What every job that has ended must say of itself.

use serde_json::Value;

use super::Client;

/// An event: its number, its kind, its document.
type Event = (u64, String, Value);

/// Fails unless the events of an ended job are numbered without a gap, and tell of one end, with
/// nothing after it.
pub async fn ended_once(client: Client, path: &str, job: &Value) {
    let events = events(client, path).await;
    for (index, (id, ..)) in events.iter().enumerate() {
        assert_eq!(*id, index as u64 + 1, "{path}: {events:?}");
    }
    let ends = |kind: &str| {
        let is_end = |event: &&Event| {
            let status = &event.2["status"];
            event.1 == kind && status != "queued" && status != "running"
        };
        events.iter().filter(is_end).count()
    };
    assert_eq!(
        (ends("status"), ends("result")),
        (1, 1),
        "{path}: {events:?}"
    );
    let (_, kind, data) = events.last().unwrap();
    assert_eq!(kind, "result");
    assert_eq!(data["result"], job["result"]);
}

/// All events of an ended job.
async fn events(client: Client, path: &str) -> Vec<Event> {
    let answer = client.get(&format!("{path}/events")).await.expect(200);
    let field = |block: &str, name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
    };
    let blocks = answer.text().split("\n\n");
    let blocks = blocks.filter(|block| block.starts_with("id"));
    blocks
        .map(|block| {
            let id = field(block, "id: ").unwrap().parse().unwrap();
            let data = serde_json::from_str(&field(block, "data: ").unwrap()).unwrap();
            (id, field(block, "event: ").unwrap(), data)
        })
        .collect()
}
