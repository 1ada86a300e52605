//! The one integration binary: linking once is quicker than once for each file.

mod readme;
mod store_contract;
