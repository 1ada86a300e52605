//! The certificates against independent methods, on small samples made at random or by hand.

mod fourier_motzkin;
mod margin_scales;
mod maximum_margin;
mod samples;
mod separability;
mod version_space;
