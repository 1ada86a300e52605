//! Tests of the checker of histories, on hand-written and random ones. It must notice a rule that is broken a single
//! time, and accept every history that a correct store can produce.

use halfspace_core::learners::engine::random::Generator;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

use crate::scale::{Scale, report};
use crate::service::history::checker::{Operation, check};
use crate::service::history::holds::{self, Hold};
use crate::service::history::model::{Action, Digest, End, Interval, Kin, Lease, State};

const MILLISECOND: u64 = 1_000_000;

/// Length of every lease here, in seconds.
const SECONDS: u32 = 2;

fn lease(claim: u32) -> Lease {
    Lease {
        worker: format!("worker-{}", claim % 3).into(),
        attempt: claim,
        claim,
    }
}

fn end(status: &str) -> End {
    End {
        status: status.into(),
        finished_at: "2026-01-01T00:00:00.000Z".into(),
        result: (status == "succeeded").then_some(7),
    }
}

/// An operation with its call and its answer in milliseconds.
fn from_to(call: u64, answer: u64, action: Action) -> Operation {
    let at = Interval {
        call_ns: call * MILLISECOND,
        answer_ns: Some(answer * MILLISECOND),
    };
    Operation { action, at }
}

/// An operation that was called at this millisecond and never answered.
fn unanswered(call: u64, action: Action) -> Operation {
    let at = Interval {
        call_ns: call * MILLISECOND,
        answer_ns: None,
    };
    Operation { action, at }
}

/// Operations one after the other, each within a millisecond.
fn in_order(actions: &[Action]) -> Vec<Operation> {
    let timed = actions.iter().zip(0..);
    timed
        .map(|(action, at)| from_to(2 * at, 2 * at + 1, action.clone()))
        .collect()
}

fn begun() -> Vec<Action> {
    vec![
        Action::Insert(Kin::Single),
        Action::Claim(lease(1), SECONDS),
    ]
}

#[track_caller]
fn passes(history: &[Operation]) {
    check(history).unwrap_or_else(|violation| panic!("{violation}"));
}

/// Asserts that the last operation is the one without an explanation.
#[track_caller]
fn breaks_at_its_end(history: &[Operation]) {
    let violation = check(history).expect_err("a violation");
    assert_eq!(violation.operation, history.len() - 1, "{violation}");
}

#[test]
fn history_checker_finds_each_broken_rule() {
    let ended = |then: Action| {
        [
            begun(),
            vec![Action::Finish(lease(1), end("succeeded")), then],
        ]
    };
    let queued = |then: Action| [vec![Action::Insert(Kin::Single)], vec![then]];
    let held = |then: Action| [begun(), vec![then]];
    let broken = [
        // A lease has one holder at a time.
        held(Action::Claim(lease(2), SECONDS)),
        held(Action::Heartbeat(lease(2), SECONDS, false)),
        held(Action::Save(lease(2), 1)),
        held(Action::Finish(lease(2), end("succeeded"))),
        held(Action::Requeue(lease(2))),
        held(Action::Preempt(lease(2), 1)),
        held(Action::Lost(lease(1))),
        held(Action::Expire(1)),
        held(Action::Release(2)),
        queued(Action::Release(1)),
        queued(Action::Claim(lease(2), SECONDS)),
        queued(Action::Heartbeat(lease(1), SECONDS, false)),
        // A job has at most one end.
        ended(Action::Finish(lease(1), end("succeeded"))),
        ended(Action::SeenEnded(end("cancelled"))),
        ended(Action::SeenRunning),
        ended(Action::Claim(lease(2), SECONDS)),
        ended(Action::Heartbeat(lease(1), SECONDS, false)),
        ended(Action::Requeue(lease(1))),
        // No acknowledged answer is lost.
        queued(Action::SeenNowhere),
        queued(Action::SeenEnded(end("failed"))),
        held(Action::SeenQueued),
        ended(Action::SeenNowhere),
        held(Action::ReadCheckpoint(Some(1))),
        held(Action::Delete),
        held(Action::Heartbeat(lease(1), SECONDS, true)),
        // No cancellation and no preemption follows an end.
        ended(Action::RequestCancel),
        ended(Action::CancelQueued(end("cancelled"))),
        ended(Action::CancelRequestedBefore),
        ended(Action::Preempt(lease(1), 1)),
        ended(Action::Expire(1)),
        ended(Action::Release(1)),
    ];
    for history in broken {
        breaks_at_its_end(&in_order(&history.concat()));
    }
}

