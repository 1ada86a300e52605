//! Replays a receipt and compares the results with it.

use halfspace_core::learners::sample::data::Data;
use halfspace_formats::{Classes, digest};

use crate::examples::{Example, example, is_positive, is_real};
use crate::learner::{Learner, Setup};
use crate::learners::learner;
use crate::random::{Orders, split};
use crate::receipt::{DataSource, GENERATOR, Receipt, VERSION, document_sha256};

/// One fact of a receipt, compared with the replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The name of the fact.
    pub name: &'static str,
    /// The value on which both agree, or the difference.
    pub outcome: Result<String, String>,
}

/// Replays a receipt on the examples of the training and compares all results, up to the first difference. `classes`
/// names the classes of the examples, unless their labels are 1 and -1, or 1 and 0.
pub fn verify(receipt: &Receipt, data: &Data, classes: Option<&Classes>) -> Vec<Check> {
    let mut checks = Vec::new();
    let _ = compare(receipt, data, classes, &mut checks);
    checks
}

/// The kept examples, by their rows.
struct Kept(Vec<(u64, Example, bool)>);

fn compare(
    receipt: &Receipt,
    data: &Data,
    classes: Option<&Classes>,
    checks: &mut Vec<Check>,
) -> Option<()> {
    let mut check = |name, outcome: Result<String, String>| {
        let is_equal = outcome.is_ok();
        checks.push(Check { name, outcome });
        is_equal.then_some(())
    };
    check("version", same(VERSION, receipt.version))?;
    check(
        "receipt digest",
        same(receipt.digest(), receipt.sha256.clone()),
    )?;
    check(
        "generator",
        same(GENERATOR.to_owned(), receipt.generator.clone()),
    )?;
    check("order", order(receipt))?;
    check("examples", same(data.examples() as u64, receipt.examples))?;
    if let DataSource::Rows { sha256: stated } = &receipt.data {
        let found: String = digest(data, classes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        check("data digest", same(found, stated.clone()))?;
    }
    let holdout = receipt.holdout.as_ref();
    let parts = split(
        holdout.map(|part| part.share),
        receipt.examples,
        receipt.seed,
    );
    let Some((shown, held_out)) = parts else {
        return check("holdout", Err("one part has no examples".to_owned()));
    };
    check("kept examples", kept_rows(receipt, &shown))?;
    let setup = Setup {
        params: &receipt.params,
        n: data.n(),
        is_real: is_real(data),
        seed: receipt.seed,
    };
    let mut learner = match learner(&receipt.learner, &setup) {
        Ok(learner) => learner,
        Err(difference) => return check("learner", Err(difference)),
    };
    let kept = receipt.kept.iter();
    let kept = kept.map(|&row| (row, example(data, row), is_positive(data, row)));
    check(
        "mistakes",
        replay(receipt, &shown, &Kept(kept.collect()), &mut *learner),
    )?;
    learner.finish();
    let found = document_sha256(&learner.hypothesis());
    check(
        "hypothesis digest",
        same(found, receipt.hypothesis_sha256.clone()),
    )?;
    let errors = |rows: &[u64]| {
        let is_wrong =
            |row: &&u64| learner.is_positive(&example(data, **row)) != is_positive(data, **row);
        rows.iter().filter(is_wrong).count() as u64
    };
    if let Some(stated) = receipt.training_errors {
        check("training errors", same(errors(&shown), stated))?;
    }
    if let Some(stated) = holdout.and_then(|part| part.errors) {
        check("holdout errors", same(errors(&held_out), stated))?;
    }
    Some(())
}

/// The value, if the receipt states the same one.
fn same<T: PartialEq + ToString>(found: T, stated: T) -> Result<String, String> {
    if found == stated {
        return Ok(found.to_string());
    }
    let (found, stated) = (found.to_string(), stated.to_string());
    Err(format!(
        "the receipt states {stated}, but the value is {found}"
    ))
}

/// The order, which the parameters determine.
fn order(receipt: &Receipt) -> Result<String, String> {
    let given = receipt.params.get("order").and_then(|order| order.as_str());
    let order = given.unwrap_or("cyclic");
    if !["cyclic", "shuffled"].contains(&order) {
        return Err(format!("a run in the order {order} has no receipt"));
    }
    same(order.to_owned(), receipt.order.clone())
}

/// Checks that the kept rows ascend and that the learner was shown each of them. Both lists ascend.
fn kept_rows(receipt: &Receipt, shown: &[u64]) -> Result<String, String> {
    let kept = &receipt.kept;
    if let Some(pair) = kept.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(format!("row {} does not follow row {}", pair[1], pair[0]));
    }
    match kept.iter().find(|row| shown.binary_search(row).is_err()) {
        Some(row) => Err(format!("row {row} was not shown to the learner")),
        None => Ok(format!("{} of {}", kept.len(), shown.len())),
    }
}

/// Shows the kept examples to the learner, pass by pass, up to the last mistake of the run.
fn replay(
    receipt: &Receipt,
    shown: &[u64],
    kept: &Kept,
    learner: &mut dyn Learner,
) -> Result<String, String> {
    let mut was_mistaken = vec![false; kept.0.len()];
    let mut orders = Orders::new(receipt.seed);
    let mut pass: Vec<u64> = shown.to_vec();
    let mut mistakes = 0;
    while mistakes < receipt.mistakes {
        let before = mistakes;
        let places: Vec<usize> = if receipt.order == "shuffled" {
            orders.shuffle(&mut pass);
            let place = |row: &u64| receipt.kept.binary_search(row).ok();
            pass.iter().filter_map(place).collect()
        } else {
            (0..kept.0.len()).collect()
        };
        for place in places {
            let (_, example, is_positive) = &kept.0[place];
            if mistakes < receipt.mistakes && learner.is_positive(example) != *is_positive {
                learner.learn(example, *is_positive);
                was_mistaken[place] = true;
                mistakes += 1;
            }
        }
        if mistakes == before {
            let stated = receipt.mistakes;
            return Err(format!(
                "the receipt states {stated}, but the replay ends with {mistakes}"
            ));
        }
    }
    match was_mistaken.iter().position(|mistaken| !mistaken) {
        Some(place) => Err(format!("row {} was not mistaken", kept.0[place].0)),
        None => Ok(mistakes.to_string()),
    }
}
