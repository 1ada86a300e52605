//! Tests of statistical claims: they run trainings and sessions with a known target, and count the claims of confidence
//! and how many of them are wrong. A run may claim a confidence only when its guarantee holds.
//!
//! A cell is a kind of run, repeated with many seeds. Cells whose guarantee does not hold must claim nothing. To show
//! that such a cell can fail, some have a second one that does the same work without the rule that prevents the claim,
//! and its claims must often be wrong. A cell whose guarantee holds must make claims in most runs, and at most a
//! fraction 1 - c of all its runs may claim c and be wrong, within three standard errors. `scripts/coverage` makes
//! 2,000 runs per cell; the tests make a few.

use std::sync::Arc;

use halfspace::jobs::tasks::{Task as _, Train};
use halfspace::jobs::{Allowance, Inputs, JobSample, LoadedModel};
use halfspace::records::task::DataSpec;
use halfspace::records::train::TrainSpec;
use halfspace::records::{Lineage, ModelId, Timestamp};
use halfspace_core::bits::{BitMatrix, BitVector};
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::run::Run;
use halfspace_core::learners::engine::session::{Session, SessionPlan};
use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use halfspace_core::learners::sample::generate::{Generated, Plan};
use halfspace_formats::{Assume, GeneratedSpec};
use serde_json::{Value, json};

/// The claim of one run, and whether the claim is right.
struct Claim {
    confidence: Option<f64>,
    is_right: bool,
}

struct Cell {
    name: &'static str,
    expected: Expected,
    run: fn(u64) -> Claim,
}

enum Expected {
    /// No claims, because the runs meet no condition for one.
    Nothing,
    /// Claims that are wrong in more than this fraction of the runs. The rule that is disabled here prevents
    /// the claims in the cell before.
    Wrong(f64),
    /// Claims whose confidence is right over all runs.
    Claims,
}

#[derive(Default)]
struct Tally {
    claims: u64,
    wrong: u64,
    /// Greatest doubt 1 - c of the claims.
    doubt: f64,
}

impl Cell {
    fn tally(&self, runs: u64) -> Tally {
        let mut tally = Tally::default();
        for seed in 0..runs {
            let claim = (self.run)(seed);
            let Some(confidence) = claim.confidence.filter(|&confidence| confidence > 0.0) else {
                continue;
            };
            tally.claims += 1;
            tally.wrong += u64::from(!claim.is_right);
            tally.doubt = tally.doubt.max(1.0 - confidence);
        }
        tally
    }

    fn check(&self, runs: u64) {
        let tally = self.tally(runs);
        let Tally {
            claims,
            wrong,
            doubt,
            ..
        } = tally;
        println!(
            "{:58} {runs:6} runs {claims:6} claims {wrong:6} wrong",
            self.name
        );
        let name = self.name;
        match self.expected {
            Expected::Nothing => assert_eq!(claims, 0, "{name}: claims without ground"),
            Expected::Wrong(share) => {
                let found = wrong as f64 / runs as f64;
                assert!(found > share, "{name}: {wrong} wrong of {runs}: no power");
            }
            Expected::Claims => {
                assert!(claims > runs / 2, "{name}: {claims} claims of {runs}");
                let most = doubt * runs as f64;
                let error = (most * (1.0 - doubt)).sqrt();
                assert!(wrong as f64 <= most + 3.0 * error, "{name}: {wrong} wrong");
            }
        }
    }
}

/// A training, as a request would describe it.
struct Training {
    learner: Value,
    stop: Value,
    data: DataSpec,
    sample: Option<Data>,
    model: Option<LoadedModel>,
    seed: u64,
}

impl Training {
    fn on(learner: &str, data: DataSpec, sample: Option<Data>, seed: u64) -> Self {
        Self {
            learner: json!({"name": learner}),
            stop: json!({}),
            data,
            sample,
            model: None,
            seed,
        }
    }

    fn run(self) -> RunOutcome {
        let warm_start = self
            .model
            .as_ref()
            .map(|_| ModelId::new(Timestamp::from_milliseconds(1), [1; 10]));
        let train = TrainSpec {
            learner: serde_json::from_value(self.learner).unwrap(),
            stop: serde_json::from_value(self.stop).unwrap(),
            warm_start,
            ..TrainSpec::of_defaults("perceptron")
        };
        let allowance = Allowance {
            is_accepted: false,
            ..Allowance::UNLIMITED
        };
        let inputs = Inputs {
            sample: self.sample.map(JobSample::from),
            model: self.model,
            ..Inputs::of(self.seed)
        };
        let mut train = Train::new(&train, &self.data, inputs).unwrap();
        train.check(&allowance).unwrap();
        train.run(None, &Run::default()).unwrap().outcome
    }
}

