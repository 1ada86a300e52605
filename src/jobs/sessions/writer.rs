//! Writes to a session: a request locks it, learns in memory, appends to the store and answers.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use halfspace_core::learners::engine::input::TaskError;
use halfspace_core::learners::engine::run::Run;
use halfspace_core::learners::engine::session::{Answered, LearnError};
use halfspace_core::learners::sample::data::{Data, Features};
use halfspace_formats::{CLASSES_MAX, Classes, Parsed, digest, occurring};
use tokio::sync::OwnedMutexGuard;

use crate::records::names::{NAMES_BYTES_MAX, is_short};
use crate::records::session::{
    LogEntry, SentDigest, SessionAppend, SessionTally, check_entries, check_names,
};
use crate::records::{Names, Owner, SessionId};
use crate::storage::AppendOutcome;

use super::Sessions;
use super::error::SessionError;
use super::live::{Live, as_values};
use super::slots::Slot;

/// How long a request waits for the write lock.
const SESSION_LOCK_TIMEOUT: Duration = Duration::from_secs(35);

/// Attempts of a request without a position when other processes write too.
const TRIES_MAX: u32 = 16;

#[derive(Debug)]
pub struct Learnt {
    /// The session's position before the examples.
    pub position: u64,
    /// The answer for each learnt example.
    pub answers: Vec<Answered>,
    /// The reason why the remaining examples were not learnt.
    pub rest: Option<SessionError>,
    /// The names of the classes of the session, in the order of their codes.
    pub classes: Option<Vec<String>>,
}

impl Learnt {
    /// The session's position after the learnt examples.
    pub fn stands(&self) -> u64 {
        self.position + self.answers.len() as u64
    }
}

/// What becomes of a request if the session cannot learn all of its examples, because it ends before the last one or
/// because an example does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenNotAll {
    /// No example is learnt.
    LearnNone,
    /// The examples before the first that cannot be learnt are learnt.
    LearnFirst,
}

pub struct SessionWriter {
    sessions: Arc<Sessions>,
    owner: Owner,
    id: SessionId,
    slot: Arc<Slot>,
    /// Whether the request has learnt before: its examples are then the next step of a stream.
    has_learnt: bool,
    _lock: OwnedMutexGuard<()>,
}

impl Sessions {
    /// Waits for the write lock on the owner's session, behind all earlier requests.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], [`SessionError::Busy`] after a timeout, or errors of the store.
    pub async fn write(
        self: &Arc<Self>,
        owner: &Owner,
        id: SessionId,
    ) -> Result<SessionWriter, SessionError> {
        self.find(owner, id).await?;
        let slot = self.slots.slot(id);
        let lock = Arc::clone(&slot.lock).lock_owned();
        let lock = tokio::time::timeout(SESSION_LOCK_TIMEOUT, lock).await;
        Ok(SessionWriter {
            sessions: Arc::clone(self),
            owner: owner.clone(),
            id,
            slot,
            has_learnt: false,
            _lock: lock.map_err(|_| SessionError::Busy)?,
        })
    }
}

impl SessionWriter {
    /// Checks that the session can learn and, if `position` is given, that it stands there. Returns its position.
    ///
    /// # Errors
    /// [`SessionError::Elsewhere`], [`SessionError::Ended`], or errors of the store.
    pub async fn check(&self, position: Option<u64>) -> Result<u64, SessionError> {
        let place = self
            .sessions
            .fresh(&self.slot, &self.owner, self.id)
            .await?;
        let live = place.as_ref().ok_or(SessionError::Broken)?;
        can_learn(live, position)?;
        Ok(live.position())
    }

