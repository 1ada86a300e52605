//! The policy of the scheduler over simulated loads: starvation, shares and switches.
//!
//! A case runs a load in simulated time over the statements of a real store: see [`machine`]. At each claim it checks
//! the bounds of [`fairness`], and also those of its own load.

mod fairness;
mod machine;

use halfspace::records::schedule::Weight;
use halfspace::records::{ApiKey, JobsAhead, Rank, SecretDigest};
use halfspace_core::learners::engine::random::Generator;
use rand::{RngExt, SeedableRng};

use self::machine::{Arrival, Kind, Load, Machine, Milliseconds, SECOND, seconds};
use super::api_keys::key;
use super::*;

const SEEDS: std::ops::Range<u64> = 0..20;

/// Longest wait of a short job. The policy promises this wait for 99 of 100 jobs.
const WAIT_MAX: Milliseconds = 5 * SECOND;

/// Greatest fraction of the time that changes of workers may take.
const SWITCHING_MAX: f64 = 0.05;

/// Tolerance of a share.
const TOLERANCE: f64 = 0.03;

const HOUR: Milliseconds = 3_600 * SECOND;

const SHORT: Milliseconds = 50;

const SWITCH: Milliseconds = 100;

/// Job numbers that each load reserves.
const JOBS_MAX: i64 = 100_000;

/// Creates an API key per owner with these weights. Each run of a case names its owners by another number.
async fn owners(store: &Store, run: u64, weights: &[f64]) -> Vec<(Owner, f64)> {
    let mut owners = Vec::new();
    for (number, &weight) in weights.iter().enumerate() {
        let number = run as i64 * 1_000 + number as i64;
        let key = ApiKey {
            weight: Weight::try_from(weight).unwrap(),
            ..key(number)
        };
        let digest = SecretDigest::of(&format!("owner {number}"));
        store.insert_api_key(&key, &digest, false).await.unwrap();
        owners.push((Owner::from(key.id), weight));
    }
    owners
}

fn load(run: u64, owners: Vec<(Owner, f64)>, processes: &[usize]) -> Load {
    Load {
        owners,
        arrivals: Vec::new(),
        processes: processes.to_vec(),
        switch: SWITCH,
        first: run as i64 * JOBS_MAX,
    }
}

/// A job whose estimate equals its length.
fn arrival(owner: usize, at: Milliseconds, length: Milliseconds) -> Arrival {
    Arrival {
        owner,
        at,
        length,
        expected_seconds: seconds(length),
        priority: 0,
        kind: Kind::Stateful,
    }
}

/// Sorted times from the arrival to the end of each short job.
fn waits(machine: &Machine<'_>) -> Vec<Milliseconds> {
    let short = machine
        .tasks
        .iter()
        .filter(|task| task.arrival.length == SHORT);
    let mut waits: Vec<_> = short
        .map(|task| task.ended.expect("a short job ends") - task.arrival.at)
        .collect();
    waits.sort_unstable();
    waits
}

/// The median and the maximum of the waits, as text.
fn told(waits: &[Milliseconds]) -> String {
    let (median, longest) = (waits[waits.len() / 2], waits[waits.len() - 1]);
    format!("short jobs wait for {median} ms, {longest} ms at most")
}

fn held(machine: &Machine<'_>) -> f64 {
    machine.fairness.held_seconds().iter().sum()
}

#[track_caller]
fn loses_little(machine: &Machine<'_>) {
    let lost = seconds(machine.switching) / held(machine);
    assert!(lost <= SWITCHING_MAX, "changes of workers take {lost}");
}