fn plan(n: usize, sampling: Sampling, seed: u64, count: u64) -> Plan {
    Plan {
        count: Some(count),
        ..Plan::endless(Plan::random_target(n, Seed(seed)), sampling)
    }
}

/// A sample of a hidden target, and the target.
fn sample(n: usize, sampling: Sampling, seed: u64, count: u64) -> (Data, BitVector) {
    let plan = plan(n, sampling, seed, count);
    let target = plan.target.binary_weights().unwrap().clone();
    let data = Generated::materialise(plan, Seed(seed), &Run::default());
    (data, target)
}

fn declared(assume: Assume) -> DataSpec {
    DataSpec {
        assume: Some(assume),
        ..DataSpec::default()
    }
}

/// A request for generated data. `is_drawn` says that the service chose the seed.
fn generated(n: usize, target: &BitVector, is_drawn: bool) -> DataSpec {
    let spec: GeneratedSpec = serde_json::from_value(json!({"n": n,
        "target": {"binary_weights": {"weights": target.to_bit_string()}},
        "sampling": "uniform-positive", "count": 10_000}))
    .unwrap();
    DataSpec {
        generated: Some(spec),
        is_seed_drawn: is_drawn,
        ..DataSpec::default()
    }
}

/// A model that learnt from generated data of these seeds, or from unknown data.
fn of_model(predictor: Predictor, data_seeds: Option<&[u64]>) -> LoadedModel {
    let mut lineage = Lineage::unknown();
    if let Some(seeds) = data_seeds {
        lineage = Lineage::nothing();
        seeds.iter().for_each(|&seed| lineage.add(Some(seed), None));
    }
    LoadedModel {
        lineage: Arc::new(lineage),
        ..LoadedModel::from(predictor)
    }
}

fn claim(outcome: &RunOutcome, target: &BitVector) -> Claim {
    Claim {
        confidence: outcome.termination.confidence,
        is_right: outcome.predictor == Hypothesis::BinaryWeights(target.clone()).into(),
    }
}

/// A hypothesis that is consistent with all examples of a sample but the last.
fn learnt_from_all_but_one(data: &Data, seed: u64) -> Predictor {
    let most = data.rows(0..data.examples() - 1);
    let mut first = Training::on("directed-drift", DataSpec::default(), Some(most), seed);
    first.stop = json!({"max_passes": 100_000});
    let outcome = first.run();
    assert_eq!(outcome.training.unwrap().errors, 0, "it has learnt them");
    outcome.predictor
}

/// A warm start at confidence 0.9 on 14 examples, from a model that learnt 13 of them.
fn after_a_model(seed: u64, is_mutated: bool) -> Claim {
    let (n, examples) = (9, 14);
    let (data, target) = sample(n, Sampling::UniformPositive, seed, examples);
    let model = learnt_from_all_but_one(&data, seed);
    let mut data_spec = declared(Assume::UniformPositive);
    // The mutation makes the model look as if it had learnt from other data.
    data_spec.seed = is_mutated.then_some(1);
    let mut next = Training::on("directed-drift", data_spec, Some(data), seed);
    next.model = Some(of_model(model, is_mutated.then_some(&[2])));
    next.stop = json!({"confidence": 0.9});
    claim(&next.run(), &target)
}

/// The same warm start with the model's weights in the parameter `initial`.
fn after_given_weights(seed: u64) -> Claim {
    let (data, target) = sample(9, Sampling::UniformPositive, seed, 14);
    let Predictor::One(Hypothesis::BinaryWeights(weights)) = learnt_from_all_but_one(&data, seed)
    else {
        panic!("binary weights");
    };
    let spec = declared(Assume::UniformPositive);
    let mut next = Training::on("directed-drift", spec, Some(data), seed);
    next.learner["params"] = json!({"initial": weights.to_bit_string()});
    next.stop = json!({"confidence": 0.9});
    claim(&next.run(), &target)
}