    /// Learns from examples, which are on disk when this returns.
    ///
    /// The first examples name the classes of the session if they are labelled, and later ones get their labels by
    /// these names. If `position` is given, the session must stand there; otherwise it learns from wherever it
    /// stands.
    ///
    /// # Errors
    /// After an error no example was learnt, except perhaps after `StoreError::Unavailable`.
    pub async fn learn(
        &mut self,
        parsed: Parsed,
        position: Option<u64>,
        when_not_all: WhenNotAll,
    ) -> Result<Learnt, SessionError> {
        let mut place = self
            .sessions
            .fresh(&self.slot, &self.owner, self.id)
            .await?;
        let parsed = Arc::new(parsed);
        for _ in 0..TRIES_MAX {
            let live = place.as_ref().ok_or(SessionError::Broken)?;
            can_learn(live, position)?;
            match self.learn_once(&mut place, &parsed, when_not_all).await? {
                Ok(learnt) => {
                    self.has_learnt = true;
                    let snapshot = self.due_snapshot(&mut place).await;
                    // Others look at the session while the snapshot is written.
                    drop(place);
                    if let Some(snapshot) = snapshot {
                        self.keep(snapshot).await;
                    }
                    return Ok(learnt);
                }
                // The position comes from the stored session, whose digest is compared.
                Err(_) => {
                    drop(place);
                    place = self
                        .sessions
                        .fresh(&self.slot, &self.owner, self.id)
                        .await?;
                }
            }
        }
        Err(SessionError::Busy)
    }

    /// The snapshot that replaces the log of the stored session, if one is due.
    async fn due_snapshot(&self, place: &mut Option<Live>) -> Option<SessionAppend> {
        let mut live = place.take_if(|live| live.is_snapshot_due())?;
        let memory = live.memory.clone();
        let computing = &self.sessions.computing;
        let written = computing.compute(&memory, move |memory, _| {
            let snapshot = memory.within(|| live.snapshot());
            (live, snapshot)
        });
        // Without memory the session leaves, and its log is learnt again at the next use.
        let (live, snapshot) = written.await.ok()?;
        let (position, tally) = (live.position(), live.record.tally.clone());
        *place = Some(live);
        Some(SessionAppend {
            id: self.id,
            position,
            tally,
            entry: LogEntry::Snapshot(snapshot),
        })
    }

    /// Stores a snapshot of the stored state. If this fails, the log stays, which has the same examples.
    async fn keep(&self, snapshot: SessionAppend) {
        let owner = self.owner.clone();
        if let Err(error) = self.sessions.journal.append(owner, snapshot).await {
            tracing::warn!(%error, session = %self.id, "a snapshot was not stored");
        }
    }

    /// Learns in memory and then appends to the store. Fails with [`Elsewhere`] if another process has appended
    /// first.
    async fn learn_once(
        &self,
        place: &mut Option<Live>,
        parsed: &Arc<Parsed>,
        when_not_all: WhenNotAll,
    ) -> Result<Result<Learnt, Elsewhere>, SessionError> {
        // The session is out of its slot until the append is stored, so that no error leaves an unstored state
        // in memory.
        let mut live = place.take().ok_or(SessionError::Broken)?;
        let (position, parsed) = (live.position(), Arc::clone(parsed));
        let memory = live.memory.clone();
        let is_digested = !self.has_learnt;
        let computed = self
            .sessions
            .computing
            .compute(&memory, move |memory, run| {
                let learnt = memory.resettled(|| {
                    learn_in_memory(&mut live, &parsed, when_not_all, is_digested, run)
                });
                (live, learnt)
            });
        let (mut live, learnt) = computed.await?;
        let (learnt, entry) = match learnt {
            Ok(learnt) => learnt,
            Err(NotLearnt::Unfit(error)) => {
                *place = Some(live);
                return Err(error.into());
            }
            Err(NotLearnt::EndsWithin { last }) => return Err(SessionError::EndsWithin { last }),
            Err(NotLearnt::Interrupted) => return Err(self.sessions.computing.interrupted()),
        };
        let tally = SessionTally {
            position: learnt.stands(),
            mistakes: live.session.counts().mistakes,
            terminated: live.session.end().is_some(),
            written_at: Some(self.sessions.ids.now()),
            classes: live.record.spec.names.classes.clone(),
            names: live
                .record
                .spec
                .names
                .is_open()
                .then_some(live.record.spec.n),
        };
        let append = SessionAppend {
            id: self.id,
            position,
            tally: tally.clone(),
            entry: LogEntry::Examples(entry),
        };
        let (owner, journal) = (self.owner.clone(), &self.sessions.journal);
        match journal.append(owner, append).await? {
            AppendOutcome::Done => {
                live.record.position = live.position();
                live.record.tally = tally;
                *place = Some(live).filter(|live| !live.must_be_restored());
                Ok(Ok(learnt))
            }
            AppendOutcome::Elsewhere { .. } => Ok(Err(Elsewhere)),
            AppendOutcome::NotFound => Err(SessionError::NotFound),
            AppendOutcome::OverQuota(over) => Err(SessionError::OverQuota(over)),
        }
    }
}

