//! Certificates: statements of how far an answer can be trusted.

pub mod binomial;
pub mod compression;
pub mod progressive;
pub mod survival;
pub mod test_set;
pub mod uniqueness;

#[cfg(test)]
mod tests;
