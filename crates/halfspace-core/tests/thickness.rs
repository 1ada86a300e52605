//! Thickness: runs beside their definition in whole numbers, and the bounds on the updates in many random streams.

use halfspace_core::bits::{BitMatrix, BitVector, SparseMatrix, SparseRow};
use halfspace_core::learners::catalogue::find;
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::engine::input::Input;
use halfspace_core::learners::engine::outcome::RunOutcome;
use halfspace_core::learners::engine::parameters::Parameters;
use halfspace_core::learners::engine::random::Seed;
use halfspace_core::learners::engine::reason::Reason;
use halfspace_core::learners::engine::run::{Run, RunLimits};
use halfspace_core::learners::engine::task::Task;
use halfspace_core::learners::engine::train::train;
use halfspace_core::learners::hypothesis::Hypothesis;
use halfspace_core::learners::linear::linear_weights::LinearWeights;
use halfspace_core::learners::sample::classes::{ClassCodes, planes_for};
use halfspace_core::learners::sample::data::{Data, Features, Labels};
use halfspace_core::learners::winnow::winnow_bound;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

/// The places of a weight after the point, and that of a theta, in the definitions.
const TENTHS: i128 = 10;
/// The weight 1 of Winnow. Exponents below -90 would be rounded.
const POWER_ONE: i128 = 1 << 90;

/// The features that a learner gives weights to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Space {
    /// One per bit, read as -1 or 1, and a constant.
    Signed,
    /// One per bit, read as 0 or 1.
    Unsigned,
    /// One per set of bits, 1 if all of them are. The empty set counts for additive learners only.
    Conjunctions,
}

impl Space {
    fn of(self, x: u32, n: u32, has_constant: bool) -> Vec<i128> {
        let bit = |j: u32| i128::from(x >> j & 1);
        match self {
            Self::Signed => (0..n).map(|j| 2 * bit(j) - 1).chain([1]).collect(),
            Self::Unsigned => (0..n).map(bit).collect(),
            Self::Conjunctions => (u32::from(!has_constant)..1 << n)
                .map(|set| i128::from(set & x == set))
                .collect(),
        }
    }
}

/// How the weights of a definition change, with the threshold and the thickness.
#[derive(Clone, Copy, Debug)]
enum Steps {
    /// By multiples of the example, in tenths.
    Additive { eta: i128, tau: i128 },
    /// By factors of 2. The share is in hundredths.
    Doubling { theta: i128, share: i128 },
}

/// One rule by its definition. The weights are tenths, or exponents.
#[derive(Clone)]
struct Definition {
    steps: Steps,
    weights: Vec<i128>,
}

impl Definition {
    fn score(&self, x: &[i128]) -> i128 {
        let terms = self.weights.iter().zip(x);
        match self.steps {
            Steps::Additive { .. } => terms.map(|(w, x)| w * x).sum(),
            Steps::Doubling { .. } => {
                let power = |e: i128| match e < 0 {
                    true => POWER_ONE >> -e,
                    false => POWER_ONE << e,
                };
                let power = |(e, x): (&i128, &i128)| x * 100 * power(*e);
                terms.map(power).sum()
            }
        }
    }

    /// The threshold and the thickness.
    fn threshold(&self) -> (i128, i128) {
        match self.steps {
            Steps::Additive { tau, .. } => (0, tau),
            Steps::Doubling { theta, share } => {
                (100 * theta * POWER_ONE, share * theta * POWER_ONE)
            }
        }
    }

    fn is_positive(&self, x: &[i128]) -> bool {
        self.score(x) >= self.threshold().0
    }

    fn learns(&self, x: &[i128], label: bool) -> bool {
        let (theta, tau) = self.threshold();
        match label {
            true => self.score(x) < theta + tau,
            false => self.score(x) >= theta - tau,
        }
    }