/// A run over generated examples from a model that learnt the first examples of the same stream, itself or
/// through its ancestor.
fn after_the_same_stream(seed: u64, seeds: Option<&[u64]>, is_drawn: bool) -> Claim {
    let target = plan(9, Sampling::UniformPositive, seed, 14)
        .target
        .binary_weights()
        .unwrap()
        .clone();
    let mut first = Training::on("directed-drift", generated(9, &target, false), None, seed);
    first.data.generated.as_mut().unwrap().count = Some(14);
    first.stop = json!({"max_passes": 100_000});
    let model = first.run().predictor;
    let mut next = Training::on(
        "directed-drift",
        generated(9, &target, is_drawn),
        None,
        seed,
    );
    next.data.generated.as_mut().unwrap().count = Some(14);
    next.model = Some(of_model(model, seeds));
    next.stop = json!({"confidence": 0.9});
    claim(&next.run(), &target)
}

fn after_another_stream(seed: u64, data_seeds: Option<&[u64]>, is_drawn: bool) -> Claim {
    let (data, target) = sample(9, Sampling::UniformPositive, seed + 1_000_000, 14);
    let model = learnt_from_all_but_one(&data, seed);
    let spec = generated(9, &target, is_drawn);
    let mut next = Training::on("directed-drift", spec, None, seed);
    next.model = Some(of_model(model, data_seeds));
    next.stop = json!({"confidence": 0.9});
    claim(&next.run(), &target)
}

/// Trains on 24,000 rows of 101 bits, which repeat a few distinct rows.
fn repeated_rows(seed: u64, learner: &str, distinct: u64, is_believed: bool) -> Claim {
    let (n, examples) = (101, 24_000);
    let (few, target) = sample(n, Sampling::UniformPositive, seed, distinct);
    let Features::Boolean(rows) = few.features() else {
        panic!("Boolean");
    };
    let mut matrix = BitMatrix::new(n);
    for row in 0..examples {
        matrix.push_row(rows.row(row % rows.rows()).words());
    }
    let data = Data::new(Features::Boolean(matrix), Labels::HalfSpace);
    let mut spec = declared(Assume::UniformPositive);
    // The mutation claims that the repetitions were counted and none was found.
    spec.repetitions = is_believed.then_some((0, 0));
    let mut training = Training::on(learner, spec, Some(data), seed);
    training.stop = json!({"confidence": 0.99, "max_passes": 1});
    claim(&training.run(), &target)
}

fn declared_sample(seed: u64, assume: Assume, sampling: Sampling, n: usize, count: u64) -> Claim {
    let (data, target) = sample(n, sampling, seed, count);
    let training = Training::on("directed-drift-sync", declared(assume), Some(data), seed);
    claim(&training.run(), &target)
}

/// Examples with two ones in ten bits, declared uniform.
fn unbalanced(seed: u64) -> Claim {
    let plan = Plan {
        density: 0.2,
        ..plan(9, Sampling::Uniform, seed, 400)
    };
    let target = plan.target.binary_weights().unwrap().clone();
    let data = Generated::materialise(plan, Seed(seed), &Run::default());
    let spec = declared(Assume::Uniform);
    let mut training = Training::on("directed-drift", spec, Some(data), seed);
    // No repetitions are reported, so the fraction of ones alone refutes the declaration.
    training.data.repetitions = Some((0, 0));
    training.stop = json!({"confidence": 0.9, "max_examples": 400});
    claim(&training.run(), &target)
}

/// A sample that is declared free of noise, in which one row has both labels.
fn contradicted(seed: u64) -> Claim {
    let (data, target) = sample(21, Sampling::Uniform, seed, 3_000);
    let (Features::Boolean(rows), Some(labels)) = (data.features(), data.labels().signs()) else {
        panic!("labelled Boolean examples");
    };
    let (mut matrix, mut all) = (BitMatrix::new(21), BitVector::zeros(3_001));
    for row in 0..3_001 {
        matrix.push_row(rows.row(row % 3_000).words());
        all.set(row, labels.get(row % 3_000) != (row == 3_000));
    }
    let data = Data::new(Features::Boolean(matrix), Labels::of_signs(all));
    let spec = declared(Assume::Uniform);
    claim(
        &Training::on("directed-drift-sync", spec, Some(data), seed).run(),
        &target,
    )
}