/// The examples with the labels that the session gives them, and the classes of the session. The first labelled
/// examples name its classes; if the classes are open, each new label is one more.
fn named<'a>(
    live: &Live,
    parsed: &'a Parsed,
) -> Result<(Cow<'a, Data>, Option<Classes>), TaskError> {
    let occurs = occurring(&parsed.data);
    // The reader may know classes of later examples.
    let known = occurs.iter().rposition(|occurs| *occurs);
    let given = match (known, live.record.spec.open) {
        (Some(last), true) => parsed.classes.clone().map(|all| all.first(last + 1)),
        _ => parsed.classes.clone(),
    };
    let given = Names::of_classes(given);
    let own = &live.record.spec.names;
    own.check_features(&Names::of(parsed))
        .map_err(TaskError::WrongData)?;
    let joined = match &given.classes {
        Some(given) if live.record.spec.open => {
            Some(joined(own.classes.as_ref(), given, live.record.spec.n)?)
        }
        None if live.record.spec.open => {
            let detail = "the session learns the names of classes, so each example needs one, as in `\"y\": \"spam\"`";
            return Err(TaskError::WrongData(detail.to_owned()));
        }
        _ => None,
    };
    let joined = joined.map(|classes| Names::of_classes(Some(classes)));
    let names = match (&joined, live.record.is_unnamed()) {
        (Some(joined), _) => joined,
        (None, true) => &given,
        (None, false) => own,
    };
    if !live.record.spec.open && names.class_count() > 2 && own.class_count() == 2 {
        let detail = format!(
            "the examples have {} classes, but the session was opened for two; open one with `classes`, which is a \
             list or `open`, or name one class with `positive`",
            names.class_count()
        );
        return Err(TaskError::WrongData(detail));
    }
    let codes = names.recoding(&given, &occurs);
    let codes = codes.map_err(TaskError::WrongData)?;
    let data = match codes.is_identity() {
        true => Cow::Borrowed(&parsed.data),
        false => Cow::Owned(codes.of(parsed.data.clone())),
    };
    Ok((data, names.classes.clone()))
}

/// The classes of a session, if it knows any, and the new ones of some examples.
fn joined(own: Option<&Classes>, given: &Classes, n: u64) -> Result<Classes, TaskError> {
    let all = own.map_or_else(|| given.clone(), |own| own.clone().joined_by(given));
    let (known, count) = (own.map_or(0, Classes::count), all.count());
    if count > CLASSES_MAX {
        let detail = format!(
            "the labels have {count} values, more than classes_max: {CLASSES_MAX}; send fewer classes"
        );
        return Err(TaskError::WrongData(detail));
    }
    if count > known {
        check_entries(count, n).map_err(TaskError::WrongData)?;
    }
    if !is_short(all.each().flatten()) {
        let detail =
            format!("the names of the classes take more than {NAMES_BYTES_MAX} bytes in total");
        return Err(TaskError::WrongData(detail));
    }
    Ok(all)
}