/// Two to five owners, and nineteen jobs from 50 ms to 30 s beside a job of an hour. Estimates are wrong by a
/// factor of up to thirty.
fn random_load(seed: u64, owners: Vec<(Owner, f64)>) -> Load {
    let mut random = Generator::seed_from_u64(seed);
    let mut log = |from: f64, to: f64| (random.random_range(from.ln()..to.ln())).exp();
    let mut arrivals = Vec::new();
    for number in 0..20 {
        let length = match number {
            0 => HOUR,
            _ => (log(0.05, 30.0) * SECOND as f64) as Milliseconds,
        };
        let wrong = log(1.0 / 30.0, 30.0);
        arrivals.push((length, seconds(length) * wrong));
    }
    let mut random = Generator::seed_from_u64(seed + 1_000);
    let of = arrivals
        .into_iter()
        .enumerate()
        .map(|(number, (length, expected_seconds))| {
            let kind = match random.random_range(0..10) {
                0 if number > 0 => Kind::Failing,
                1 if length < 20 * SECOND => Kind::Stateless,
                _ => Kind::Stateful,
            };
            Arrival {
                owner: random.random_range(0..owners.len()),
                at: random.random_range(0..60) * random.random_range(1..=SECOND),
                length: if kind == Kind::Failing { 0 } else { length },
                expected_seconds,
                priority: random.random_range(-1..=1),
                kind,
            }
        });
    let mut arrivals: Vec<_> = of.collect();
    arrivals.sort_by_key(|arrival| arrival.at);
    Load {
        arrivals,
        switch: [0, SWITCH, 5 * SWITCH][random.random_range(0..3)],
        ..load(
            seed,
            owners,
            [&[1][..], &[2], &[1, 1]][random.random_range(0..3)],
        )
    }
}

pub(super) async fn no_job_of_a_random_load_starves(backend: &dyn Backend) {
    let store = open(backend).await;
    for seed in SEEDS {
        let weights = [1.0, 0.5, 1.0, 2.0, 4.0];
        let count = 2 + seed as usize % 4;
        let owners = owners(&store, seed, &weights[..count]).await;
        let load = random_load(seed, owners);
        let switch = seconds(load.switch);
        let last = load.arrivals.last().unwrap().at;
        let all: Milliseconds = load.arrivals.iter().map(|job| job.length + SECOND).sum();
        let mut machine = Machine::new(&store, load);
        // One worker computes all jobs within this time, including a twentieth for changes of workers.
        machine.run_until(last + all + all / 10).await;
        for task in &machine.tasks {
            assert!(task.ended.is_some(), "seed {seed}: {task:?}");
            let computed = task.computed;
            assert_eq!(computed, task.arrival.length, "seed {seed}");
        }
        // The cost of a change is known only after the first change of a job.
        let first = match switch {
            switch if switch <= 0.1 => 0.0,
            switch => machine.tasks.len() as f64 * switch,
        };
        let switching = seconds(machine.switching);
        assert!(
            switching <= SWITCHING_MAX * held(&machine) + first,
            "seed {seed}: {switching}"
        );
        println!(
            "seed {seed}: {} owners, {} jobs, longest wait of an owner {} s, {switching} s of changes",
            machine.load.owners.len(),
            machine.tasks.len(),
            seconds(machine.fairness.longest_wait),
        );
        machine.run_out().await;
    }
}

/// The middle job is neither the oldest nor short.
pub(super) async fn stream_of_short_jobs_delays_no_long_job_of_its_owner(backend: &dyn Backend) {
    let store = open(backend).await;
    let owners = owners(&store, 0, &[1.0]).await;
    let mut load = load(0, owners, &[1]);
    load.arrivals
        .extend([(0, 12), (1, 60)].map(|(at, length)| arrival(0, at, length * SECOND)));
    load.arrivals
        .extend((0..300).map(|number| arrival(0, 2 + number * 200, 300)));
    let mut machine = Machine::new(&store, load);
    machine.run_until(HOUR).await;
    assert!(machine.tasks.iter().all(|task| task.ended.is_some()));
    let middle = &machine.tasks[1];
    let last = machine.load.arrivals.last().unwrap().at;
    assert!(middle.started < Some(last), "{middle:?}");
    loses_little(&machine);
}

pub(super) async fn owners_share_the_seconds_by_their_weights(backend: &dyn Backend) {
    const LENGTH: Milliseconds = 600 * SECOND;
    let store = open(backend).await;
    let runs = [
        (&[1.0, 1.0, 1.0], &[2][..]),
        (&[1.0, 1.0, 1.0], &[1]),
        (&[1.0, 2.0, 4.0], &[1, 1]),
    ];
    for (run, (weights, processes)) in (0..).zip(runs) {
        let owners = owners(&store, run, weights).await;
        let mut load = load(run, owners, processes);
        for _ in 0..3 {
            load.arrivals
                .extend((0..weights.len()).map(|owner| arrival(owner, 0, HOUR)));
        }
        let mut machine = Machine::new(&store, load);
        machine.run_until(LENGTH).await;
        let computed: Vec<_> = (0..weights.len())
            .map(|owner| {
                let own = machine
                    .tasks
                    .iter()
                    .filter(|task| task.arrival.owner == owner);
                seconds(own.map(|task| task.computed).sum())
            })
            .collect();
        let (all, weight): (f64, f64) = (computed.iter().sum(), weights.iter().sum());
        println!("weights {weights:?}, workers {processes:?}: {computed:.1?} s");
        for (computed, own) in computed.iter().zip(weights) {
            let off = (computed / all - own / weight).abs();
            assert!(
                off <= TOLERANCE,
                "weight {own} of {weight} has {computed} of {all}"
            );
        }
        loses_little(&machine);
        machine.run_out().await;
    }
}