    /// Returns whether a weight changed, or would for an example without features.
    fn update(&mut self, x: &[i128], label: bool) -> bool {
        let sign = if label { 1 } else { -1 };
        for (w, x) in self.weights.iter_mut().zip(x) {
            *w += match self.steps {
                Steps::Additive { eta, .. } => sign * eta * x,
                Steps::Doubling { .. } => sign * x,
            };
        }
        matches!(self.steps, Steps::Additive { .. }) || x.iter().any(|x| *x != 0)
    }
}

/// Examples by their bits and codes.
struct Examples {
    n: u32,
    classes: usize,
    rows: Vec<(u32, u32)>,
}

impl Examples {
    fn random(random: &mut StdRng) -> Self {
        let (n, classes) = (random.random_range(2..5), random.random_range(2..5));
        let target: Vec<Vec<i32>> = (0..classes)
            .map(|_| (0..=n).map(|_| random.random_range(-3..=3)).collect())
            .collect();
        let count = random.random_range(3..30);
        let row = |_| {
            let x = random.random_range(0..1 << n);
            let of = |w: &Vec<i32>| {
                (0..n)
                    .map(|j| w[j as usize] * (x >> j & 1) as i32)
                    .sum::<i32>()
                    + w[n as usize]
            };
            let best = (0..classes)
                .max_by_key(|class| of(&target[*class]))
                .expect("classes") as u32;
            let noisy = random.random_range(0..classes as u32);
            (x, if random.random_bool(0.1) { noisy } else { best })
        };
        let rows = (0..count).map(row).collect();
        Self { n, classes, rows }
    }

    fn data(&self, is_sparse: bool) -> Data {
        let (n, count) = (self.n as usize, self.rows.len());
        let (mut bits, mut sparse) = (BitMatrix::new(n), SparseMatrix::new(n, false));
        let mut planes = vec![BitVector::zeros(count); planes_for(self.classes)];
        for (at, (x, code)) in self.rows.iter().enumerate() {
            bits.push_row(&[u64::from(*x)]);
            let ids: Vec<u32> = (0..self.n).filter(|j| x >> j & 1 == 1).collect();
            sparse.push_row(SparseRow {
                ids: &ids,
                values: None,
            });
            for (bit, plane) in planes.iter_mut().enumerate() {
                plane.set(at, code >> bit & 1 == 1);
            }
        }
        let features = match is_sparse {
            true => Features::Sparse(sparse),
            false => Features::Boolean(bits),
        };
        Data::new(features, Labels::Labelled(ClassCodes::of_planes(planes)))
    }
}

/// What a run counts, and its weights.
#[derive(Debug, PartialEq)]
struct Counted {
    mistakes: u64,
    updates: u64,
    passes: u64,
    members: Vec<u64>,
    first: FirstPass,
}

/// What the certificates rest on: the mistakes of the first pass, the rows that changed the hypothesis or could have,
/// and the rows after the last of them.
#[derive(Debug, Default, PartialEq)]
struct FirstPass {
    mistakes: u64,
    changes: u64,
    run_length: u64,
}

/// The first class with the largest score.
fn leader(scores: &[i128]) -> usize {
    (1..scores.len()).fold(
        0,
        |best, at| if scores[at] > scores[best] { at } else { best },
    )
}

