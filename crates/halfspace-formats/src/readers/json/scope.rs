//! Scope of one JSON document: the limits for its visitors, and the typed faults that they raise.
//!
//! Data forms can be anywhere inside derived request structs, but `Deserialize` gives them no context and returns
//! errors only as text. A document is read in one go, so the thread keeps a scope open while it reads. Limits and the
//! meaning of examples go down through this scope, and the typed fault comes up. Without a scope the default limits
//! apply, labels are those of new data, and faults are plain text.

use std::cell::RefCell;

use crate::building::label_names::LabelNames;
use crate::building::text_rules::TextRules;
use crate::error::Fault;
use crate::options::{Options, ParseLimits};
use crate::readers::json::window::SharedWindow;

/// Facts about the tensor of a document that are known before the document is read.
#[derive(Clone)]
pub(crate) struct TensorScope {
    /// Features per example.
    pub(crate) n: usize,
    pub(crate) window: SharedWindow,
}

/// What the request says about the examples of a document.
#[derive(Clone)]
pub(crate) struct Meaning {
    /// The labels. None if they are ignored.
    pub(crate) labels: Option<LabelNames>,
    /// Whether features have names, also if no example has one.
    pub(crate) open_vocabulary: bool,
    pub(crate) texts: TextRules,
}

struct Scope {
    limits: ParseLimits,
    meaning: Meaning,
    tensor: Option<TensorScope>,
    /// The last fault raised, and the pointer from the value that raised it to the faulty part.
    raised: Option<(Fault, String)>,
}

thread_local! {
    static SCOPES: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
}

impl Meaning {
    /// The examples decide whether features have names.
    pub(crate) fn of_labels(labels: Option<LabelNames>) -> Self {
        Self {
            labels,
            open_vocabulary: false,
            texts: TextRules::default(),
        }
    }

    /// What these options say.
    ///
    /// # Errors
    /// Options that exclude each other.
    pub(crate) fn of(options: &Options) -> Result<Self, Fault> {
        let positive = options.table.positive.as_deref();
        Ok(Self {
            labels: LabelNames::beside(&options.label_rule, positive)?,
            open_vocabulary: options.open_vocabulary,
            texts: TextRules::of(options)?,
        })
    }
}

/// Closes the scope, even if a visitor panics.
struct ScopeGuard;

impl ScopeGuard {
    fn close(self) -> Option<(Fault, String)> {
        let raised = SCOPES.with_borrow_mut(|scopes| scopes.last_mut()?.raised.take());
        drop(self);
        raised
    }
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        SCOPES.with_borrow_mut(Vec::pop);
    }
}

/// Runs `read` under `limits` and with this meaning of examples, and with a tensor if the document may contain one.
/// Returns the result and the last fault raised.
pub(crate) fn within<T>(
    limits: &ParseLimits,
    meaning: Meaning,
    tensor: Option<TensorScope>,
    read: impl FnOnce() -> T,
) -> (T, Option<(Fault, String)>) {
    let limits = limits.clone();
    SCOPES.with_borrow_mut(|scopes| {
        scopes.push(Scope {
            limits,
            meaning,
            tensor,
            raised: None,
        });
    });
    let open = ScopeGuard;
    let result = read();
    (result, open.close())
}

/// The limits of the document being read.
pub(crate) fn limits() -> ParseLimits {
    let scoped = SCOPES.with_borrow(|scopes| Some(scopes.last()?.limits.clone()));
    scoped.unwrap_or_default()
}

/// What the request says about the examples of the document that is being read.
pub(crate) fn meaning() -> Meaning {
    let scoped = SCOPES.with_borrow(|scopes| Some(scopes.last()?.meaning.clone()));
    scoped.unwrap_or_else(|| Meaning::of_labels(Some(LabelNames::open())))
}

/// The facts about the tensor of the document being read, if the document may contain one.
pub(crate) fn tensor() -> Option<TensorScope> {
    SCOPES.with_borrow(|scopes| scopes.last()?.tensor.clone())
}

/// Raises a fault of the value being read.
pub(crate) fn raise<E: serde::de::Error>(fault: Fault) -> E {
    raise_below(fault, "")
}

/// Raises a fault at `below`, a pointer from the value being read.
pub(crate) fn raise_below<E: serde::de::Error>(fault: Fault, below: &str) -> E {
    let error = E::custom(&fault);
    SCOPES.with_borrow_mut(|scopes| {
        if let Some(scope) = scopes.last_mut() {
            scope.raised = Some((fault, below.to_owned()));
        }
    });
    error
}
