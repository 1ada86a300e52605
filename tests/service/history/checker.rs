//! Decides whether the recorded operations on one job are linearizable in the sequential model: whether each can have
//! taken effect at one moment between its call and its answer.
//!
//! The search follows Wing and Gong (1993) in the just-in-time form of Lowe (2017): it takes calls and answers in the
//! order of time, and lets an operation take effect only when an answer needs it. The form of the logs is not known
//! here.

use std::collections::HashSet;
use std::fmt;

use super::model::{Action, Interval, State};

/// Greatest number of possible pasts at one moment. Beyond this number the check fails.
const PASTS_MAX: usize = 20_000;

/// Number of operations before a violation that its text shows.
const SHOWN: usize = 24;

#[derive(Clone, Debug)]
pub struct Operation {
    pub action: Action,
    pub at: Interval,
}

/// The reason why no sequential history explains the record.
#[derive(Debug)]
pub struct Violation {
    /// The operation whose answer has no explanation.
    pub operation: usize,
    text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A possible past: the state that it led to, and the pending operations that have already taken effect.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Past {
    state: State,
    /// In ascending order.
    done: Vec<usize>,
}

impl Past {
    fn has_done(&self, operation: usize) -> bool {
        self.done.binary_search(&operation).is_ok()
    }
}

/// Checks that the sequential model of one job explains the operations.
///
/// # Errors The first answer that no order of effects explains.
pub fn check(operations: &[Operation]) -> Result<(), Violation> {
    let mut moments: Vec<(u64, bool, usize)> = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        let Interval { call_ns, answer_ns } = operation.at;
        if answer_ns.is_none() && operation.action.is_eager() {
            // Without an answer the operation proves nothing.
            continue;
        }
        moments.push((call_ns, false, index));
        moments.extend(answer_ns.map(|answer_ns| (answer_ns, true, index)));
    }
    // Calls come before answers of the same time, because such operations overlap.
    moments.sort_unstable();
    let mut search = Search {
        operations,
        pending: Vec::new(),
        pasts: vec![Past {
            state: State::default(),
            done: Vec::new(),
        }],
    };
    for (_, is_answer, operation) in moments {
        match is_answer {
            false => search.call(operation),
            true => search.answer(operation)?,
        }
    }
    Ok(())
}

struct Search<'a> {
    operations: &'a [Operation],
    /// Operations that were called and not answered.
    pending: Vec<usize>,
    pasts: Vec<Past>,
}

impl Search<'_> {
    fn call(&mut self, operation: usize) {
        self.pending.push(operation);
        if self.operations[operation].action.is_eager() {
            for past in &mut self.pasts {
                take_effect(self.operations, past, operation);
            }
        }
    }

    fn answer(&mut self, operation: usize) -> Result<(), Violation> {
        let is_optional = self.operations[operation].action.is_optional();
        let mut seen = HashSet::new();
        let mut explained = Vec::new();
        for past in std::mem::take(&mut self.pasts) {
            if past.has_done(operation) {
                explained.push(past);
                continue;
            }
            if is_optional {
                explained.push(past.clone());
            }
            self.explain(past, operation, &mut seen, &mut explained);
        }
        self.pending.retain(|&pending| pending != operation);
        let mut known = HashSet::new();
        for mut past in explained {
            past.done.retain(|&done| done != operation);
            if known.insert(past.clone()) {
                self.pasts.push(past);
            }
        }
        if seen.len() > PASTS_MAX {
            return Err(self.violation(operation, "too many pasts to decide", &seen));
        }
        if self.pasts.is_empty() {
            let what = "no order of effects explains this answer";
            return Err(self.violation(operation, what, &seen));
        }
        Ok(())
    }

    /// Finds all pasts that follow from this one, and in which the operation is the last to take effect.
    fn explain(
        &self,
        past: Past,
        operation: usize,
        seen: &mut HashSet<Past>,
        explained: &mut Vec<Past>,
    ) {
        let mut waiting = vec![past];
        while let Some(past) = waiting.pop() {
            if seen.len() > PASTS_MAX || !seen.insert(past.clone()) {
                continue;
            }
            for &next in &self.pending {
                let is_eager = self.operations[next].action.is_eager();
                if past.has_done(next) || (is_eager && next != operation) {
                    continue;
                }
                let mut later = past.clone();
                if !take_effect(self.operations, &mut later, next) {
                    continue;
                }
                for &eager in &self.pending {
                    if self.operations[eager].action.is_eager() {
                        take_effect(self.operations, &mut later, eager);
                    }
                }
                match later.has_done(operation) {
                    true => explained.push(later),
                    false => waiting.push(later),
                }
            }
        }
    }

    fn violation(&self, operation: usize, what: &str, pasts: &HashSet<Past>) -> Violation {
        let asked = &self.operations[operation];
        let end = asked.at.answer_ns.unwrap_or(u64::MAX);
        let mut before: Vec<_> = self
            .operations
            .iter()
            .filter(|o| o.at.call_ns <= end)
            .collect();
        before.sort_by_key(|operation| operation.at.call_ns);
        let first = before.first().map_or(0, |operation| operation.at.call_ns);
        let hidden = before.len().saturating_sub(SHOWN);
        let mut text = format!("{what}:\n  {}\n", shown(asked, first));
        text.push_str(&format!("after {hidden} operations and\n"));
        for operation in &before[hidden..] {
            text.push_str(&format!("  {}\n", shown(operation, first)));
        }
        text.push_str("where the job can only be\n");
        for past in pasts.iter().take(4) {
            text.push_str(&format!("  {:?}\n", past.state));
        }
        Violation { operation, text }
    }
}

/// Lets a pending operation take effect now. Returns whether the model allows that.
fn take_effect(operations: &[Operation], past: &mut Past, operation: usize) -> bool {
    let Err(place) = past.done.binary_search(&operation) else {
        return false;
    };
    let Operation { action, at } = &operations[operation];
    let Some(state) = past.state.after(action, *at) else {
        return false;
    };
    past.state = state;
    past.done.insert(place, operation);
    true
}

/// An operation with its times in milliseconds since the first one.
fn shown(operation: &Operation, first: u64) -> String {
    let milliseconds = |ns: u64| ns.saturating_sub(first) as f64 / 1e6;
    let answer = match operation.at.answer_ns {
        Some(answer_ns) => format!("{:.3}", milliseconds(answer_ns)),
        None => "never".to_owned(),
    };
    let call = milliseconds(operation.at.call_ns);
    format!("{call:.3} to {answer} ms: {:?}", operation.action)
}
