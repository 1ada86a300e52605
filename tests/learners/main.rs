//! One suite, driven by data files, that runs every learner of the catalogue.
//!
//! `data/` holds samples in the service's JSON form. Every learner gets each of them, and must accept
//! or refuse it, count, stop and repeat its result as its catalogue entry says. `cases/{learner}.json`
//! holds the exact expected results of one learner. A new learner joins the suite with its line in the catalogue, and
//! the suite fails until its file of cases exists.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use halfspace::jobs::tasks::{Task as _, Train};
use halfspace::jobs::{Allowance, Inputs};
use halfspace::records::hypothesis::HypothesisDocument;
use halfspace::records::task::{JobSpec, TaskSpec};
use halfspace::records::train::TrainResult;
use halfspace::records::{ModelId, Names, Timestamp};
use halfspace_core::bits::{BitMatrix, BitVector, Kernels, use_kernels};
use halfspace_core::learners::catalogue::{CATALOGUE, find};
use halfspace_core::learners::engine::check::check;
use halfspace_core::learners::engine::entry::{LearnerEntry, Replay, Setup};
use halfspace_core::learners::engine::input::{Input, TaskError};
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::{Generator, Purpose, Seed};
use halfspace_core::learners::engine::reason::Reason;
use halfspace_core::learners::engine::rule::{Kind, OnlineRule, Order, Rule};
use halfspace_core::learners::engine::run::{Counts, Interrupt, Run, RunLimits, StopFlag};
use halfspace_core::learners::engine::run_state::RunState;
use halfspace_core::learners::engine::session::{Session, SessionPlan};
use halfspace_core::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::engine::train_loop::TrainLoop;
use halfspace_core::learners::engine::update::Update;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::predict::for_each_decisions;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::block::Block;
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use halfspace_core::learners::sample::source::{Presentation, Presented, Sample, Stream};
use halfspace_formats::{self, DataForm, Format, Options};
use rand::RngExt;
use serde_json::{Map, Value, json};

/// Enough passes for every learner to converge on the small samples, or to be seen not to converge.
const PASSES_MAX: u64 = 60;

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/learners")
        .join(name)
}

fn samples() -> Vec<(String, Data)> {
    let mut paths: Vec<_> = fs::read_dir(directory("data"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, sample(&fs::read(&path).unwrap()))
    };
    paths.into_iter().map(read).collect()
}

fn sample(json: &[u8]) -> Data {
    match halfspace_formats::read(Format::Json, json, &Options::default()).unwrap() {
        DataForm::Sample { parsed, .. } => parsed.data,
        _ => panic!("a sample in the suite is sent along"),
    }
}

fn task(entry: &'static LearnerEntry, params: &Value, seed: u64) -> Task {
    let params = params.as_object().cloned().unwrap_or_else(Map::new);
    Task {
        parameters: Parameters::from_json(entry.parameters, &params).unwrap(),
        limits: RunLimits {
            max_passes: Some(PASSES_MAX),
            max_mistakes: Some(100_000),
            max_examples: None,
        },
        trace: true,
        ..Task::of(entry, Seed(seed))
    }
}

/// Whether the catalogue entry says that the learner takes this data.
fn is_taken(entry: &LearnerEntry, data: &Data) -> bool {
    let is_real = data.features().is_real();
    let kind = match data.labels() {
        Labels::HalfSpace => entry.data.half_space,
        Labels::Labelled(_) => entry.data.labelled,
        Labels::Unlabelled => false,
    };
    kind && (entry.data.real || !is_real)
}

fn learn(task: &Task, data: &Data) -> RunOutcome {
    let input = Input::Sample { data, assume: None };
    check(task, input, u64::MAX).unwrap_or_else(|error| panic!("{}: {error}", task.entry.name));
    train(task, input, &Run::default()).unwrap()
}

