//! Learners of half-spaces over Boolean and real examples.
//!
//! A half-space classifies an example `x` by the sign of a weighted sum of its features. A *learner* reads examples and
//! changes its *hypothesis*, usually after a mistake. Besides the learners, this crate contains the theory that bounds
//! their mistakes and the procedures that prove facts about a sample. It is pure: no clock, no I/O, no asynchronous
//! code, and every random choice comes from a seed.
//!
//! # How the parts fit together
//!
//! A Boolean example of n features takes n bits, unless so few features are active that a list of these takes less. A
//! [`bits::BitMatrix`] stores 64 examples per block, word by word, so that one instruction compares a weight vector
//! with many of them. Every kernel of [`bits`] has a scalar twin that specifies it.
//!
//! A learner implements one small trait, [`Rule`](learners::engine::rule::Rule), which says how examples change a
//! hypothesis. Everything else is shared. One loop, behind [`train`](learners::engine::train::train), owns the passes,
//! the order of the examples, the stopping rules, the mistake curve and the checkpoints of all learners. The
//! [`catalogue`](learners::catalogue) lists each learner with its parameters, its guarantee and its source. To add a
//! learner, you write one file and add a line to the catalogue.
//!
//! A result also says on what grounds you can trust it. [`theory`] computes the mistake bounds and the confidence of
//! the stopping rules. [`separability`] decides whether a hyperplane separates a sample, and returns the hyperplane, a
//! proof that none exists, or the limit that came first. There, floating point proposes answers but never decides.
//! [`certificates`] states what is proved about an answer.
//!
//! [`constructions`] builds the data sets of the papers' proofs, and [`samples`] makes tables to try. [`experiments`]
//! compares measurements with the theory, and [`explanations`] puts hypotheses into words. [`figures`] draws charts as
//! SVG.
//!
//! [`memory`] limits the memory of a piece of work. If you want the limits, install [`memory::CountingAllocator`] as
//! the global allocator of your program. Without it nothing counts the allocations, so the limits do not hold.
//!
//! # Example
//!
//! A perceptron learns the conjunction of two bits, and the outcome states why the run ended.
//!
//! ```
//! use halfspace_core::bits::{BitMatrix, BitVector};
//! use halfspace_core::learners::catalogue;
//! use halfspace_core::learners::sample::data::{Data, Features, Labels};
//! use halfspace_core::learners::engine::random::Seed;
//! use halfspace_core::learners::engine::run::Run;
//! use halfspace_core::learners::engine::input::Input;
//! use halfspace_core::learners::engine::task::Task;
//! use halfspace_core::learners::engine::train::train;
//! use halfspace_core::learners::engine::reason::Reason;
//!
//! let mut matrix = BitMatrix::new(2);
//! let mut labels = BitVector::zeros(4);
//! for example in 0..4 {
//!     matrix.push_row(&[example]);
//!     labels.set(example as usize, example == 0b11);
//! }
//! let data = Data::new(Features::Boolean(matrix), Labels::of_signs(labels));
//!
//! let entry = catalogue::find("perceptron").expect("a learner of the catalogue");
//! let task = Task::of(entry, Seed(1));
//! let outcome = train(&task, Input::Sample { data: &data, assume: None }, &Run::default())?;
//!
//! assert_eq!(outcome.termination.reason, Reason::Converged);
//! # Ok::<(), halfspace_core::learners::engine::run::Interrupt>(())
//! ```

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod bits;
pub mod certificates;
pub mod constructions;
pub mod experiments;
pub mod explanations;
pub mod figures;
pub mod learners;
pub mod memory;
pub mod samples;
pub mod separability;
pub mod suggestions;
pub mod theory;