#[test]
fn history_reads_a_saved_checkpoint_in_the_next_lease() {
    let mut actions = begun();
    actions.extend([
        Action::Save(lease(1), 5),
        Action::Preempt(lease(1), 6),
        Action::Claim(lease(2), SECONDS),
    ]);
    let read = |state: Option<Digest>| {
        let mut history = actions.clone();
        history.push(Action::ReadCheckpoint(state));
        in_order(&history)
    };
    passes(&read(Some(6)));
    breaks_at_its_end(&read(Some(5)));
    breaks_at_its_end(&read(None));
}

#[test]
fn history_reports_an_answered_cancel_to_the_holder() {
    let mut actions = begun();
    actions.extend([
        Action::RequestCancel,
        Action::CancelRequestedBefore,
        Action::Heartbeat(lease(1), SECONDS, true),
    ]);
    passes(&in_order(&actions));
    let mut untold = actions.clone();
    untold.push(Action::Heartbeat(lease(1), SECONDS, false));
    breaks_at_its_end(&in_order(&untold));
    let mut requeued = actions.clone();
    requeued.extend([Action::Requeue(lease(1)), Action::Claim(lease(2), SECONDS)]);
    breaks_at_its_end(&in_order(&requeued));
}

#[test]
fn history_cancels_a_job_with_state_only_by_a_worker() {
    let learnt = [begun(), vec![Action::Preempt(lease(1), 5)]].concat();
    let mut asked = learnt.clone();
    asked.extend([
        Action::RequestCancel,
        Action::CancelRequestedBefore,
        Action::SeenQueued,
        Action::Claim(lease(2), SECONDS),
        Action::Heartbeat(lease(2), SECONDS, true),
        Action::Finish(lease(2), end("cancelled")),
    ]);
    passes(&in_order(&asked));
    let mut dropped = learnt;
    dropped.push(Action::CancelQueued(end("cancelled")));
    breaks_at_its_end(&in_order(&dropped));
    let nothing = [begun(), vec![Action::Requeue(lease(1))]].concat();
    breaks_at_its_end(&in_order(&[nothing, vec![Action::RequestCancel]].concat()));
}

#[test]
fn history_releases_a_job_no_sooner_than_its_lease_expires() {
    let history = |released_at: u64, heartbeat: Option<u64>| {
        let mut history = vec![
            from_to(0, 1, Action::Insert(Kin::Single)),
            from_to(2, 3, Action::Claim(lease(1), SECONDS)),
        ];
        history.extend(
            heartbeat.map(|at| from_to(at, at + 1, Action::Heartbeat(lease(1), SECONDS, false))),
        );
        history.push(from_to(released_at - 1, released_at, Action::Expire(1)));
        history
    };
    breaks_at_its_end(&history(1_900, None));
    passes(&history(2_002, None));
    breaks_at_its_end(&history(2_002, Some(500)));
    passes(&history(2_500, Some(500)));
    // A heartbeat without an answer may or may not have renewed the lease.
    let mut silent = history(2_002, None);
    silent.push(unanswered(500, Action::Heartbeat(lease(1), SECONDS, false)));
    passes(&silent);
    // Only a released job can be claimed, and its earlier holder can write no more.
    let then =
        |action: Action| [history(2_002, None), vec![from_to(2_003, 2_004, action)]].concat();
    passes(&then(Action::Claim(lease(2), SECONDS)));
    passes(&then(Action::Lost(lease(1))));
    breaks_at_its_end(&then(Action::Save(lease(1), 1)));
    breaks_at_its_end(&then(Action::Heartbeat(lease(1), SECONDS, false)));
    let late = from_to(9_000, 9_001, Action::Claim(lease(2), SECONDS));
    breaks_at_its_end(&[in_order(&begun()), vec![late]].concat());
}