/// A learner with far too small batches. Most of its runs end at a limit, and many of the others are wrong.
fn a_bad_batch(seed: u64) -> Claim {
    let target = Plan::random_target(11, Seed(seed));
    let target = target.binary_weights().unwrap().clone();
    let spec = generated(11, &target, false);
    let mut training = Training::on("directed-drift-sync", spec, None, seed);
    training.learner["params"] = json!({"batch_size": 12});
    training.stop = json!({"confidence": 0.9, "max_examples": 500});
    claim(&training.run(), &target)
}

fn fresh(seed: u64, learner: &str, stop: Value) -> Claim {
    let target = Plan::random_target(9, Seed(seed));
    let target = target.binary_weights().unwrap().clone();
    let mut training = Training::on(learner, generated(9, &target, false), None, seed);
    training.stop = stop;
    claim(&training.run(), &target)
}

/// A session at confidence 0.9 that receives one sample up to 60 times.
fn session(seed: u64, times: usize, params: Value, assume: Option<Assume>) -> Claim {
    let (n, examples) = (31, 40);
    let (data, target) = sample(
        n,
        Sampling::UniformPositive,
        seed,
        examples * 60 / times as u64,
    );
    let train = Training::on("directed-drift", DataSpec::default(), None, seed);
    let entry = halfspace::jobs::learner(train.learner["name"].as_str().unwrap()).unwrap();
    let object = params.as_object().unwrap();
    let parameters = halfspace_core::learners::engine::parameters::Parameters::from_json(
        entry.parameters,
        object,
    )
    .unwrap();
    let mut task = Task {
        parameters,
        confidence: Some(0.9),
        ..Task::of(entry, Seed(seed))
    };
    if task.has_initial() {
        task.start_doubt = Some("as `jobs` says of a session");
    }
    let plan = SessionPlan {
        task,
        n,
        real: false,
        assume,
    };
    let (mut session, run) = (Session::new(plan).unwrap(), Run::default());
    for _ in 0..times {
        if session.end().is_none() {
            session.learn(&data, &run).unwrap();
        }
    }
    Claim {
        confidence: session.confidence(),
        is_right: session.predictor() == Some(Hypothesis::BinaryWeights(target).into()),
    }
}

fn fresh_session(seed: u64) -> Claim {
    let (n, count) = (11, 20_000);
    let (data, target) = sample(n, Sampling::Uniform, seed, count);
    let task = Task {
        confidence: Some(0.9),
        ..Task::of(
            halfspace::jobs::learner("directed-drift").unwrap(),
            Seed(seed),
        )
    };
    let plan = SessionPlan {
        task,
        n,
        real: false,
        assume: Some(Assume::Uniform),
    };
    let mut session = Session::new(plan).unwrap();
    session.learn(&data, &Run::default()).unwrap();
    Claim {
        confidence: session.confidence(),
        is_right: session.predictor() == Some(Hypothesis::BinaryWeights(target).into()),
    }
}

