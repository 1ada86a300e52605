//! The record of one store: the log of its processes and the answers to its clients, sorted by job into operations of
//! the model.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::checker::Operation;
use super::holds::Hold;
use super::model::{Action, Digest, End, Interval, Kin, Lease};

/// Text before the fields of an event in a log line.
const TARGET: &str = " halfspace::history: ";

/// One event in the log of a process.
#[derive(Clone, Debug)]
pub struct Line {
    process: usize,
    stage: Stage,
    at_ns: u64,
    fields: HashMap<String, Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Call,
    Answer,
    Note,
}

impl Line {
    /// Parses the event in a log line of a process. Returns `None` for lines of other targets.
    pub fn parsed(process: usize, line: &str) -> Option<Self> {
        let (_, event) = line.split_once(TARGET)?;
        let mut words = event.split_whitespace();
        let stage = match words.next()? {
            "call" => Stage::Call,
            "answer" => Stage::Answer,
            "note" => Stage::Note,
            other => panic!("an unknown event {other}: {line}"),
        };
        let field = |word: &str| {
            let (name, value) = word.split_once('=')?;
            Some((name.to_owned(), Arc::from(value)))
        };
        let mut line = Self {
            process,
            stage,
            at_ns: 0,
            fields: words.filter_map(field).collect(),
        };
        line.at_ns = line.number("at")?;
        Some(line)
    }

    /// Whether this line answers `call` and the call changed no job.
    pub fn is_nothing_for(&self, call: &Self) -> bool {
        let number = |line: &Self| (line.process, line.number::<u64>("number"));
        let is_nothing = self.is("outcome", "none") || self.is("count", "0");
        is_nothing && number(self) == number(call)
    }

    fn text(&self, name: &str) -> Option<Arc<str>> {
        self.fields.get(name).cloned()
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.fields.get(name).is_some_and(|text| &**text == value)
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.fields.get(name)?.parse().ok()
    }

    fn digest(&self, name: &str) -> Option<Digest> {
        Digest::from_str_radix(self.fields.get(name)?, 16).ok()
    }

    fn lease(&self) -> Option<Lease> {
        Some(Lease {
            worker: self.text("worker")?,
            attempt: self.number("attempt")?,
            claim: self.number("claim")?,
        })
    }

    fn end(&self) -> Option<End> {
        Some(End {
            status: self.text("status")?,
            finished_at: self.text("finished_at")?,
            result: self.digest("result"),
        })
    }
}

/// The answers by process and number.
type Answers<'a> = HashMap<(usize, u64), &'a Line>;

/// The view of a job in an answer to a client.
#[derive(Clone, Debug)]
pub struct Sight {
    pub job: Arc<str>,
    /// The credential of the request. A job of another owner looks like no job.
    pub credential: String,
    pub action: Action,
    pub at: Interval,
}

/// The operations on each job, and the acts of its holders.
#[derive(Default)]
pub struct Jobs {
    pub operations: BTreeMap<Arc<str>, Vec<Operation>>,
    pub holds: BTreeMap<(Arc<str>, u32), Vec<Hold>>,
    parts: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Operations on all jobs at once.
    on_all: Vec<Operation>,
}

impl Jobs {
    /// Sorts a record by jobs.
    pub fn of(lines: &[Line], sights: &[Sight], lapses: &[Interval]) -> Self {
        let mut jobs = Self::default();
        for &at in lapses {
            let action = Action::Shorten(0);
            jobs.on_all.push(Operation { action, at });
        }
        let numbered = |stage| lines.iter().filter(move |line| line.stage == stage);
        let key = |line: &Line| (line.process, line.number::<u64>("number").unwrap());
        let answers: Answers<'_> = numbered(Stage::Answer)
            .map(|line| (key(line), line))
            .collect();
        for part in numbered(Stage::Call).filter(|call| call.fields.contains_key("parent")) {
            let parts = jobs.parts.entry(part.text("parent").unwrap()).or_default();
            parts.extend(part.text("job"));
        }
        let mut taken = BTreeSet::new();
        for call in numbered(Stage::Call) {
            let answer = answers.get(&key(call)).copied();
            // After an error the operation may or may not have taken effect, or may do so later.
            let answer = answer.filter(|answer| !answer.is("outcome", "error"));
            if call.is("operation", "claim") {
                taken
                    .extend(answer.and_then(|line| Some((line.text("job")?, line.lease()?.claim))));
            }
            jobs.add(call, answer);
        }
        for note in numbered(Stage::Note) {
            jobs.note(note, &taken);
        }
        jobs.release(lines, &answers);
        jobs.see(sights);
        jobs.spread();
        jobs
    }