/// The policy's table of short jobs: of the owner of a hundred long jobs, and of another owner.
pub(super) async fn short_jobs_do_not_wait_behind_long_ones(backend: &dyn Backend) {
    const LENGTH: Milliseconds = 300 * SECOND;
    let store = open(backend).await;
    for (run, workers) in [(0, 2), (1, 1)] {
        let mut random = Generator::seed_from_u64(run);
        let owners = owners(&store, run, &[1.0, 1.0]).await;
        let mut load = load(run, owners, &[workers]);
        load.arrivals.extend((0..100).map(|_| arrival(0, 0, HOUR)));
        let mut times: Vec<_> = (0..100)
            .map(|_| random.random_range(SECOND..LENGTH))
            .collect();
        times.sort_unstable();
        let short = (0..)
            .zip(times)
            .map(|(number, at)| arrival(number % 2, at, SHORT));
        load.arrivals.extend(short);
        let mut machine = Machine::new(&store, load);
        machine.run_until(LENGTH + 2 * WAIT_MAX).await;
        let waits = waits(&machine);
        println!("{workers} workers: {}", told(&waits));
        assert!(
            waits.iter().all(|wait| *wait <= WAIT_MAX),
            "{workers} workers: {waits:?}"
        );
        loses_little(&machine);
        machine.run_out().await;
    }
}

/// The policy's table of short jobs of new owners. They arrive when each of the fifty owners has used its own
/// credit, which takes 125 s.
pub(super) async fn new_owners_do_not_wait_behind_fifty_others(backend: &dyn Backend) {
    const LENGTH: Milliseconds = 240 * SECOND;
    let store = open(backend).await;
    let named = |number| (Owner::new(format!("owner {number}")), 1.0);
    let mut load = load(0, (0..80).map(named).collect(), &[2]);
    load.arrivals
        .extend((0..50).map(|owner| arrival(owner, 0, HOUR)));
    let new = (50..80).map(|owner| (owner, (150 + 3 * (owner as i64 - 50)) * SECOND));
    load.arrivals
        .extend(new.map(|(owner, at)| arrival(owner, at, SHORT)));
    let mut machine = Machine::new(&store, load);
    machine.run_until(LENGTH + 2 * WAIT_MAX).await;
    let waits = waits(&machine);
    println!("{}", told(&waits));
    assert!(waits.iter().all(|wait| *wait <= WAIT_MAX), "{waits:?}");
    loses_little(&machine);
}

/// A newcomer precedes the other owners for a short time only, and many newcomers for no longer than one.
pub(super) async fn new_owners_do_not_take_all_workers(backend: &dyn Backend) {
    const LENGTH: Milliseconds = 300 * SECOND;
    let store = open(backend).await;
    let named = |number| (Owner::new(format!("owner {number}")), 1.0);
    let mut load = load(0, (0..22).map(named).collect(), &[1]);
    load.arrivals.push(arrival(0, 0, HOUR));
    load.arrivals
        .extend((1..=20).map(|owner| arrival(owner, 100 * SECOND, SHORT)));
    load.arrivals.push(arrival(21, 100 * SECOND, HOUR));
    let mut machine = Machine::new(&store, load);
    machine.run_until(LENGTH).await;
    let late = seconds(machine.tasks.last().unwrap().computed);
    assert!(
        (94.0..=106.0).contains(&late),
        "the last newcomer has {late} of 200 s"
    );
    loses_little(&machine);
}