#[test]
fn history_allows_an_unanswered_operation_either_effect() {
    let ends = [
        vec![from_to(9, 10, Action::SeenRunning)],
        vec![from_to(9, 10, Action::SeenEnded(end("succeeded")))],
        vec![
            from_to(9, 10, Action::SeenRunning),
            from_to(11, 12, Action::SeenEnded(end("succeeded"))),
        ],
        vec![from_to(9, 10, Action::Lost(lease(1)))],
    ];
    let mut history = in_order(&begun());
    history.push(unanswered(5, Action::Finish(lease(1), end("succeeded"))));
    for seen in ends {
        passes(&[history.clone(), seen].concat());
    }
    // The operation took effect at most once.
    let seen = [
        from_to(9, 10, Action::SeenEnded(end("succeeded"))),
        from_to(11, 12, Action::SeenRunning),
    ];
    breaks_at_its_end(&[&history[..], &seen].concat());
    let insert = [
        unanswered(0, Action::Insert(Kin::Single)),
        from_to(1, 2, Action::SeenNowhere),
        from_to(3, 4, Action::SeenQueued),
    ];
    passes(&insert);
    let claim = [
        from_to(0, 1, Action::Insert(Kin::Single)),
        unanswered(2, Action::Claim(lease(1), SECONDS)),
        from_to(2_049, 2_050, Action::Expire(1)),
        from_to(2_051, 2_052, Action::Claim(lease(2), SECONDS)),
    ];
    passes(&claim);
}

#[test]
fn history_allows_overlapping_operations_in_either_order() {
    let race = |cancel: Action| {
        let mut history = in_order(&begun());
        history.push(from_to(4, 9, Action::Finish(lease(1), end("succeeded"))));
        history.push(from_to(4, 9, cancel));
        history
    };
    passes(&race(Action::RequestCancel));
    passes(&race(Action::CancelAfter(end("succeeded"))));
    breaks_at_its_end(&race(Action::CancelAfter(end("failed"))));
}

#[test]
fn history_allows_a_sole_process_to_release_live_leases() {
    let mut history = in_order(&begun());
    let claim = from_to(9, 10, Action::Claim(lease(2), SECONDS));
    breaks_at_its_end(&[&history[..], std::slice::from_ref(&claim)].concat());
    history.push(from_to(6, 7, Action::Release(1)));
    history.push(claim);
    passes(&history);
    // A transaction without an answer may or may not have released the job.
    let perhaps = |then: Action| {
        let mut history = in_order(&begun());
        history.extend([
            unanswered(6, Action::Release(1)),
            from_to(8, 9, then.clone()),
        ]);
        history
    };
    passes(&perhaps(Action::Claim(lease(2), SECONDS)));
    passes(&perhaps(Action::Save(lease(1), 1)));
}

#[test]
fn history_ends_a_job_by_the_store_in_its_interval_only() {
    let poisoned = Action::EndByStore(end("failed"));
    let seen = from_to(4, 5, Action::SeenEnded(end("failed")));
    let inserted = in_order(&begun()[..1]);
    passes(
        &[
            &inserted[..],
            &[unanswered(2, poisoned.clone()), seen.clone()],
        ]
        .concat(),
    );
    breaks_at_its_end(&[&inserted[..], &[unanswered(6, poisoned), seen]].concat());
}

#[test]
fn history_holder_continues_until_it_ends_or_requeues_the_job() {
    use Hold::{Asks, Over, Parked, Resumed};
    for honest in [
        vec![
            Parked(1),
            Resumed(2),
            Parked(3),
            Resumed(4),
            Asks(5),
            Over(6),
        ],
        vec![Parked(1), Asks(2), Over(3)],
        // A request that was not written leaves the job in place.
        vec![Parked(1), Asks(2), Resumed(3), Asks(4), Over(5)],
        vec![Asks(1), Over(2)],
    ] {
        holds::check(&honest).unwrap();
    }
    for broken in [
        vec![Parked(1), Parked(2)],
        vec![Resumed(1)],
        vec![Parked(1), Asks(2), Over(3), Resumed(4)],
        vec![Parked(1), Asks(2), Over(3), Asks(4)],
        vec![Asks(1), Over(2), Parked(3)],
    ] {
        holds::check(&broken).unwrap_err();
    }
}

/// Possible next operations on a job with this many claims.
fn actions(claims: u32) -> Vec<Action> {
    let holders = [claims.saturating_sub(1), claims].map(lease);
    let own = holders.into_iter().flat_map(|holder| {
        [
            Action::Heartbeat(holder.clone(), SECONDS, false),
            Action::Heartbeat(holder.clone(), SECONDS, true),
            Action::Save(holder.clone(), claims.into()),
            Action::Finish(holder.clone(), end("succeeded")),
            Action::Requeue(holder.clone()),
            Action::Preempt(holder.clone(), u64::from(claims) + 1_000),
            Action::Expire(holder.claim),
            Action::Release(holder.claim),
            Action::Lost(holder),
        ]
    });
    let others = [
        Action::Insert(Kin::Single),
        Action::Claim(lease(claims + 1), SECONDS),
        Action::ReadCheckpoint(None),
        Action::ReadCheckpoint(Some(claims.into())),
        Action::CancelQueued(end("cancelled")),
        Action::RequestCancel,
        Action::CancelRequestedBefore,
        Action::CancelAfter(end("succeeded")),
        Action::Delete,
        Action::DeleteBeforeEnd,
        Action::EndByStore(end("failed")),
        Action::SeenQueued,
        Action::SeenRunning,
        Action::SeenEnded(end("succeeded")),
        Action::SeenEnded(end("cancelled")),
        Action::SeenNowhere,
    ];
    own.chain(others).collect()
}