/// Calls `see` with every learner and every sample that the learner takes.
fn for_each(mut see: impl FnMut(&'static LearnerEntry, &str, &Data)) {
    let samples = samples();
    for entry in CATALOGUE {
        let mut taken = 0;
        for (name, data) in samples.iter().filter(|(_, data)| is_taken(entry, data)) {
            see(entry, name, data);
            taken += 1;
        }
        assert!(taken > 0, "no sample of the suite is for {}", entry.name);
    }
}

#[test]
fn training_counts_add_up() {
    for_each(|entry, name, data| {
        let context = format!("{} on {name}", entry.name);
        let outcome = learn(&task(entry, &json!({}), 1), data);
        let Counts {
            examples,
            mistakes,
            updates,
            passes,
        } = outcome.counts;
        assert!(updates <= mistakes && mistakes <= examples, "{context}");
        assert!((1..=PASSES_MAX).contains(&passes), "{context}");
        assert!(examples <= passes * data.examples() as u64, "{context}");
        let training = outcome.training.expect("a sample");
        assert_eq!(training.examples, data.examples() as u64, "{context}");
        assert_eq!(
            training.errors,
            errors(&outcome.predictor, data),
            "{context}"
        );
        let is_clean =
            [Reason::Converged, Reason::Consistent].contains(&outcome.termination.reason);
        // An average may err where the last weights made no mistake.
        if is_clean && entry.replay != Replay::Numbered {
            assert_eq!(training.errors, 0, "{context}");
        }
        if let Some(bound) = &outcome.bound {
            assert_ne!(bound.respected, Some(false), "{context}: {bound:?}");
            assert!(
                bound.respected.is_some() || bound.detail.is_some(),
                "{context}"
            );
        }
        assert_eq!(
            outcome.termination.confidence, None,
            "{context}: undeclared data"
        );
        let points = outcome.trace.expect("wanted").points().to_vec();
        let last = points.last().expect("the end of the run");
        assert_eq!(
            (last.examples, last.mistakes),
            (examples, mistakes),
            "{context}"
        );
    });
}

/// Counts the examples that a hypothesis misclassifies, through the code of predictions. A half-space example
/// is positive. A tie on a reflected example is a mistake, which only the label shows.
fn errors(predictor: &Predictor, data: &Data) -> u64 {
    let mut at = 0;
    let mut wrong = 0;
    for_each_decisions(predictor, data, 0.0, |decisions| {
        for decision in decisions {
            let label = match data.labels() {
                Labels::Labelled(labels) => labels.get(at) == 1,
                Labels::HalfSpace | Labels::Unlabelled => true,
            };
            wrong += u64::from(decision.is_positive() != label);
            at += 1;
        }
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(at, data.examples());
    wrong
}

#[test]
fn training_is_determined_by_its_seed_on_every_kernel() {
    for_each(|entry, name, data| {
        let outcomes = [Kernels::Detected, Kernels::Scalar, Kernels::Detected].map(|kernels| {
            use_kernels(kernels);
            learn(&task(entry, &json!({}), 7), data)
        });
        use_kernels(Kernels::Detected);
        assert_eq!(outcomes[0], outcomes[1], "{} on {name}", entry.name);
        assert_eq!(outcomes[0], outcomes[2], "{} on {name}", entry.name);
    });
}

/// A sample that presents one example at a time, as a session does.
struct OneByOne<'a> {
    sample: Presented<'a>,
    examples: u64,
    next: u64,
}

impl Stream for OneByOne<'_> {
    fn n(&self) -> usize {
        self.sample.n()
    }

    fn examples(&self) -> Option<u64> {
        Some(self.examples)
    }

    fn next_block(&mut self) -> Result<Option<Block<'_>>, Interrupt> {
        if self.next == self.examples {
            return Ok(None);
        }
        self.next += 1;
        self.sample.example(self.next - 1).map(Some)
    }

    fn rewind(&mut self) {
        self.next = 0;
    }

    fn mark(&self, _: &mut SnapshotWriter) {
        unreachable!("nobody takes a state of it")
    }

    fn seek(&mut self, _: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        Err(SnapshotError)
    }
}