/// The run by its definition, and its rules.
fn define(
    examples: &Examples,
    rows: &[Vec<i128>],
    rule: &Definition,
    multiclass: Multiclass,
    passes: u64,
) -> (Counted, Vec<Definition>) {
    let is_pair = examples.classes == 2;
    let mut rules = vec![rule.clone(); if is_pair { 1 } else { examples.classes }];
    let mut counted = Counted {
        mistakes: 0,
        updates: 0,
        passes: 0,
        members: vec![0; if is_pair { 0 } else { rules.len() }],
        first: FirstPass::default(),
    };
    while counted.passes < passes {
        counted.passes += 1;
        let before = (counted.mistakes, counted.updates);
        for (x, (_, code)) in rows.iter().zip(&examples.rows) {
            let class = *code as usize;
            let scores: Vec<i128> = rules.iter().map(|rule| rule.score(x)).collect();
            let is_wrong = match is_pair {
                true => rules[0].is_positive(x) != (class == 1),
                false => leader(&scores) != class,
            };
            counted.mistakes += u64::from(is_wrong);
            let mut lessons = Vec::new();
            match multiclass {
                _ if is_pair => lessons.extend(rules[0].learns(x, class == 1).then_some(0)),
                Multiclass::OneVsRest => {
                    lessons.extend((0..rules.len()).filter(|at| rules[*at].learns(x, *at == class)))
                }
                Multiclass::Joint => {
                    // The score of the true class, reduced by the thickness, competes with the others.
                    let mut reduced = scores.clone();
                    reduced[class] -= rule.threshold().1;
                    let winner = leader(&reduced);
                    if winner != class {
                        lessons.extend([class, winner]);
                    }
                }
            }
            let mut is_changed = false;
            for at in lessons {
                let is_own = if is_pair { class == 1 } else { at == class };
                if !is_pair {
                    let is_mistake = match multiclass {
                        Multiclass::OneVsRest => rules[at].is_positive(x) != is_own,
                        Multiclass::Joint => is_wrong,
                    };
                    counted.members[at] += u64::from(is_mistake);
                }
                is_changed |= rules[at].update(x, is_own);
            }
            counted.updates += u64::from(is_changed);
            if counted.passes == 1 {
                let is_change = is_wrong || is_changed;
                counted.first.mistakes += u64::from(is_wrong);
                counted.first.changes += u64::from(is_change);
                counted.first.run_length = if is_change {
                    0
                } else {
                    counted.first.run_length + 1
                };
            }
        }
        if (counted.mistakes, counted.updates) == before {
            break;
        }
    }
    (counted, rules)
}

fn run(
    learner: &str,
    params: &Value,
    multiclass: Multiclass,
    passes: u64,
    data: &Data,
    classes: usize,
) -> RunOutcome {
    let entry = find(learner).expect("listed");
    let params = params.as_object().expect("an object");
    let task = Task {
        classes,
        multiclass,
        parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
        limits: RunLimits {
            max_passes: Some(passes),
            ..RunLimits::default()
        },
        ..Task::of(entry, Seed(1))
    };
    let input = Input::Sample { data, assume: None };
    train(&task, input, &Run::default()).expect("an end")
}

/// The weights of a hypothesis as the definition counts them. None for kernels.
fn weights(member: &Hypothesis) -> Option<Vec<i128>> {
    match member {
        Hypothesis::Linear(LinearWeights::Integer(own)) => {
            let (weights, bias) = LinearWeights::Integer(own.clone()).numbers();
            let tenths = |w: f64| (w * TENTHS as f64).round() as i128;
            Some(weights.into_iter().chain(bias).map(tenths).collect())
        }
        Hypothesis::Winnow(own) => Some(own.exponents().iter().map(|&e| e.into()).collect()),
        _ => None,
    }
}

/// Learner, parameters, rule and features of a random case.
fn case(random: &mut StdRng, n: u32) -> (&'static str, Value, Definition, Space, bool) {
    let (eta, eta_text) = [(10, 1.0), (30, 3.0), (1, 0.1)][random.random_range(0..3)];
    let (tau, tau_text) =
        [(0, 0.0), (3, 0.3), (10, 1.0), (25, 2.5), (70, 7.0)][random.random_range(0..5)];
    let share = [0, 20, 37, 90][random.random_range(0..4)];
    let theta = random.random_range(1..=12_i128);
    let additive = |eta| Steps::Additive { eta, tau };
    let doubling = Steps::Doubling { theta, share };
    let of_share = json!({"theta": theta.to_string(), "thickness": share as f64 / 100.0});
    let of_tau = json!({"eta": eta_text, "thickness": tau_text, "order": "cyclic"});
    let mut unsigned = of_tau.clone();
    unsigned["reading"] = "unsigned".into();
    unsigned["bias"] = false.into();
    let kernel = json!({"kernel.conjunctions": "monotone", "thickness": tau_text});
    let (learner, params, steps, space) = match random.random_range(0..5) {
        0 => ("perceptron", of_tau, additive(eta), Space::Signed),
        1 => (
            "averaged-perceptron",
            unsigned,
            additive(eta),
            Space::Unsigned,
        ),
        2 => (
            "kernel-perceptron",
            kernel,
            additive(TENTHS),
            Space::Conjunctions,
        ),
        3 => ("winnow", of_share, doubling, Space::Unsigned),
        _ => ("kernel-winnow", of_share, doubling, Space::Conjunctions),
    };
    let has_constant = matches!(steps, Steps::Additive { .. });
    let weights = vec![0; space.of(0, n, has_constant).len()];
    (
        learner,
        params,
        Definition { steps, weights },
        space,
        has_constant,
    )
}

