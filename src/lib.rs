//! halfspace: learning as a service.

pub mod bits;
pub mod formats;
pub mod learners;
pub mod records;
pub mod storage;