    pub fn len(&self) -> usize {
        self.operations.values().map(Vec::len).sum()
    }

    fn push(&mut self, job: Arc<str>, action: Action, at: Interval) {
        let operations = self.operations.entry(job).or_default();
        operations.push(Operation { action, at });
    }

    fn add(&mut self, call: &Line, answer: Option<&Line>) {
        let at = Interval {
            call_ns: call.at_ns,
            answer_ns: answer.map(|answer| answer.at_ns),
        };
        let operation = call.text("operation").unwrap();
        if let Some(action) = on_all(&operation, call, answer) {
            self.on_all.push(Operation { action, at });
            return;
        }
        // Only the answer of a claim names the job.
        let Some(job) = call.text("job").or_else(|| answer?.text("job")) else {
            return;
        };
        if let Some(lease) = call.lease() {
            let is_written = answer.is_some_and(|answer| answer.is("outcome", "done"));
            let holds = self.holds.entry((Arc::clone(&job), lease.claim));
            holds
                .or_default()
                .extend(Hold::of(&operation, is_written, at));
        }
        let Some(action) = action(&operation, call, answer) else {
            return;
        };
        if let Action::Delete = action {
            for part in self.parts.get(&job).cloned().unwrap_or_default() {
                self.push(part, Action::DeleteWithParent, at);
            }
        }
        self.push(job, action, at);
    }

    fn note(&mut self, note: &Line, taken: &BTreeSet<(Arc<str>, u32)>) {
        let job = note.text("job").unwrap();
        let at = Interval {
            call_ns: note.at_ns,
            answer_ns: None,
        };
        let operation = note.text("operation").unwrap();
        if &*operation == "ended" {
            self.push(job, Action::EndByStore(note.end().unwrap()), at);
            return;
        }
        if &*operation == "released" {
            return;
        }
        let lease = note.lease().unwrap();
        if &*operation == "taken" {
            // The answer of the claim has more information than the note, if there is an answer.
            if !taken.contains(&(Arc::clone(&job), lease.claim)) {
                let seconds = note.number("seconds").unwrap();
                self.push(job, Action::Claim(lease, seconds), at);
            }
            return;
        }
        let hold = match &*operation {
            "park" => Hold::Parked(note.at_ns),
            "resume" => Hold::Resumed(note.at_ns),
            other => panic!("an unknown note {other}"),
        };
        self.holds.entry((job, lease.claim)).or_default().push(hold);
    }

    /// Adds the jobs that the store requeued because their processes were gone. Each takes effect between its
    /// note and the answer of the operation.
    fn release(&mut self, lines: &[Line], answers: &Answers<'_>) {
        let number = |line: &Line| (line.process, line.number::<u64>("number").unwrap());
        let calls: Vec<_> = lines
            .iter()
            .filter(|line| line.stage == Stage::Call)
            .filter_map(|call| Some((call, released(call)?)))
            .collect();
        let mut found = BTreeMap::new();
        for note in lines.iter().filter(|line| line.is("operation", "released")) {
            // A process runs one release at a time.
            let earlier = calls
                .iter()
                .filter(|(call, _)| call.process == note.process && call.at_ns <= note.at_ns);
            let Some((call, action)) = earlier.max_by_key(|(call, _)| call.at_ns) else {
                continue;
            };
            let answer = answers.get(&number(call)).copied();
            if answer.is_some_and(|answer| answer.at_ns < note.at_ns) {
                // The transaction of the note was rolled back, so the operation released nothing.
                continue;
            }
            let answer = answer.filter(|answer| !answer.is("outcome", "error"));
            let at = Interval {
                call_ns: note.at_ns,
                answer_ns: answer.map(|answer| answer.at_ns),
            };
            let (job, claim) = (note.text("job").unwrap(), note.number("claim").unwrap());
            // An operation may be retried, and its last note counts.
            let last = found
                .entry((number(call), job, claim))
                .or_insert((action(claim), at));
            last.1.call_ns = last.1.call_ns.max(note.at_ns);
        }
        for ((_, job, _), (action, at)) in found {
            self.push(job, action, at);
        }
    }