#[test]
fn on_line_learners_learn_the_same_one_example_at_a_time() {
    let mut stepped = 0;
    for_each(|entry, name, data| {
        if !entry.on_line {
            return;
        }
        let sample = Presented::new(data, entry.presentation);
        let mut stream = OneByOne {
            examples: data.examples() as u64,
            sample,
            next: 0,
        };
        let task = task(entry, &own_order(entry), 3);
        let mut random = task.seed.generator(Purpose::Learner);
        let mut rule = (entry.build)(&mut Setup {
            parameters: &task.parameters,
            n: data.n(),
            real: data.features().is_real(),
            active_max: None,
            parts: None,
            random: &mut random,
        })
        .unwrap();
        if rule.kind().order() != Some(Order::Cyclic) {
            return;
        }
        let run = Run::default();
        let course = RunState::new(task.limits, random);
        let order = task.seed.generator(Purpose::Order);
        let mut steps = TrainLoop::new(rule.as_mut(), &run, course, order);
        let reason = steps.run_stream(&mut stream).unwrap();
        let outcome = learn(&task, data);
        let context = format!("{} on {name}", entry.name);
        assert_eq!(reason, outcome.termination.reason, "{context}");
        assert_eq!(steps.course.counts, outcome.counts, "{context}");
        assert_eq!(steps.rule.predictor(), outcome.predictor, "{context}");
        stepped += 1;
    });
    assert!(stepped > 10);
}

/// Parameters with which a learner presents the examples in file order.
fn own_order(entry: &LearnerEntry) -> Value {
    let mut names = entry.parameters.iter().map(|parameter| parameter.name);
    if names.any(|name| name == "order") {
        json!({"order": "cyclic"})
    } else {
        json!({})
    }
}

/// The plan of a session that receives the sample row by row.
fn session_plan(entry: &'static LearnerEntry, data: &Data) -> SessionPlan {
    let task = task(entry, &json!({}), 3);
    SessionPlan {
        task: Task {
            limits: RunLimits::default(),
            ..task
        },
        n: data.n(),
        real: data.features().is_real(),
        assume: None,
    }
}

#[test]
fn session_learns_like_a_pass_and_resumes_at_every_position() {
    let (mut sessions, mut batches_under_way) = (0, 0);
    for_each(|entry, name, data| {
        if !entry.on_line {
            return;
        }
        let context = format!("{} on {name}", entry.name);
        let (plan, run) = (session_plan(entry, data), Run::default());
        let mut whole = Session::new(plan.clone()).unwrap();
        let answers = whole.learn(data, &run).unwrap();
        assert_eq!(answers.len(), data.examples(), "{context}");
        let mut one_pass = task(entry, &own_order(entry), 3);
        one_pass.limits.max_passes = Some(1);
        let outcome = learn(&one_pass, data);
        assert_eq!(whole.counts(), outcome.counts, "{context}");
        assert_eq!(
            whole.predictor().as_ref(),
            Some(&outcome.predictor),
            "{context}"
        );
        let mistakes = answers.iter().filter(|answer| answer.is_mistake).count();
        assert_eq!(mistakes as u64, outcome.counts.mistakes, "{context}");
        let end = whole.snapshot();
        let mut stepped = Session::new(plan.clone()).unwrap();
        for position in 0..data.examples() {
            let snapshot = stepped.snapshot();
            stepped = Session::restore(plan.clone(), &snapshot).unwrap();
            assert_eq!(stepped.snapshot(), snapshot, "{context} at {position}");
            let cut = Session::restore(plan.clone(), &snapshot[..snapshot.len() - 1]);
            assert!(cut.is_err(), "{context} at {position}");
            let (row, before) = (data.rows(position..position + 1), stepped.last());
            let answer = stepped.learn(&row, &run).unwrap();
            if let Some(prediction) = answer[0].prediction {
                // The prediction is for the example as the client sent it, before any reflection.
                let mut said = None;
                for_each_decisions(&before, &row, 0.0, |decisions| {
                    said = Some(decisions[0].is_positive());
                    std::ops::ControlFlow::Continue(())
                });
                assert_eq!(said, Some(prediction == 1), "{context} at {position}");
            }
            assert_eq!(answer, answers[position..=position], "{context}");
            batches_under_way += usize::from(answer[0].prediction.is_none());
        }
        assert_eq!(stepped.snapshot(), end, "{context}");
        assert_eq!(stepped.predictor(), whole.predictor(), "{context}");
        sessions += 1;
    });
    assert!(sessions > 10 && batches_under_way > 10);
}