/// A history that the model itself produced. Each operation took effect at its own moment, a millisecond after
/// the previous one, and its call and answer surround that moment.
struct Walk {
    history: Vec<Operation>,
    /// The state and the number of claims before each operation.
    before: Vec<(State, u32)>,
}

/// Half the time between the effects of two operations.
const HALF_NS: u64 = MILLISECOND / 2;

/// A walk of `length` operations, whose calls and answers are up to `overlap_ns` away from their effects. In a
/// certain walk every operation has an answer, and no answer leaves the effect open.
fn walk(seed: u64, length: usize, overlap_ns: u64, is_certain: bool) -> Walk {
    let mut random = Generator::seed_from_u64(seed);
    let (mut state, mut claims) = (State::default(), 0);
    let (mut history, mut before) = (Vec::new(), Vec::new());
    let mut now_ns = 10 * overlap_ns;
    while history.len() < length {
        // Occasionally nothing happens for so long that a lease expires.
        now_ns += match random.random_range(0..40) {
            0 => u64::from(SECONDS) * 1_000 * MILLISECOND,
            _ => MILLISECOND,
        };
        let exact = Interval {
            call_ns: now_ns,
            answer_ns: Some(now_ns),
        };
        let possible: Vec<_> = actions(claims)
            .into_iter()
            .filter(|action| !(is_certain && action.is_optional()))
            .filter_map(|action| Some((state.after(&action, exact)?, action)))
            .collect();
        let (next, action) = possible[random.random_range(0..possible.len())].clone();
        let is_silent = !is_certain && random.random_range(0..25) == 0;
        let operation = Operation {
            at: Interval {
                call_ns: now_ns - random.random_range(0..=overlap_ns),
                answer_ns: (!is_silent).then(|| now_ns + random.random_range(0..=overlap_ns)),
            },
            action: action.clone(),
        };
        before.push((state, claims));
        history.push(operation);
        claims = match &action {
            Action::Claim(lease, _) => lease.claim,
            Action::Delete => 0,
            _ => claims,
        };
        state = next;
    }
    Walk { history, before }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn history_checker_accepts_every_history_of_the_model(seed: u64, length in 1_usize..80, overlap in 0_u64..4) {
        let walk = walk(seed, length, overlap * HALF_NS, false);
        let checked = check(&walk.history);
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
    }

    #[test]
    fn history_checker_finds_one_wrong_answer(
        seed: u64, length in 1_usize..80, which: prop::sample::Index,
    ) {
        // Without overlaps only one order of effects is possible.
        let mut walk = walk(seed, length, 0, true);
        let at = which.index(walk.history.len());
        let (state, claims) = &walk.before[at];
        let when = walk.history[at].at;
        let wrong: Vec<_> = actions(*claims)
            .into_iter()
            .filter(|action| !action.is_optional() && state.after(action, when).is_none())
            .collect();
        walk.history[at].action = wrong[which.index(wrong.len())].clone();
        let violation = check(&walk.history).expect_err("a violation");
        prop_assert_eq!(violation.operation, at, "{}", violation);
    }
}

#[test]
fn history_checker_handles_a_hundred_thousand_operations() {
    let scale = Scale::from_environment();
    let (jobs, length) = (1_000, 100);
    let walks: Vec<_> = (0..jobs)
        .map(|job| walk(scale.seed() + job, length, 4 * HALF_NS, false).history)
        .collect();
    let long = walk(scale.seed(), 100_000, HALF_NS, true).history;
    let begun = Instant::now();
    walks.iter().for_each(|history| passes(history));
    let many = begun.elapsed();
    let begun = Instant::now();
    passes(&long);
    let one = begun.elapsed();
    report(
        "histories",
        &format!(
            "100,000 operations checked in {many:.1?} as {jobs} jobs, in {one:.1?} as one job"
        ),
    );
}