#[test]
fn thick_runs_equal_their_definition() {
    let random = &mut StdRng::seed_from_u64(7);
    let (mut near, mut joint) = (0, 0);
    for at in 0..1_500 {
        let examples = Examples::random(random);
        let (learner, params, rule, space, has_constant) = case(random, examples.n);
        let is_linear = learner.ends_with("perceptron") && learner != "kernel-perceptron";
        let multiclass = match is_linear && examples.classes > 2 && random.random() {
            true => Multiclass::Joint,
            false => Multiclass::OneVsRest,
        };
        // At most 3 x 29 demotions, which the definition does not round.
        let passes = random.random_range(1..if is_linear { 25 } else { 4 });
        let rows: Vec<Vec<i128>> = examples
            .rows
            .iter()
            .map(|(x, _)| space.of(*x, examples.n, has_constant))
            .collect();
        let (defined, rules) = define(&examples, &rows, &rule, multiclass, passes);
        let data = examples.data(at % 2 == 0);
        let outcome = run(
            learner,
            &params,
            multiclass,
            passes,
            &data,
            examples.classes,
        );
        let counts = outcome.counts;
        let tested = outcome
            .grounds
            .tested
            .clone()
            .expect("tests one by one")
            .expect("no names left out");
        let found = Counted {
            first: FirstPass {
                mistakes: tested.mistakes,
                changes: tested.changes,
                run_length: tested.run_length,
            },
            mistakes: counts.mistakes,
            updates: counts.updates,
            passes: counts.passes,
            members: outcome
                .members
                .iter()
                .map(|member| member.mistakes)
                .collect(),
        };
        let what = format!("case {at}: {learner} {params} {multiclass:?}");
        assert_eq!(found, defined, "{what}");
        if learner != "averaged-perceptron" {
            for (member, rule) in outcome.predictor.members().iter().zip(&rules) {
                if let Some(weights) = weights(member) {
                    assert_eq!(weights, rule.weights, "{what}");
                }
            }
        }
        near += u64::from(counts.updates > counts.mistakes);
        joint += u64::from(multiclass == Multiclass::Joint);
    }
    assert!(
        near > 500 && joint > 100,
        "{near} thick runs, {joint} joint ones"
    );
}