/// The paper promises a state of one hypothesis of n bits, and n further bits as working memory. The counters
/// and the generator have the same size for every n.
#[test]
fn directed_drift_keeps_n_bits_of_state() {
    let entry = find("directed-drift").unwrap();
    let mut sizes = Vec::new();
    for words in [1, 16, 256] {
        let n = 64 * words;
        let (mut matrix, mut random) = (BitMatrix::new(n), Seed(1).generator(Purpose::Examples));
        for _ in 0..200 {
            let row: Vec<u64> = (0..words).map(|_| random.random()).collect();
            matrix.push_row(&row);
        }
        let data = Data::new(Features::Boolean(matrix), Labels::HalfSpace);
        let mut session = Session::new(session_plan(entry, &data)).unwrap();
        session.learn(&data, &Run::default()).unwrap();
        assert!(session.counts().mistakes > 50);
        sizes.push(session.snapshot().len() - n / 8);
    }
    // The digits of the generator's numbers vary slightly.
    assert!(sizes.iter().all(|&beside| beside < 320), "{sizes:?}");
}

#[test]
fn learners_that_need_the_whole_sample_have_no_session() {
    let samples = samples();
    for entry in CATALOGUE {
        let (_, data) = samples
            .iter()
            .find(|(_, data)| is_taken(entry, data))
            .unwrap();
        let mut plans = vec![session_plan(entry, data)];
        if entry.on_line {
            plans.clear();
            if own_order(entry) != json!({}) {
                let mut plan = session_plan(entry, data);
                plan.task.parameters = task(entry, &json!({"order": "shuffled"}), 3).parameters;
                plans.push(plan);
            }
        }
        for plan in plans {
            let refused = Session::new(plan).map(|_| ());
            assert!(
                matches!(refused, Err(TaskError::NotOnLine(_))),
                "{}",
                entry.name
            );
        }
    }
}

/// A rule that is interrupted while it looks at the examples. An interrupted rule may return any value; this
/// one reports that there is no mistake.
struct Disturbed {
    by: Interrupt,
    order: Order,
}

impl Rule for Disturbed {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Online(self)
    }

    fn start_from(&mut self, _: &Hypothesis) -> Result<(), String> {
        Ok(())
    }

    fn mistakes(&mut self, _: &Block<'_>, stop: &StopFlag) -> u64 {
        stop.raise(self.by);
        0
    }

    fn predictor(&self) -> Predictor {
        Hypothesis::BinaryWeights(BitVector::zeros(10)).into()
    }

    fn snapshot(&mut self, _: &mut SnapshotWriter) {}

    fn restore(&mut self, _: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        Ok(())
    }
}

impl OnlineRule for Disturbed {
    fn order(&self) -> Order {
        self.order
    }

    fn first_mistake(&mut self, _: &Block<'_>, _: Range<usize>, stop: &StopFlag) -> Option<usize> {
        stop.raise(self.by);
        None
    }

    fn may_break_off(&self) -> bool {
        true
    }

    fn update(&mut self, _: &Block<'_>, _: usize, _: &mut Generator) -> Update {
        Update::Changed
    }
}

#[test]
fn interrupted_training_ignores_the_outcome_of_its_rule() {
    let samples = samples();
    let (_, data) = samples
        .iter()
        .find(|(name, _)| name == "disjunction")
        .unwrap();
    for (interrupt, expected) in [
        (Interrupt::Cancelled, Ok(Reason::Cancelled)),
        (Interrupt::TimeLimit, Ok(Reason::Limit("max_seconds"))),
        (Interrupt::Suspended, Err(Interrupt::Suspended)),
    ] {
        for order in [Order::RandomMistake, Order::Cyclic] {
            let run = Run::default();
            let mut rule = Disturbed {
                by: interrupt,
                order,
            };
            let random = Seed(1).generator(Purpose::Learner);
            let course = RunState::new(RunLimits::default(), random);
            let choices = Seed(1).generator(Purpose::Order);
            let mut train_loop = TrainLoop::new(&mut rule, &run, course, choices);
            let mut sample = Presented::new(data, Presentation::Labelled);
            let reason = train_loop.run_sample(&mut sample);
            assert_eq!(reason, expected, "{interrupt:?} {order:?}");
        }
    }
}