const CELLS: &[Cell] = &[
    Cell {
        name: "warm start on a sample that the model may have seen",
        expected: Expected::Nothing,
        run: |seed| after_a_model(seed, false),
    },
    Cell {
        name: "  the same, the model taken to be fresh",
        expected: Expected::Wrong(0.2),
        run: |seed| after_a_model(seed, true),
    },
    Cell {
        name: "client's initial on a sample",
        expected: Expected::Nothing,
        run: after_given_weights,
    },
    Cell {
        name: "warm start on the model's own stream",
        expected: Expected::Nothing,
        run: |seed| after_the_same_stream(seed, Some(&[seed]), false),
    },
    Cell {
        name: "warm start on an ancestor's stream",
        expected: Expected::Nothing,
        run: |seed| after_the_same_stream(seed, Some(&[seed, seed + 1, seed + 2]), false),
    },
    Cell {
        name: "warm start on a chosen stream, an ancestor unknown",
        expected: Expected::Nothing,
        run: |seed| after_the_same_stream(seed, None, false),
    },
    Cell {
        name: "  the same, the ancestors forgotten",
        expected: Expected::Wrong(0.2),
        run: |seed| after_the_same_stream(seed, Some(&[seed + 1]), false),
    },
    Cell {
        name: "assume: 24,000 rows of which 23,880 repeat others",
        expected: Expected::Nothing,
        run: |seed| repeated_rows(seed, "directed-drift-sync", 120, false),
    },
    Cell {
        name: "assume: 24,000 rows of which 23,940 repeat others, sbpi",
        expected: Expected::Nothing,
        run: |seed| repeated_rows(seed, "sbpi", 60, false),
    },
    Cell {
        name: "  the same, believed",
        expected: Expected::Wrong(0.2),
        run: |seed| repeated_rows(seed, "sbpi", 60, true),
    },
    Cell {
        name: "assume: uniform, and a fifth of the bits are 1",
        expected: Expected::Nothing,
        run: unbalanced,
    },
    Cell {
        name: "assume: no noise, and a row with both labels",
        expected: Expected::Nothing,
        run: contradicted,
    },
    Cell {
        name: "a session that is sent 40 examples 60 times",
        expected: Expected::Nothing,
        run: |seed| session(seed, 60, json!({}), Some(Assume::UniformPositive)),
    },
    Cell {
        name: "a session with the client's initial",
        expected: Expected::Nothing,
        run: |seed| {
            let initial = "1".repeat(31);
            let params = json!({"initial": initial});
            session(seed, 2, params, Some(Assume::UniformPositive))
        },
    },
    Cell {
        name: "a session that declares nothing",
        expected: Expected::Nothing,
        run: |seed| session(seed, 2, json!({}), None),
    },
    Cell {
        name: "honest: warm start, other seeds than all ancestors'",
        expected: Expected::Claims,
        run: |seed| after_another_stream(seed, Some(&[seed + 1, seed + 2]), false),
    },
    Cell {
        name: "honest: warm start, the service drew the seed",
        expected: Expected::Claims,
        run: |seed| after_another_stream(seed, None, true),
    },
    Cell {
        name: "honest: a declared sample of 101 bits",
        expected: Expected::Claims,
        run: |seed| {
            let sampling = Sampling::UniformPositive;
            declared_sample(seed, Assume::UniformPositive, sampling, 101, 6_000)
        },
    },
    Cell {
        name: "honest: a declared uniform sample of 12 bits, repetitions",
        expected: Expected::Claims,
        run: |seed| declared_sample(seed, Assume::Uniform, Sampling::Uniform, 12, 3_000),
    },
    Cell {
        name: "honest: a declared reflected sample of 9 bits",
        expected: Expected::Claims,
        run: |seed| declared_sample(seed, Assume::Reflected, Sampling::Reflected, 9, 3_000),
    },
    Cell {
        name: "honest: drawn examples, anytime at 0.9",
        expected: Expected::Claims,
        run: |seed| fresh(seed, "directed-drift", json!({"confidence": 0.9})),
    },
    Cell {
        name: "honest: drawn examples, exact at 0.7",
        expected: Expected::Claims,
        run: |seed| {
            let stop = json!({"confidence": 0.7, "rule": "exact"});
            fresh(seed, "directed-drift", stop)
        },
    },
    Cell {
        name: "honest: a session of uniform examples",
        expected: Expected::Claims,
        run: fresh_session,
    },
];

#[test]
fn confidence_is_claimed_only_with_ground() {
    for cell in CELLS {
        cell.check(12);
    }
}

/// `confidence` refers to all runs that begin and not to those that stop with a claim.
fn stopped_share(runs: u64) -> (u64, u64) {
    let (mut stopped, mut wrong) = (0, 0);
    for seed in 0..runs {
        let claim = a_bad_batch(seed);
        if claim.confidence == Some(0.9) {
            stopped += 1;
            wrong += u64::from(!claim.is_right);
        }
    }
    println!(
        "{:58} {runs:6} runs {stopped:6} stopped {wrong:6} wrong",
        "a bad batch size"
    );
    (stopped, wrong)
}

#[test]
fn confidence_bounds_wrong_stops_over_all_runs() {
    let runs = 400;
    let (stopped, wrong) = stopped_share(runs);
    assert!(stopped > 0);
    let most = 0.1 * runs as f64;
    assert!(wrong as f64 <= most + 3.0 * (0.9 * most).sqrt());
}

#[test]
#[ignore = "the long form, minutes: scripts/coverage"]
fn confidence_claims_hold_in_the_long_form() {
    for cell in CELLS {
        cell.check(2_000);
    }
    let (stopped, wrong) = stopped_share(2_000);
    assert!(wrong as f64 <= 200.0 + 3.0 * 180_f64.sqrt());
    assert!(stopped > 0);
}