/// The updates of a run stay within the bound of the target that labelled it, and within that of its own weights.
#[test]
fn thick_bounds_hold_in_two_thousand_streams() {
    let random = &mut StdRng::seed_from_u64(8);
    let (mut stated, mut beyond) = (0, 0);
    for stream in 0..2_000 {
        let (n, classes) = (random.random_range(3..8_u32), [2, 2, 4][stream % 3]);
        let target: Vec<Vec<i128>> = (0..classes)
            .map(|_| (0..=n).map(|_| random.random_range(-3..=3)).collect())
            .collect();
        let mut examples = Examples {
            n,
            classes,
            rows: Vec::new(),
        };
        let (mut gap, mut norm) = (i128::MAX, 0);
        for _ in 0..200 {
            let x = random.random_range(0..1 << n);
            let features = Space::Signed.of(x, n, true);
            let product = |w: &Vec<i128>| w.iter().zip(&features).map(|(w, x)| w * x).sum::<i128>();
            let scores: Vec<i128> = match classes {
                2 => vec![-product(&target[1]), product(&target[1])],
                _ => target.iter().map(product).collect(),
            };
            let class = leader(&scores);
            let others = (0..classes).filter(|at| *at != class).map(|at| scores[at]);
            let own = scores[class] - others.max().expect("others");
            if own > 0 && examples.rows.len() < 40 {
                gap = gap.min(if classes == 2 { scores[class] } else { own });
                examples.rows.push((x, class as u32));
            }
        }
        if examples.rows.is_empty() {
            continue;
        }
        for own in if classes == 2 { &target[1..] } else { &target } {
            norm += own.iter().map(|w| w * w).sum::<i128>();
        }
        let (eta, tau) = (
            [1.0, 3.0, 0.5][stream / 3 % 3],
            [0.5, 4.0, 10.0][stream / 9 % 3],
        );
        let multiclass = if classes == 2 {
            Multiclass::OneVsRest
        } else {
            Multiclass::Joint
        };
        let learner = ["perceptron", "averaged-perceptron"][stream / 27 % 2];
        let params = json!({"eta": eta, "thickness": tau, "order": "cyclic"});
        let outcome = run(
            learner,
            &params,
            multiclass,
            400,
            &examples.data(false),
            classes,
        );
        let twice = if classes == 2 { 1.0 } else { 2.0 };
        let lengths = twice * f64::from(n + 1);
        let most = |lengths: f64| lengths * norm as f64 / (gap * gap) as f64;
        let updates = outcome.counts.updates as f64;
        assert!(
            updates <= most(lengths + 2.0 * tau / eta),
            "stream {stream}"
        );
        beyond += u64::from(updates > most(lengths));
        if outcome.termination.reason != Reason::Converged {
            continue;
        }
        let bound = outcome.bound.expect("a converged run");
        let own = bound.mistakes_at_most.expect("a margin of tau");
        assert_eq!(bound.respected, Some(updates <= own), "stream {stream}");
        assert!(updates <= own, "stream {stream}: {updates} > {own}");
        assert!(bound.detail.expect("a note").contains("updates"));
        stated += 1;
    }
    assert!(stated > 1_000, "{stated} bounds were stated");
    assert!(
        beyond > 20,
        "{beyond} runs exceed the bound without thickness"
    );
}