/// A claim has a cost, so the owner of failing jobs has a share like any other owner.
pub(super) async fn jobs_that_fail_at_once_delay_no_other_owner(backend: &dyn Backend) {
    let store = open(backend).await;
    let owners = owners(&store, 0, &[1.0, 1.0]).await;
    let mut load = load(0, owners, &[1]);
    load.arrivals
        .extend((0..2).map(|owner| arrival(owner, 0, HOUR)));
    load.arrivals.extend((0..500).map(|_| Arrival {
        kind: Kind::Failing,
        ..arrival(1, 10 * SECOND, 0)
    }));
    let mut machine = Machine::new(&store, load);
    machine.run_until(26 * SECOND).await;
    let computed = seconds(machine.tasks[0].computed);
    println!("{computed} of 26 s beside 500 failing jobs");
    // Ten seconds of failing jobs would leave 8 s to each owner.
    assert!((10.5..=16.5).contains(&computed), "{computed} of 26 s");
}

/// A job without a storable state stays parked, and its process resumes the job later.
pub(super) async fn parked_job_without_a_state_is_resumed(backend: &dyn Backend) {
    let store = open(backend).await;
    for (run, workers) in [(0, 1), (1, 2)] {
        let owners = owners(&store, run, &[1.0, 1.0, 1.0]).await;
        let mut load = load(run, owners, &[workers]);
        for _ in 0..workers {
            load.arrivals.push(Arrival {
                kind: Kind::Stateless,
                ..arrival(0, 0, 30 * SECOND)
            });
        }
        load.arrivals
            .extend((0..workers).map(|_| arrival(1, SECOND, HOUR)));
        load.arrivals.push(arrival(2, 20 * SECOND, SHORT));
        let mut machine = Machine::new(&store, load);
        machine.run_until(100 * SECOND).await;
        let tasks = &machine.tasks;
        println!(
            "{workers} workers: {:?}",
            tasks.iter().map(|task| task.ended).collect::<Vec<_>>()
        );
        assert!(
            tasks[..workers].iter().all(|task| task.ended.is_some()),
            "{tasks:?}"
        );
        assert!(waits(&machine)[0] <= 3 * WAIT_MAX);
        machine.run_out().await;
    }
}

/// The computed seconds show that the estimate was too low.
pub(super) async fn underestimated_job_yields_once_its_seconds_show(backend: &dyn Backend) {
    let store = open(backend).await;
    let owners = owners(&store, 0, &[1.0]).await;
    let mut load = load(0, owners, &[1]);
    load.arrivals.push(Arrival {
        expected_seconds: 0.05,
        ..arrival(0, 0, HOUR)
    });
    load.arrivals.push(arrival(0, 100 * SECOND, 10 * SECOND));
    let mut machine = Machine::new(&store, load);
    machine
        .run_until(100 * SECOND + 10 * SECOND + WAIT_MAX)
        .await;
    assert!(machine.tasks[1].ended.is_some());
}

/// An owner with many jobs among ten thousand owners with one job each.
pub(super) async fn ten_thousand_owners_are_served_once_before_any_is_served_twice(
    backend: &dyn Backend,
) {
    const OWNERS: i64 = 10_000;
    const CLAIMS: usize = 100;
    let store = open(backend).await;
    let jobs: Vec<Job> = (1..=OWNERS)
        .map(|number| Job {
            owner: Owner::new(format!("owner {number}")),
            ..job(number)
        })
        .collect();
    for some in jobs.chunks(64) {
        let stored = some.iter().map(|job| store.insert_job(job, None));
        let stored = futures_util::future::join_all(stored).await;
        stored.into_iter().for_each(|stored| stored.unwrap());
    }
    let silenced = "UPDATE owner_shares SET active = FALSE RETURNING CAST(1 AS BIGINT)";
    backend.number(silenced).await;
    for number in 0..20 {
        let further = job(OWNERS + 1 + number);
        store.insert_job(&further, None).await.unwrap();
    }
    // Each call of `tend_shares` finds a thousand owners with jobs.
    for _ in 0..OWNERS / 1_000 {
        store.tend_shares().await.unwrap();
    }
    let active = "SELECT COUNT(*) FROM owner_shares WHERE active = TRUE";
    assert_eq!(backend.number(active).await, OWNERS + 1);
    let mut served = HashSet::new();
    for number in 0..CLAIMS {
        let claim = claim(&store, "w", LONG).await.unwrap();
        assert!(served.insert(claim.job.owner), "claim {number}");
        let end = JobEnd {
            spent: Spent {
                seconds: 0.05,
                unpaid_seconds: 0.05,
                level: 0,
            },
            ..failure()
        };
        store.finish_job(&claim.lease, &end).await.unwrap();
    }
    assert!(served.contains(&owner()));
}
