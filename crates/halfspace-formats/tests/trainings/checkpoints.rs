//! A training that is interrupted at random moments and resumed from its last checkpoint ends like an uninterrupted
//! one, for every learner of the catalogue and every kind of data.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use halfspace_core::bits::BitVector;
use halfspace_core::learners::catalogue::{self, CATALOGUE};
use halfspace_core::learners::decision::Decision;
use halfspace_core::learners::engine::bound::Bound;
use halfspace_core::learners::engine::check::check;
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::entry::{LearnerEntry, Setup};
use halfspace_core::learners::engine::holdout::HeldOut;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::parameters::{ParameterError, ParameterKind, Parameters};
use halfspace_core::learners::engine::random::{Generator, Seed};
use halfspace_core::learners::engine::reason::Reason;
use halfspace_core::learners::engine::rule::{
    BatchRule, Kind, MemberRule, OnlineRule, Order, Rule, SearchRule,
};
use halfspace_core::learners::engine::run::{
    Checkpoints, Counts, Interrupt, Run, RunLimits, StopFlag,
};
use halfspace_core::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use halfspace_core::learners::engine::stopping::Sampling;
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::{train, train_from};
use halfspace_core::learners::engine::update::Update;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::predictor::Predictor;
use halfspace_core::learners::sample::block::Block;
use halfspace_core::learners::sample::classes::ClassCodes;
use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
use halfspace_core::learners::sample::generate::{Generated, Plan};
use halfspace_core::learners::sample::source::{SharedSample, Stream};
use halfspace_formats::{Buffers, StoredExamples, digest, write_blocks};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Map, Value};

type Build = fn(&mut Setup<'_>) -> Result<Box<dyn Rule>, ParameterError>;

thread_local! {
    /// The function that builds the wrapped rule, the number of calls before the interrupt, and the flag that
    /// the interrupt raises.
    static BUILD: Cell<Option<Build>> = const { Cell::new(None) };
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    static STOP: RefCell<StopFlag> = RefCell::default();
}

/// A rule that suspends the process after a number of calls.
struct Disturbed {
    rule: Box<dyn Rule>,
    order: Order,
    may_break_off: bool,
    batch_remaining: u64,
    step: Option<f64>,
    patience: u64,
}

impl Disturbed {
    fn online(&mut self) -> &mut dyn OnlineRule {
        match self.rule.kind() {
            Kind::Online(rule) => rule,
            Kind::Search(_) => panic!("a search"),
        }
    }

    fn searching(&mut self) -> &mut dyn SearchRule {
        match self.rule.kind() {
            Kind::Search(rule) => rule,
            Kind::Online(_) => panic!("an on-line rule"),
        }
    }
}

fn called() {
    LEFT.set(LEFT.get().saturating_sub(1));
    if LEFT.get() == 0 {
        STOP.with_borrow(|stop| stop.raise(Interrupt::Suspended));
    }
}

impl Rule for Disturbed {
    fn kind(&mut self) -> Kind<'_> {
        let Kind::Online(rule) = self.rule.kind() else {
            return Kind::Search(self);
        };
        self.order = rule.order();
        self.may_break_off = rule.may_break_off();
        Kind::Online(self)
    }
    fn start_from(&mut self, hypothesis: &Hypothesis) -> Result<(), String> {
        self.rule.start_from(hypothesis)
    }
    fn mistakes(&mut self, block: &Block<'_>, stop: &StopFlag) -> u64 {
        called();
        self.rule.mistakes(block, stop)
    }
    fn evaluated(&mut self, errors: u64) {
        self.rule.evaluated(errors);
    }
    fn next_pass(&mut self, random: &mut Generator) {
        called();
        self.rule.next_pass(random);
    }
    fn clean_pass(&mut self) -> Reason {
        self.rule.clean_pass()
    }
    fn remark(&self, reason: Reason, examples: u64) -> Option<String> {
        self.rule.remark(reason, examples)
    }
    fn bytes_an_example(&self) -> u64 {
        self.rule.bytes_an_example()
    }
    fn predictor(&self) -> Predictor {
        self.rule.predictor()
    }
    fn last(&self) -> Predictor {
        self.rule.last()
    }
    fn keeps_best(&self) -> bool {
        self.rule.keeps_best()
    }
    fn why_no_bound(&self) -> &'static str {
        self.rule.why_no_bound()
    }
    fn snapshot(&mut self, snapshot: &mut SnapshotWriter) {
        self.rule.snapshot(snapshot);
    }
    fn restore(&mut self, snapshot: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.rule.restore(snapshot)
    }
    fn bound(
        &self,
        stream: &mut dyn Stream,
        counts: &Counts,
        reason: Reason,
        run: &Run,
    ) -> Result<Option<Bound>, Interrupt> {
        // The report of the bound can be interrupted too. A resumed training makes the report again.
        called();
        self.rule.bound(stream, counts, reason, run)
    }
}