/// A disjunction of the first k features labels the examples. Its weights in the features of Winnow and of the kernel
/// bound the updates, and so does the bound that a run states.
#[test]
fn thick_bounds_of_winnow_and_kernels_hold_in_two_thousand_streams_each() {
    let random = &mut StdRng::seed_from_u64(13);
    let (mut stated, mut beyond) = ([0; 2], [0; 2]);
    for stream in 0..4_000 {
        let n = random.random_range(3..9_u32);
        let k = random.random_range(1..=n.min(4));
        let xs: Vec<u32> = (0..40).map(|_| random.random_range(0..1 << n)).collect();
        let class = |x: u32| u32::from(x & ((1 << k) - 1) != 0);
        let examples = Examples {
            n,
            classes: 2,
            rows: xs.iter().map(|&x| (x, class(x))).collect(),
        };
        let choice = stream / 2 % 3;
        let is_kernel = stream % 2;
        let (learner, params, most, most_if_thin) = if is_kernel == 1 {
            let conjunctions = ["monotone", "all"][stream / 6 % 2];
            let tau = [1.0, 30.0, 1000.0][choice];
            // The disjunction is the sign of 2 x_1 + ... + 2 x_k - 1, whose margin is 1. Conjunctions of one feature
            // have the weight 2, and the empty one has -1.
            let active = xs.iter().map(|x| x.count_ones()).max().unwrap_or(0);
            let length = 2_f64.powi(if conjunctions == "all" { n } else { active } as i32);
            let norm = f64::from(4 * k + 1);
            let params = json!({"kernel": {"conjunctions": conjunctions}, "thickness": tau});
            let most = (length + 2.0 * tau) * norm;
            ("kernel-perceptron", params, most, length * norm)
        } else {
            let alpha = [2.0, 1.5, 3.0][stream / 6 % 3];
            let share = [0.2, 0.5, 0.9][choice];
            // The sum of all weights begins at n, and is never negative.
            let most = |share: f64| {
                let (low, high) = (f64::from(n) * (1.0 - share), f64::from(n) * (1.0 + share));
                let promotions = f64::from(k) * (1.0 + high.ln() / f64::ln(alpha));
                let added = f64::from(n) + promotions * (alpha - 1.0) * high;
                promotions + added / ((1.0 - 1.0 / alpha) * low)
            };
            let params = json!({"alpha": alpha, "thickness": share, "relevant": k});
            ("winnow", params, most(share), most(0.0))
        };
        let data = examples.data(false);
        let outcome = run(learner, &params, Multiclass::OneVsRest, 500, &data, 2);
        let updates = outcome.counts.updates as f64;
        assert!(
            updates <= most * (1.0 + 1e-9),
            "stream {stream}: {updates} > {most}"
        );
        beyond[is_kernel] += u64::from(updates > most_if_thin);
        // A run of a kernel that ends before it converges states none.
        if let Some(bound) = outcome.bound
            && let Some(own) = bound.mistakes_at_most
        {
            assert!(updates <= own, "stream {stream}: {updates} > {own}");
            assert_eq!(bound.respected, Some(true), "stream {stream}");
            assert!(
                is_kernel == 1 || own <= most * (1.0 + 1e-9),
                "stream {stream}: {own} > {most}"
            );
            stated[is_kernel] += 1;
        }
    }
    assert!(
        stated.iter().all(|stated| *stated > 1_500),
        "{stated:?} bounds were stated"
    );
    assert!(
        beyond.iter().all(|beyond| *beyond > 20),
        "{beyond:?} runs exceed the bounds without thickness"
    );
}

/// A disjunction of the names 0..k labels the examples. Winnow is shown names that it has never seen.
struct Names {
    k: u32,
    active: usize,
    seen: u32,
    rows: Vec<(Vec<u32>, bool)>,
}

impl Names {
    /// The heaviest irrelevant names, known or new, whose sum with `first` stays below `limit`. They end as soon as the
    /// sum reaches `enough`.
    fn heaviest(&self, rule: &Definition, first: Vec<u32>, enough: f64, limit: f64) -> Vec<u32> {
        let weight = |id: u32| {
            let exponent = rule.weights.get(id as usize).copied().unwrap_or(0);
            2_f64.powi(exponent as i32)
        };
        let mut known: Vec<u32> = (self.k..self.seen).collect();
        known.sort_by(|one, other| weight(*other).total_cmp(&weight(*one)));
        let mut sum: f64 = first.iter().map(|id| weight(*id)).sum();
        let mut ids = first;
        for id in known
            .into_iter()
            .chain(self.seen..self.seen + self.active as u32)
        {
            if ids.len() == self.active || sum >= enough {
                break;
            }
            if sum + weight(id) < limit {
                sum += weight(id);
                ids.push(id);
            }
        }
        ids.sort_unstable();
        ids
    }

    /// A negative example that barely reaches theta - tau, or a positive one that just stays below theta + tau.
    fn lesson(&self, rule: &Definition, theta: f64, tau: f64) -> Vec<u32> {
        let negative = self.heaviest(rule, Vec::new(), theta - tau, f64::INFINITY);
        if rule.learns(&presence(&negative, self.seen + self.active as u32), false) {
            return negative;
        }
        let lightest = (0..self.k).min_by_key(|id| rule.weights[*id as usize]);
        let first = lightest.into_iter().collect();
        self.heaviest(rule, first, f64::INFINITY, theta + tau)
    }