#[test]
fn every_limit_ends_every_learner() {
    for_each(|entry, name, data| {
        let context = format!("{} on {name}", entry.name);
        let free = learn(&task(entry, &json!({}), 5), data);
        if free.counts.mistakes >= 2 {
            let mut limited = task(entry, &json!({}), 5);
            limited.limits.max_mistakes = Some(1);
            let outcome = learn(&limited, data);
            assert_eq!(outcome.counts.mistakes, 1, "{context}");
            let ends = [Reason::Limit("max_mistakes"), Reason::Exhausted];
            assert!(ends.contains(&outcome.termination.reason), "{context}");
        }
        let run = Run::default();
        run.stop.raise(Interrupt::Cancelled);
        let input = Input::Sample { data, assume: None };
        let cancelled = train(&task(entry, &json!({}), 5), input, &run).unwrap();
        assert_eq!(cancelled.termination.reason, Reason::Cancelled, "{context}");
        assert_eq!(cancelled.counts.updates, 0, "{context}");
        let run = Run::default();
        run.stop.raise(Interrupt::TimeLimit);
        let late = train(&task(entry, &json!({}), 5), input, &run).unwrap();
        let reason = late.termination.reason;
        assert_eq!(reason, Reason::Limit("max_seconds"), "{context}");
        let run = Run::default();
        run.stop.raise(Interrupt::Suspended);
        let given_up = train(&task(entry, &json!({}), 5), input, &run);
        assert_eq!(given_up, Err(Interrupt::Suspended), "{context}");
    });
}