/// The examples with the ids of the names of the session, and the new names by their ids in the request. None without
/// an open vocabulary. `classes` are those with which the session learns the examples.
fn numbered(
    live: &Live,
    parsed: &Parsed,
    data: &Data,
    classes: Option<&Classes>,
) -> Result<Option<(Data, Vec<u32>)>, NotLearnt> {
    let own = live.record.spec.names.vocabulary();
    let (Some(own), Some(given), Features::Sparse(rows)) =
        (own, &parsed.vocabulary, data.features())
    else {
        return Ok(None);
    };
    let (renumbering, new) = own.joined_by(given, rows);
    let names = (own.len() + new.len()) as u64;
    let fits =
        check_names(names).and_then(|()| check_entries(classes.map_or(2, Classes::count), names));
    fits.map_err(|detail| NotLearnt::Unfit(TaskError::WrongData(detail)))?;
    let data = renumbering.of(data).map_err(|_| NotLearnt::Interrupted)?;
    Ok(Some((data, new)))
}

/// The stored session stands at another position.
struct Elsewhere;

/// The reason why no example was learnt in memory. Only an unfit example leaves the session unchanged.
enum NotLearnt {
    Unfit(TaskError),
    EndsWithin { last: usize },
    Interrupted,
}

/// Some examples as the session learns them.
struct Fitted<'p> {
    /// With the labels of the session, and with its ids if features have names.
    named: Cow<'p, Data>,
    numbered: Option<(Data, Vec<u32>)>,
    classes: Option<Classes>,
}

fn fitted<'p>(live: &Live, parsed: &'p Parsed) -> Result<Fitted<'p>, NotLearnt> {
    let (named, classes) = named(live, parsed).map_err(NotLearnt::Unfit)?;
    Ok(Fitted {
        numbered: numbered(live, parsed, &named, classes.as_ref())?,
        named,
        classes,
    })
}

/// The most first examples that fit, where all of them do not, and why the next one does not.
fn fitting(
    live: &Live,
    parsed: &Parsed,
    error: TaskError,
) -> Result<(Parsed, TaskError), NotLearnt> {
    let (mut fit, mut unfit, mut error) = (0, parsed.data.examples(), error);
    while unfit - fit > 1 {
        let middle = fit.midpoint(unfit);
        match fitted(live, &parsed.rows(0..middle)) {
            Ok(_) => fit = middle,
            Err(NotLearnt::Unfit(found)) => (unfit, error) = (middle, found),
            Err(other) => return Err(other),
        }
    }
    match fit {
        0 => Err(NotLearnt::Unfit(error)),
        _ => Ok((parsed.rows(0..fit), error)),
    }
}

