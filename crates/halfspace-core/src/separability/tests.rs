//! Tests the proofs about samples against independent methods, on small random and hand-made samples.

mod fourier_motzkin;
mod margin_scales;
mod maximum_margin;
mod samples;
mod separability;
mod version_space;