    /// Adds the views of clients. A missing job counts only if the same client has seen the job.
    fn see(&mut self, sights: &[Sight]) {
        let mut known = BTreeSet::new();
        for sight in sights {
            if sight.action != Action::SeenNowhere {
                known.insert((&sight.job, &sight.credential));
            }
        }
        for sight in sights {
            if known.contains(&(&sight.job, &sight.credential)) {
                self.push(Arc::clone(&sight.job), sight.action.clone(), sight.at);
            }
        }
    }

    fn spread(&mut self) {
        for operations in self.operations.values_mut() {
            operations.extend(self.on_all.iter().cloned());
        }
    }
}

/// The action of an operation that names no job, or `None` if the operation changed no job.
fn on_all(operation: &str, call: &Line, answer: Option<&Line>) -> Option<Action> {
    if answer.is_some_and(|answer| answer.is("count", "0")) {
        return None;
    }
    match operation {
        "sweep" => Some(Action::Sweep),
        "shorten-leases" => Some(Action::Shorten(call.number("seconds")?)),
        _ => None,
    }
}

/// Maps an operation that requeues jobs to its action on one job, by the number of the claim.
fn released(call: &Line) -> Option<fn(u32) -> Action> {
    match &*call.text("operation")? {
        "release-expired" => Some(Action::Expire),
        "release-all" => Some(Action::Release),
        _ => None,
    }
}

/// The action on one job, or `None` if the answer says nothing about the job.
fn action(operation: &str, call: &Line, answer: Option<&Line>) -> Option<Action> {
    let outcome = answer.and_then(|answer| answer.text("outcome"));
    let outcome = outcome.as_deref();
    let lease = || call.lease();
    if outcome == Some("lost") {
        return Some(Action::Lost(lease()?));
    }
    Some(match (operation, outcome) {
        ("insert", _) => inserted(call)?,
        ("claim", Some("done")) => Action::Claim(answer?.lease()?, call.number("seconds")?),
        ("heartbeat", Some("done")) => {
            let told = answer?.is("cancel_requested", "true");
            Action::Heartbeat(lease()?, call.number("seconds")?, told)
        }
        ("save", _) => Action::Save(lease()?, call.digest("state")?),
        ("checkpoint", Some("done")) => Action::ReadCheckpoint(answer?.digest("state")),
        ("finish", _) => Action::Finish(lease()?, call.end()?),
        ("requeue", _) => Action::Requeue(lease()?),
        ("preempt", _) => Action::Preempt(lease()?, call.digest("state")?),
        // If the store ended a queued job, a separate note says so.
        ("cancel", None | Some("requested")) => Action::RequestCancel,
        ("cancel", Some("cancelled")) => Action::CancelQueued(answer?.end()?),
        ("cancel", Some("already-requested")) => Action::CancelRequestedBefore,
        ("cancel", Some("ended")) => Action::CancelAfter(answer?.end()?),
        ("delete", None | Some("done")) => Action::Delete,
        ("delete", Some("not-ended")) => Action::DeleteBeforeEnd,
        // Without an answer these operations prove nothing.
        ("claim" | "heartbeat" | "checkpoint", None) => return None,
        // The job may belong to another owner.
        ("cancel" | "delete", Some("not-found" | "part")) | ("claim", Some("none")) => return None,
        other => panic!("an unknown operation {other:?}"),
    })
}

fn inserted(call: &Line) -> Option<Action> {
    let kin = match (call.text("parent"), call.text("parts")) {
        (Some(_), _) => Kin::Part,
        (None, Some(_)) => Kin::Parent,
        (None, None) => Kin::Single,
    };
    Some(match &*call.text("status")? {
        "queued" => Action::Insert(kin),
        "running" => {
            let lease = Lease {
                worker: call.text("worker")?,
                attempt: 1,
                claim: 1,
            };
            Action::InsertHeld(lease, call.number("seconds")?)
        }
        _ => Action::InsertEnded(call.end()?),
    })
}