#[test]
fn data_that_the_catalogue_does_not_name_are_refused() {
    let unlabelled = sample(br#"{"unlabelled": {"examples": ["0110", "1001"]}}"#);
    let mut all = samples();
    all.push(("unlabelled".to_owned(), unlabelled));
    for entry in CATALOGUE {
        let mut refused = 0;
        for (name, data) in all.iter().filter(|(_, data)| !is_taken(entry, data)) {
            let input = Input::Sample { data, assume: None };
            let checked = check(&task(entry, &json!({}), 1), input, u64::MAX);
            let is_wrong_data = matches!(
                checked,
                Err(TaskError::WrongData(_) | TaskError::NotBoolean { .. })
            );
            assert!(is_wrong_data, "{} on {name}: {checked:?}", entry.name);
            refused += 1;
        }
        assert!(refused > 0, "{}", entry.name);
    }
}

#[test]
fn a_hypothesis_predicts_the_same_after_it_was_stored() {
    for_each(|entry, name, data| {
        let predictor = learn(&task(entry, &json!({}), 9), data).predictor;
        let document = HypothesisDocument::from(&predictor);
        let text = serde_json::to_string(&document).unwrap();
        let read: HypothesisDocument = serde_json::from_str(&text).unwrap();
        let again = Predictor::from(Hypothesis::try_from(&read).unwrap());
        let context = format!("{} on {name}", entry.name);
        assert_eq!(again.n(), data.n(), "{context}");
        assert_eq!(
            decisions(&again, data),
            decisions(&predictor, data),
            "{context}"
        );
        assert_eq!(
            serde_json::to_string(&HypothesisDocument::from(&again)).unwrap(),
            text
        );
    });
}

fn decisions(predictor: &Predictor, data: &Data) -> String {
    let mut all = Vec::new();
    for_each_decisions(predictor, data, 0.0, |decisions| {
        all.extend_from_slice(decisions);
        std::ops::ControlFlow::Continue(())
    });
    format!("{all:?}")
}

#[test]
fn learner_defaults_are_those_of_its_parameter_table() {
    for entry in CATALOGUE {
        let filled = Parameters::from_json(entry.parameters, &Map::new()).unwrap();
        let again = Parameters::from_json(entry.parameters, &filled.to_json()).unwrap();
        assert_eq!(filled.to_json(), again.to_json(), "{}", entry.name);
        let unknown = json!({"no_such_parameter": 1});
        let refused = Parameters::from_json(entry.parameters, unknown.as_object().unwrap());
        assert!(refused.unwrap_err()[0].unknown, "{}", entry.name);
    }
}

/// Runs the cases of each learner. A case holds a training as in a job's body, and the expected values by their
/// JSON pointers in the result.
#[test]
fn learners_reach_the_results_of_their_case_files() {
    for entry in CATALOGUE {
        let path = directory("cases").join(format!("{}.json", entry.name));
        let text = fs::read_to_string(&path).unwrap_or_else(|_| {
            let name = entry.name;
            panic!("write tests/learners/cases/{name}.json: what {name} must come to")
        });
        let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert!(!cases.is_empty(), "{}", entry.name);
        for case in &cases {
            let result = come_to(entry, case);
            for (pointer, expected) in case["expect"].as_object().expect("expect") {
                let found = result.pointer(pointer).unwrap_or(&Value::Null);
                let context = format!("{} {} {pointer}", entry.name, case["case"]);
                assert_eq!(found, expected, "{context}");
            }
        }
    }
}

fn come_to(entry: &LearnerEntry, case: &Value) -> Value {
    let data = match &case["sample"] {
        Value::String(name) => {
            let path = directory("data").join(format!("{name}.json"));
            Some(sample(&fs::read(path).unwrap()))
        }
        _ => None,
    };
    let spec: JobSpec = serde_json::from_value(json!({
        "task": {"train": {
            "learner": {"name": entry.name, "params": case.get("params").unwrap_or(&json!({}))},
            "stop": case.get("stop").unwrap_or(&json!({})), "trace": false}},
        "data": {"assume": case["assume"], "generated": case["generated"]}
    }))
    .unwrap();
    let seed = case["seed"].as_u64().unwrap_or(0);
    let inputs = Inputs {
        sample: data.map(Into::into),
        ..Inputs::of(seed)
    };
    let TaskSpec::Train(train) = &spec.task else {
        panic!("a training");
    };
    let checked = Train::new(train, &spec.data, inputs).and_then(|mut train| {
        train.check(&Allowance::UNLIMITED)?;
        Ok(train)
    });
    let train = checked.unwrap_or_else(|error| panic!("{} {}: {error}", entry.name, case["case"]));
    let outcome = train.run(None, &Run::default()).unwrap();
    let outcome = outcome.outcome;
    let hypothesis = HypothesisDocument::from(&outcome.predictor);
    let model = ModelId::new(Timestamp::from_milliseconds(0), [0; 10]);
    let result = TrainResult::new(&outcome, &Names::default(), model, Some(hypothesis), 0.0);
    serde_json::to_value(result).unwrap()
}

/// The state holds n bits of the hypothesis besides the counters and the generator.
#[test]
fn directed_drift_session_keeps_n_bits_of_state() {
    const BESIDES: usize = 512;
    let entry = find("directed-drift").unwrap();
    let mut random = Seed(1).generator(Purpose::Examples);
    for n in [11, 101, 1_001, 10_007, 100_003, 1_000_000] {
        let mut matrix = BitMatrix::new(n);
        for _ in 0..130 {
            let words: Vec<u64> = (0..n.div_ceil(64)).map(|_| random.random()).collect();
            matrix.push_row(BitVector::from_words(n, words).words());
        }
        let data = Data::new(Features::Boolean(matrix), Labels::HalfSpace);
        let mut session = Session::new(session_plan(entry, &data)).unwrap();
        let before = session.snapshot().len();
        session.learn(&data, &Run::default()).unwrap();
        assert!(session.counts().updates > 0, "n = {n}");
        let after = session.snapshot().len();
        println!(
            "n = {n}: {before} bytes before, {after} after; n / 8 = {}",
            n.div_ceil(8)
        );
        // The digits of a generator's state may grow or shrink.
        assert!(
            after.abs_diff(before) <= 16,
            "n = {n}: {before}, then {after}"
        );
        assert!(after <= n.div_ceil(64) * 8 + BESIDES, "n = {n}: {after}");
        assert!(after <= 2 * n.div_ceil(8) + BESIDES, "n = {n}: {after}");
    }
}
