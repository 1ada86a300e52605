//! What goes down to, and comes up from, the visitors of one JSON document.
//!
//! Data forms stand anywhere inside derived request structs, and `Deserialize` hands nothing down
//! to them and lets only text come up. So a scope of the thread stands open for the time of one
//! document, which is read in one go: the limits go down through it, and the typed fault comes up
//! through it. Without a scope the default limits hold and faults are plain text.

use std::cell::RefCell;

use super::Limits;
use super::error::Fault;

struct Scope {
    limits: Limits,
    /// Features an example, where somebody knows before the document is read.
    n: Option<usize>,
    /// The last fault raised, and the pointer from the value that raised it to what is at fault.
    raised: Option<(Fault, String)>,
}

thread_local! {
    static SCOPES: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
}

/// Closes the scope, also when a visitor panics.
struct Open;

impl Open {
    fn close(self) -> Option<(Fault, String)> {
        let raised = SCOPES.with_borrow_mut(|scopes| scopes.last_mut()?.raised.take());
        drop(self);
        raised
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        SCOPES.with_borrow_mut(Vec::pop);
    }
}

/// Runs `read` under `limits`, for examples of `n` features if that is known; answers its result and
/// the fault that it raised last.
pub(super) fn within<T>(
    limits: &Limits,
    n: Option<usize>,
    read: impl FnOnce() -> T,
) -> (T, Option<(Fault, String)>) {
    let limits = limits.clone();
    SCOPES.with_borrow_mut(|scopes| {
        scopes.push(Scope {
            limits,
            n,
            raised: None,
        });
    });
    let open = Open;
    let result = read();
    (result, open.close())
}

/// The limits of the document being read.
pub(super) fn limits() -> Limits {
    let scoped = SCOPES.with_borrow(|scopes| Some(scopes.last()?.limits.clone()));
    scoped.unwrap_or_default()
}

/// Features an example of the document being read, if that was known before.
pub(super) fn n() -> Option<usize> {
    SCOPES.with_borrow(|scopes| scopes.last()?.n)
}

/// Raises a fault of the value being read.
pub(super) fn raise<E: serde::de::Error>(fault: Fault) -> E {
    raise_below(fault, "")
}

/// Raises a fault that stands at `below`, a pointer from the value being read.
pub(super) fn raise_below<E: serde::de::Error>(fault: Fault, below: &str) -> E {
    let error = E::custom(&fault);
    SCOPES.with_borrow_mut(|scopes| {
        if let Some(scope) = scopes.last_mut() {
            scope.raised = Some((fault, below.to_owned()));
        }
    });
    error
}