impl OnlineRule for Disturbed {
    fn order(&self) -> Order {
        self.order
    }
    fn first_mistake(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        stop: &StopFlag,
    ) -> Option<usize> {
        called();
        self.online().first_mistake(block, rows, stop)
    }
    fn may_break_off(&self) -> bool {
        self.may_break_off
    }
    fn update(&mut self, block: &Block<'_>, row: usize, random: &mut Generator) -> Update {
        called();
        self.online().update(block, row, random)
    }
    fn presented(&mut self, examples: u64) -> Option<&'static str> {
        self.online().presented(examples)
    }
    fn as_batch(&mut self) -> Option<&mut dyn BatchRule> {
        self.batch_remaining = self.online().as_batch()?.batch_remaining();
        Some(self)
    }
    fn as_member(&mut self) -> Option<&mut dyn MemberRule> {
        let member = self.online().as_member()?;
        (self.step, self.patience) = (member.additive_step(), member.patience());
        Some(self)
    }
}

impl MemberRule for Disturbed {
    fn decide(&mut self, block: &Block<'_>, row: usize, stop: &StopFlag) -> Decision {
        called();
        let member = self.online().as_member().expect("asked for before");
        member.decide(block, row, stop)
    }
    fn additive_step(&self) -> Option<f64> {
        self.step
    }
    fn patience(&self) -> u64 {
        self.patience
    }
}

impl BatchRule for Disturbed {
    fn batch_remaining(&self) -> u64 {
        self.batch_remaining
    }
    fn consume(&mut self, block: &Block<'_>, rows: Range<usize>, random: &mut Generator) -> Update {
        called();
        let batch = self.online().as_batch().expect("asked for before");
        batch.consume(block, rows, random)
    }
}

impl SearchRule for Disturbed {
    fn mistakes_ahead(&mut self, _: &SharedSample<'_>, _: &StopFlag) -> Vec<u64> {
        Vec::new()
    }
    fn search(&mut self, random: &mut Generator) -> Update {
        called();
        self.searching().search(random)
    }
}

fn disturbed(setup: &mut Setup<'_>) -> Result<Box<dyn Rule>, ParameterError> {
    let build = BUILD.get().expect("set by who disturbs");
    Ok(Box::new(Disturbed {
        rule: build(setup)?,
        order: Order::Cyclic,
        may_break_off: false,
        batch_remaining: 0,
        step: None,
        patience: 0,
    }))
}