    fn random(&self, random: &mut StdRng) -> Vec<u32> {
        let count = random.random_range(0..=self.active);
        let mut ids: Vec<u32> = (0..count)
            .map(|_| random.random_range(0..self.seen + 9))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

fn presence(ids: &[u32], names: u32) -> Vec<i128> {
    let mut x = vec![0; names as usize];
    ids.iter().for_each(|id| x[*id as usize] = 1);
    x
}

/// An adversary sees the weights and chooses an example that teaches as long as there is one.
#[test]
fn winnow_over_names_keeps_its_bound_against_a_greedy_adversary() {
    let random = &mut StdRng::seed_from_u64(9);
    let (mut largest, mut updated) = (0.0_f64, 0);
    for stream in 0..2_000 {
        let (k, active) = (
            random.random_range(1..6_u32),
            random.random_range(2..12_usize),
        );
        let share = [0, 20, 40][stream % 3];
        let theta = 4 * active as i128;
        let mut rule = Definition {
            steps: Steps::Doubling { theta, share },
            weights: vec![0; k as usize],
        };
        let mut names = Names {
            k,
            active,
            seen: k,
            rows: Vec::new(),
        };
        let mut updates = 0;
        let tau = theta as f64 * share as f64 / 100.0;
        for _ in 0..150 {
            let ids = match random.random_bool(0.9) {
                true => names.lesson(&rule, theta as f64, tau),
                false => names.random(random),
            };
            let label = ids.iter().any(|id| *id < k);
            names.seen = names.seen.max(ids.last().map_or(0, |last| last + 1));
            rule.weights.resize(names.seen as usize, 0);
            let x = presence(&ids, names.seen);
            if rule.learns(&x, label) {
                updates += u64::from(rule.update(&x, label));
            }
            names.rows.push((ids, label));
        }
        let mut sparse = SparseMatrix::new(names.seen as usize, false);
        let mut signs = BitVector::zeros(names.rows.len());
        for (at, (ids, label)) in names.rows.iter().enumerate() {
            sparse.push_row(SparseRow { ids, values: None });
            signs.set(at, *label);
        }
        let data = Data::new(Features::Sparse(sparse), Labels::of_signs(signs));
        let entry = find("winnow").expect("listed");
        let params = json!({"relevant": k, "thickness": share as f64 / 100.0});
        let params = params.as_object().expect("an object");
        let mut task = Task {
            parameters: Parameters::from_json(entry.parameters, params).expect("parameters"),
            active_max: Some(active as u64),
            limits: RunLimits {
                max_passes: Some(1),
                ..RunLimits::default()
            },
            ..Task::of(entry, Seed(1))
        };
        task.read_names().expect("a learner of names");
        let input = Input::Sample {
            data: &data,
            assume: None,
        };
        let outcome = train(&task, input, &Run::default()).expect("an end");
        assert_eq!(outcome.counts.updates, updates, "stream {stream}");
        let bound = outcome.bound.expect("a disjunction");
        let most = bound.mistakes_at_most.expect("theta is large enough");
        let ln_theta = (theta as f64).ln();
        let stated = winnow_bound::updates_over_names(
            2.0,
            ln_theta,
            share as f64 / 100.0,
            active as f64,
            k.into(),
        );
        assert_eq!(Some(most), stated, "stream {stream}");
        assert!(
            updates as f64 <= most,
            "stream {stream}: {updates} > {most}"
        );
        assert_ne!(bound.respected, Some(false), "stream {stream}");
        let has_note = bound
            .detail
            .expect("a reason")
            .contains("the bound is on the updates");
        assert_eq!(has_note, share > 0, "stream {stream}");
        largest = largest.max(updates as f64 / most);
        updated += updates;
    }
    assert!(updated > 20_000, "{updated} updates");
    assert!(
        largest > 0.3,
        "the adversary reaches {largest} of the bound"
    );
}