/// Learns in memory. Returns the result and the log entry for the store.
fn learn_in_memory(
    live: &mut Live,
    parsed: &Parsed,
    when_not_all: WhenNotAll,
    is_digested: bool,
    run: &Run,
) -> Result<(Learnt, Vec<u8>), NotLearnt> {
    let position = live.position();
    let is_first = when_not_all == WhenNotAll::LearnFirst;
    let Fitted {
        named,
        numbered,
        classes,
    } = match fitted(live, parsed) {
        Err(NotLearnt::Unfit(error)) if is_first => {
            let (first, error) = fitting(live, parsed, error)?;
            // Nobody sends the first examples alone again, so they have no digest.
            let (mut learnt, entry) = learn_in_memory(live, &first, when_not_all, false, run)?;
            let (position, end) = (live.position(), live.session.end().cloned());
            learnt.rest.get_or_insert_with(|| match end {
                Some(end) => SessionError::Ended { position, end },
                None => error.into(),
            });
            return Ok((learnt, entry));
        }
        fitted => fitted?,
    };
    let (data, new) = match &numbered {
        Some((data, new)) => (data, new.as_slice()),
        None => (&*named, &[][..]),
    };
    let data = as_values(data, parsed.zero_bit_value, live.record.spec.values);
    let data = &*data.map_err(|_| NotLearnt::Interrupted)?;
    let (answers, mut rest) = match live.session.learn(data, run) {
        Ok(answers) => (answers, None),
        Err(LearnError::Unfit { example, error }) if is_first && example > 0 => {
            let learnt = live.session.learn(&data.rows(0..example), run);
            let answers = learnt.map_err(|_| NotLearnt::Interrupted)?;
            (answers, Some(error.into()))
        }
        Err(LearnError::Unfit { error, .. }) => return Err(NotLearnt::Unfit(error)),
        Err(LearnError::Interrupted) => return Err(NotLearnt::Interrupted),
    };
    let last = answers.len();
    if last < data.examples()
        && let Some(end) = live.session.end().cloned()
    {
        if !is_first {
            return Err(NotLearnt::EndsWithin { last });
        }
        let position = live.position();
        rest = Some(SessionError::Ended { position, end });
    }
    // A data set of one example is not worth 32 bytes. The steps of a stream are parts of data, at bounds that the
    // network gives, so their digests would recognise nothing.
    let sent = match is_digested && data.examples() > 1 {
        true => Some(sent_digest(&named, classes.as_ref(), parsed)?),
        false => None,
    };
    let learnt_codes = occurring(&data.rows(0..last));
    join_classes(live, classes, &learnt_codes);
    let first_new = join_names(live, parsed, new);
    let entry = live.log_entry(data, last, sent, first_new);
    let learnt = Learnt {
        position,
        answers,
        rest,
        classes: live.record.class_names(),
    };
    Ok((learnt, entry))
}

/// The digest of the examples, whatever the order of their names.
fn sent_digest(
    named: &Data,
    classes: Option<&Classes>,
    parsed: &Parsed,
) -> Result<SentDigest, NotLearnt> {
    let Some(names) = &parsed.vocabulary else {
        return Ok(digest(named, classes, None, None));
    };
    let (sorted, places) = names.sorted();
    let data = places.of(named).map_err(|_| NotLearnt::Interrupted)?;
    Ok(digest(&data, classes, Some(&sorted), None))
}

/// Lets the classes of the learnt examples join, of which `occurs` tells the codes, but not those of other examples.
fn join_classes(live: &mut Live, classes: Option<Classes>, occurs: &[bool]) {
    let spec = &mut live.record.spec;
    if !spec.open {
        spec.names.classes = classes;
        return;
    }
    let known = occurs.iter().rposition(|occurs| *occurs);
    let known = known.map_or(0, |code| code + 1);
    let before = spec.names.classes.as_ref().map_or(0, Classes::count);
    let count = known.max(before);
    let joined = classes.filter(|_| count > 0);
    spec.names.classes = joined.map(|classes| classes.first(count));
}

/// Lets the names of the learnt examples join an open vocabulary, but not those of other examples. `new` are the new
/// ones of all examples, in the order of their ids. Returns the first of these ids.
fn join_names(live: &mut Live, parsed: &Parsed, new: &[u32]) -> usize {
    let (n, spec) = (live.session.n(), &mut live.record.spec);
    let (Some(own), Some(given)) = (spec.names.vocabulary_mut(), &parsed.vocabulary) else {
        return 0;
    };
    let first = own.len();
    own.join(given, &new[..n - first]);
    spec.n = n as u64;
    first
}

/// Checks that a session can learn, and stands at `position` if a position is given.
fn can_learn(live: &Live, position: Option<u64>) -> Result<(), SessionError> {
    let stands = live.position();
    if position.is_some_and(|position| position != stands) {
        return Err(SessionError::Elsewhere { position: stands });
    }
    if let Some(end) = live.session.end().cloned() {
        let position = stands;
        return Err(SessionError::Ended { position, end });
    }
    Ok(())
}