/// A copy of the catalogue entry with the disturbed rule.
fn disturbed_entry(entry: &'static LearnerEntry) -> &'static LearnerEntry {
    Box::leak(Box::new(LearnerEntry {
        name: entry.name,
        title: entry.title,
        learns: entry.learns,
        data: entry.data,
        reading: entry.reading,
        presentation: entry.presentation,
        on_line: entry.on_line,
        pace: entry.pace,
        confidence_rules: entry.confidence_rules,
        is_conservative: entry.is_conservative,
        replay: entry.replay,
        default_stop: entry.default_stop,
        parameters: entry.parameters,
        guarantee: entry.guarantee,
        source: entry.source,
        check: entry.check,
        build: disturbed,
    }))
}

/// Keeps the last checkpoint. Wants a checkpoint at every `wanted_each`-th look.
#[derive(Debug, Default)]
struct Keeps {
    looks: AtomicU64,
    wanted_each: u64,
    taken: Mutex<Option<(Counts, Vec<u8>)>>,
    refusals: AtomicU64,
}

impl Checkpoints for Keeps {
    fn is_wanted(&self) -> bool {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        looks % self.wanted_each == self.wanted_each - 1
    }

    fn take(&self, counts: &Counts, write: &mut dyn FnMut() -> Option<Vec<u8>>) {
        let state = write().expect("small states");
        *self.taken.lock().unwrap() = Some((*counts, state));
    }

    fn refused(&self) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
    }
}

