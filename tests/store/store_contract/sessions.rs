//! Sessions: their position, their log of examples, and the snapshot that replaces the log.

use super::*;
use halfspace::records::SessionId;
use halfspace::records::id::SessionKind;
use halfspace::records::session::{
    LogEntry, SessionAppend, SessionRecord, SessionSpec, SessionTally,
};
use halfspace::records::train::{LearnerSpec, StopSpec};
use halfspace::storage::AppendOutcome;

pub(super) fn session(number: i64) -> SessionRecord {
    let mut random = [0x44; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    SessionRecord {
        id: SessionId::new(at(number), random),
        owner: owner(),
        spec: SessionSpec {
            open: false,
            learner: LearnerSpec {
                name: "perceptron".into(),
                params: serde_json::Map::new(),
            },
            n: 3,
            active: None,
            names: Names::default(),
            multiclass: None,
            values: RowsKind::Boolean,
            assume: Some(Assume::Uniform),
            seed: (1 << 53) - 1,
            stop: StopSpec::default(),
        },
        position: 0,
        tally: SessionTally::NEW,
        created_at: at(number),
    }
}

/// The counts of a session that makes a mistake in two and ends after seven examples.
pub(super) fn tally(position: u64) -> SessionTally {
    SessionTally {
        position,
        mistakes: position / 2,
        terminated: position == 7,
        written_at: Some(at(1_000)),
        classes: Some(Classes::new(Some("no".to_owned()), "yes".to_owned())),
        names: None,
    }
}

fn append(number: i64, position: u64, examples: u64, bytes: &[u8]) -> SessionAppend {
    SessionAppend {
        id: session(number).id,
        position,
        tally: tally(position + examples),
        entry: LogEntry::Examples(bytes.to_vec()),
    }
}

async fn appended(store: &Store, one: SessionAppend) -> AppendOutcome {
    store.append_examples(&owner(), &[one]).await.unwrap()[0]
}

pub(super) async fn a_session_is_kept_listed_and_deleted(backend: &dyn Backend) {
    let store = open(backend).await;
    let all = [session(1), session(2), session(3)];
    for session in &all {
        store.insert(session, None).await.unwrap();
        let found = store.find(&owner(), session.id).await.unwrap();
        assert_eq!(found.as_ref(), Some(session));
    }
    let page = Page::<SessionKind>::new(2, None);
    let slice = store.list(&owner(), &page).await.unwrap();
    assert_eq!(slice.items, [all[2].clone(), all[1].clone()]);
    let slice = store
        .list(&owner(), &Page::new(2, slice.next))
        .await
        .unwrap();
    assert_eq!((slice.items, slice.next), (vec![all[0].clone()], None));
    let (stranger, id) = (Owner::new("other"), all[0].id);
    assert_eq!(store.find(&stranger, id).await.unwrap(), None);
    assert_eq!(store.session_state(&stranger, id).await.unwrap(), None);
    assert!(!store.delete(&stranger, id).await.unwrap());
    let foreign = [append(1, 0, 1, b"x")];
    let foreign = store.append_examples(&stranger, &foreign).await.unwrap();
    assert_eq!(foreign, [AppendOutcome::NotFound]);
    assert_eq!(
        appended(&store, append(1, 0, 1, b"x")).await,
        AppendOutcome::Done
    );
    assert!(store.delete(&owner(), id).await.unwrap());
    assert!(!store.delete(&owner(), id).await.unwrap());
    assert_eq!(store.session_state(&owner(), id).await.unwrap(), None);
    assert_eq!(
        appended(&store, append(1, 1, 1, b"x")).await,
        AppendOutcome::NotFound
    );
    // The deletion removed the session's log too.
    store.insert(&all[0], None).await.unwrap();
    let again = store.session_state(&owner(), id).await.unwrap().unwrap();
    assert_eq!((again.record.position, again.log.len()), (0, 0));
}

pub(super) async fn session_append_is_fenced_by_its_position(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert(&session(1), None).await.unwrap();
    assert_eq!(
        appended(&store, append(1, 0, 5, b"first")).await,
        AppendOutcome::Done
    );
    for position in [0, 4, 6] {
        let refused = appended(&store, append(1, position, 1, b"late")).await;
        assert_eq!(refused, AppendOutcome::Elsewhere { position: 5 });
    }
    assert_eq!(
        appended(&store, append(1, 5, 2, b"second")).await,
        AppendOutcome::Done
    );
    // Another process sees the position at once.
    let other = open(backend).await;
    let id = session(1).id;
    let state = other.session_state(&owner(), id).await.unwrap().unwrap();
    assert_eq!(state.record.position, 7);
    assert_eq!(state.record.tally, tally(7));
    assert_eq!(state.record.spec.names.classes, tally(7).classes);
    assert_eq!(state.snapshot, None);
    assert_eq!(state.log, [b"first".to_vec(), b"second".to_vec()]);
}

pub(super) async fn session_snapshot_replaces_the_log(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert(&session(1), None).await.unwrap();
    let id = session(1).id;
    for (position, state) in [(1, b"one".as_slice()), (4, b"two")] {
        let before = append(1, position - 1, 1, b"logged");
        assert_eq!(appended(&store, before).await, AppendOutcome::Done);
        let mut snapshot = append(1, position, 2, b"");
        snapshot.entry = LogEntry::Snapshot(state.to_vec());
        let mut late = snapshot.clone();
        late.position -= 1;
        let elsewhere = AppendOutcome::Elsewhere { position };
        assert_eq!(appended(&store, late).await, elsewhere);
        assert_eq!(appended(&store, snapshot).await, AppendOutcome::Done);
        let stored = store.session_state(&owner(), id).await.unwrap().unwrap();
        assert_eq!(stored.record.position, position + 2);
        assert_eq!(stored.snapshot.as_deref(), Some(state));
        assert!(stored.log.is_empty());
    }
}

pub(super) async fn session_appends_of_many_sessions_are_one_write(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 1..=3 {
        store.insert(&session(number), None).await.unwrap();
    }
    let appends = [
        append(1, 0, 1, b"a"),
        append(2, 7, 1, b"b"),
        append(1, 1, 1, b"c"),
        append(9, 0, 1, b"d"),
        append(3, 0, 4, b"e"),
    ];
    let elsewhere = AppendOutcome::Elsewhere { position: 0 };
    let expected = [
        AppendOutcome::Done,
        elsewhere,
        AppendOutcome::Done,
        AppendOutcome::NotFound,
        AppendOutcome::Done,
    ];
    assert_eq!(
        store.append_examples(&owner(), &appends).await.unwrap(),
        expected
    );
    let mut positions = Vec::new();
    for number in 1..=3 {
        let record = store.find(&owner(), session(number).id).await.unwrap();
        positions.push(record.unwrap().position);
    }
    assert_eq!(positions, [2, 0, 4]);
}
