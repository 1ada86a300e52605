//! Progressive validation: a bound on the mean error of the hypotheses of a run, each of which was tested on the next
//! fresh example.
//!
//! A learner predicts T fresh examples, each before it learns from it, and makes M mistakes. Let p be the mean error of
//! its hypotheses. With probability at least 1 - delta, `sum_j w_j exp(-l_j M) (1 - c_j p)^(-T) < 1 / delta` holds for
//! all T at once, where `c_j = 1 - exp(-l_j)`. The weights w_j are equal, and the l_j are geometric from 1e-4 to 4.
//!
//! For the proof, take the product of `exp(-l [mistake]) / (1 - c err)` over the examples. Its expectation is 1. The
//! logarithm is concave, so the form with the mean error is smaller than this product. The sum is therefore below a
//! non-negative martingale, which Ville's inequality bounds. Source: S. R. Howard, A. Ramdas, J. McAuliffe and J.
//! Sekhon, Time-uniform Chernoff bounds via nonnegative supermartingales, Probability Surveys 17 (2020).

pub const SOURCE: &str = "S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, Time-uniform Chernoff bounds via \
                          nonnegative supermartingales, Probability Surveys 17 (2020)";

/// The number of exponents l.
const EXPONENTS: u32 = 60;

/// The smallest and the largest exponent.
const RANGE: [f64; 2] = [1e-4, 4.0];

/// The bound on the mean error of the hypotheses after `mistakes` mistakes on `examples` tested examples.
pub fn mean_error_at_most(mistakes: u64, examples: u64, confidence: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    if !is_refuted(high, mistakes, examples, confidence) {
        return high;
    }
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        match is_refuted(middle, mistakes, examples, confidence) {
            true => high = middle,
            false => low = middle,
        }
    }
}

/// Whether the bound excludes a mean error of `p`, from 0 to 1.
pub fn is_refuted(p: f64, mistakes: u64, examples: u64, confidence: f64) -> bool {
    let (mistakes, examples) = (mistakes as f64, examples as f64);
    let [first, last] = RANGE;
    let step = libm::log(last / first) / f64::from(EXPONENTS - 1);
    let logarithms = (0..EXPONENTS).map(|j| {
        let l = first * libm::exp(step * f64::from(j));
        -l * mistakes - examples * libm::log1p(libm::expm1(-l) * p)
    });
    ln_mean(logarithms) >= -libm::log1p(-confidence)
}

/// The logarithm of the mean of [`EXPONENTS`] numbers that are given by their logarithms.
fn ln_mean(logarithms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = logarithms.clone().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logarithms.map(|ln| libm::exp(ln - largest)).sum();
    largest + libm::log(sum / f64::from(EXPONENTS))
}