/// Interrupts a training repeatedly and resumes it each time from the last checkpoint. Asserts that the outcome
/// equals the uninterrupted one. Returns the number of attempts that resumed from a state.
fn assert_goes_on(task: &Task, inputs: &[Input<'_>], context: &str) -> u64 {
    let undisturbed = train(task, inputs[0], &Run::default()).unwrap();
    BUILD.set(Some(task.entry.build));
    let broken = Task {
        entry: disturbed_entry(task.entry),
        ..task.clone()
    };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(context.len() as u64);
    let (mut state, mut counts, mut went_on) = (None::<Vec<u8>>, Counts::default(), 0);
    for attempt in 1_u64.. {
        let keeps = Arc::new(Keeps {
            wanted_each: random.random_range(1..=9),
            ..Keeps::default()
        });
        let run = Run {
            checkpoints: Some(Arc::<Keeps>::clone(&keeps)),
            ..Run::default()
        };
        STOP.replace(run.stop.clone());
        // Each attempt gets further than the one before, so the training ends.
        LEFT.set(random.random_range(1..=8 + attempt * attempt / 4));
        let input = inputs[attempt as usize % inputs.len()];
        went_on += u64::from(state.is_some());
        let ended = train_from(&broken, input, state.as_deref(), &run);
        assert_eq!(keeps.refusals.load(Ordering::Relaxed), 0, "{context}");
        match ended {
            Ok(outcome) => {
                assert_eq!(outcome, undisturbed, "{context}, attempt {attempt}");
                return went_on;
            }
            Err(why) => assert_eq!(why, Interrupt::Suspended, "{context}"),
        }
        if let Some((at, bytes)) = keeps.taken.lock().unwrap().take() {
            assert!(at.examples >= counts.examples, "{context}: never back");
            (state, counts) = (Some(bytes), at);
        }
    }
    unreachable!("it ends")
}

/// The default parameters, and each option of each choice with the other parameters at their defaults.
fn settings(entry: &LearnerEntry) -> Vec<Map<String, Value>> {
    let mut all = vec![Map::new()];
    for parameter in entry.parameters {
        if let ParameterKind::Choice { options, .. } = &parameter.kind
            && !parameter.name.contains('.')
        {
            let with =
                |option: &&str| Map::from_iter([(parameter.name.to_owned(), Value::from(*option))]);
            all.extend(options.iter().map(with));
        }
    }
    all
}

fn task(entry: &'static LearnerEntry, parameters: &Map<String, Value>) -> Task {
    Task {
        parameters: Parameters::from_json(entry.parameters, parameters).unwrap(),
        limits: RunLimits {
            max_passes: Some(12),
            max_mistakes: Some(300),
            max_examples: None,
        },
        trace: true,
        ..Task::of(entry, Seed(11))
    }
}

fn plan(entry: &LearnerEntry, n: usize, count: Option<u64>, noise: f64) -> Plan {
    let sampling = match entry.data.half_space {
        true => Sampling::UniformPositive,
        false => Sampling::Uniform,
    };
    Plan {
        count,
        noise,
        ..Plan::endless(Plan::random_target(n, Seed(3)), sampling)
    }
}

fn stored(data: &Data) -> StoredExamples {
    let mut bytes = Vec::new();
    write_blocks(data, None, None, None, &mut bytes).unwrap();
    let least = Buffers {
        whole_bytes_max: 0,
        window_bytes: 1,
    };
    let source = Box::new(Bytes::from(bytes));
    StoredExamples::open(
        source,
        digest(data, None, None, None),
        least,
        StopFlag::default(),
    )
    .unwrap()
}

/// Whether the task can run on this input. Each learner must run on some input.
fn fits(task: &Task, input: Input<'_>) -> bool {
    check(task, input, u64::MAX).is_ok()
}

/// Calls `see` with a learner, a task and the name of the case, for each setting of each learner.
fn for_each_setting(mut see: impl FnMut(&'static LearnerEntry, &Task, &str) -> u64) {
    for entry in CATALOGUE {
        let mut went_on = 0;
        for parameters in settings(entry) {
            let context = format!("{} {parameters:?}", entry.name);
            went_on += see(entry, &task(entry, &parameters), &context);
        }
        assert!(went_on > 0, "{} never went on from a state", entry.name);
    }
}

/// The attempts alternate between data in memory and stored data that are read a few rows at a time.
#[test]
fn checkpointed_runs_on_samples_equal_undisturbed_runs() {
    for_each_setting(|entry, task, context| {
        let mut went_on = 0;
        for noise in [0.0, 0.2] {
            let plan = plan(entry, 21, Some(150), noise);
            let data = Generated::materialise(plan, Seed(5), &Run::default());
            let stored = stored(&data);
            let inputs: [Input<'_>; 2] = [
                Input::Sample {
                    data: &data,
                    assume: None,
                },
                Input::Sample {
                    data: &stored,
                    assume: None,
                },
            ];
            for holdout in [None, Some(HeldOut::Share(0.3))] {
                let task = Task {
                    holdout,
                    ..task.clone()
                };
                if fits(&task, inputs[0]) {
                    let context = format!("{context}, noise {noise}, holdout {holdout:?}");
                    went_on += assert_goes_on(&task, &inputs, &context);
                }
            }
        }
        went_on
    });
}

#[test]
fn checkpointed_committees_of_three_classes_equal_undisturbed_runs() {
    let entry_of = |name| catalogue::find(name).expect("listed");
    let plan = plan(entry_of("winnow"), 20, Some(150), 0.1);
    let two = Generated::materialise(plan, Seed(5), &Run::default());
    let first = two.labels().signs().expect("two classes").clone();
    let mut second = BitVector::zeros(first.n());
    (0..first.n()).for_each(|row| second.set(row, !first.get(row) && row % 3 == 0));
    let codes = ClassCodes::of_planes(vec![first, second]);
    let data = Data::new(two.features().clone(), Labels::Labelled(codes));
    let inputs = [Input::Sample {
        data: &data,
        assume: None,
    }];
    let mut went_on = 0;
    let learners = [
        "perceptron",
        "averaged-perceptron",
        "winnow",
        "kernel-perceptron",
    ];
    for (name, multiclass) in learners.into_iter().flat_map(|name| {
        [Multiclass::OneVsRest, Multiclass::Joint].map(|multiclass| (name, multiclass))
    }) {
        let entry = entry_of(name);
        for settings in settings(entry) {
            let task = Task {
                classes: 3,
                multiclass,
                ..task(entry, &settings)
            };
            if fits(&task, inputs[0]) {
                let context = format!("{name} {multiclass:?} {settings:?}");
                went_on += assert_goes_on(&task, &inputs, &context);
            }
        }
    }
    assert!(went_on > 0);
}

#[test]
fn checkpointed_runs_on_drawn_examples_equal_undisturbed_runs() {
    for_each_setting(|entry, task, context| {
        let mut went_on = 0;
        for (n, count, noise, holdout) in [
            (8, Some(200), 0.1, None),
            (20, Some(200), 0.1, None),
            (21, Some(200), 0.0, Some(HeldOut::Share(0.25))),
            (
                21,
                Some(200),
                0.0,
                Some(HeldOut::Fold { index: 1, folds: 3 }),
            ),
            (20, None, 0.0, None),
        ] {
            let plan = plan(entry, n, count, noise);
            let input = Input::Generated(&plan);
            let mut task = Task {
                holdout,
                ..task.clone()
            };
            if count.is_none() {
                task.confidence = (!entry.confidence_rules.is_empty()).then_some(0.9);
                task.limits = RunLimits {
                    max_examples: Some(1_000),
                    max_mistakes: Some(600),
                    max_passes: None,
                };
            }
            if fits(&task, input) {
                let context = format!("{context}, n {n}, count {count:?}");
                went_on += assert_goes_on(&task, &[input], &context);
            }
        }
        went_on
    });
}

#[test]
fn checkpointed_runs_on_real_examples_equal_undisturbed_runs() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let (rows, n) = (90, 300);
    let values: Vec<f64> = (0..rows * n).map(|_| random.random()).collect();
    let mut labels = halfspace_core::bits::BitVector::zeros(rows);
    (0..rows).for_each(|row| labels.set(row, random.random()));
    let features = Features::Real(RealMatrix::from_values(n, values));
    let labels = halfspace_core::learners::sample::data::Labels::of_signs(labels);
    let data = Data::new(features, labels);
    let stored = stored(&data);
    let inputs: [Input<'_>; 2] = [
        Input::Sample {
            data: &data,
            assume: None,
        },
        Input::Sample {
            data: &stored,
            assume: None,
        },
    ];
    let mut learners = 0;
    for entry in CATALOGUE.iter().filter(|entry| entry.data.real) {
        for parameters in settings(entry) {
            let task = task(entry, &parameters);
            if fits(&task, inputs[0]) {
                let context = format!("{} {parameters:?}", entry.name);
                assert!(assert_goes_on(&task, &inputs, &context) > 0, "{context}");
                learners += 1;
            }
        }
    }
    assert!(learners > 3);
}

#[test]
fn checkpointed_warm_starts_with_confidence_equal_undisturbed_runs() {
    for entry in CATALOGUE {
        let plan = plan(entry, 20, Some(150), 0.0);
        let data = Generated::materialise(plan.clone(), Seed(5), &Run::default());
        let assume = Some(plan.sampling.into());
        let input = Input::Sample {
            data: &data,
            assume,
        };
        let mut task = task(entry, &Map::new());
        task.confidence = (!entry.confidence_rules.is_empty()).then_some(0.99);
        let first = train(&task, input, &Run::default()).unwrap();
        let another = Generated::materialise(plan, Seed(6), &Run::default());
        let input = Input::Sample {
            data: &another,
            assume,
        };
        task.start = Some(Arc::new(first.predictor));
        if fits(&task, input) {
            assert_goes_on(&task, &[input], entry.name);
        }
    }
}

/// A run whose state is truncated or empty starts from the beginning and reports the refusal.
#[test]
fn truncated_checkpoints_are_refused_and_the_run_starts_anew() {
    for entry in CATALOGUE {
        let plan = plan(entry, 21, Some(150), 0.2);
        let data = Generated::materialise(plan, Seed(5), &Run::default());
        let input = Input::Sample {
            data: &data,
            assume: None,
        };
        let task = task(entry, &Map::new());
        let undisturbed = train(&task, input, &Run::default()).unwrap();
        let keeps = Arc::new(Keeps {
            wanted_each: 2,
            ..Keeps::default()
        });
        let run = Run {
            checkpoints: Some(Arc::<Keeps>::clone(&keeps)),
            ..Run::default()
        };
        assert_eq!(train(&task, input, &run).unwrap(), undisturbed);
        let taken = keeps.taken.lock().unwrap().take();
        let (_, state) = taken.expect("one was wanted");
        for bytes in [&state[..state.len() - 1], &state[..8], b""] {
            let again = train_from(&task, input, Some(bytes), &run).unwrap();
            assert_eq!(again, undisturbed, "{}", entry.name);
        }
        assert_eq!(keeps.refusals.load(Ordering::Relaxed), 3, "{}", entry.name);
    }
}
