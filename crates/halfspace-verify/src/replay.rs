//! Replays a receipt and compares the results with it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use halfspace_core::learners::sample::data::Data;
use halfspace_formats::{Classes, Parsed, occurring};

use crate::committee::Committee;
use crate::examples::{Example, active_max, class, example, is_real};
use crate::learner::Setup;
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

/// Replays a receipt on the examples of the training and compares all results, up to the first difference.
pub fn verify(receipt: &Receipt, examples: &Parsed) -> Vec<Check> {
    let mut checks = Vec::new();
    let _ = compare(receipt, examples, &mut checks);
    checks
}

/// The kept examples of all rules and the codes of their classes, by their rows.
type Kept = BTreeMap<u64, (Example, u32)>;

fn compare(receipt: &Receipt, examples: &Parsed, checks: &mut Vec<Check>) -> Option<()> {
    let (data, classes) = (&examples.data, examples.classes.as_ref());
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
        let found: String = examples
            .digest()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        check("data digest", same(found, stated.clone()))?;
    }
    let holdout = receipt.holdout.as_ref();
    let data = &*match read_by(receipt, data, classes) {
        Ok(data) => data,
        Err(unknown) => return check("classes", Err(unknown)),
    };
    check("classes", Ok(names(receipt).join(", ")))?;
    let Some([shown, held_out]) = parts(receipt, data) else {
        return check("holdout", Err("one part has no examples".to_owned()));
    };
    check("kept examples", kept_rows(receipt, data, &shown))?;
    let setup = Setup {
        params: &receipt.params,
        n: data.n(),
        is_real: is_real(data),
        seed: receipt.seed,
        active_max: examples
            .vocabulary
            .as_ref()
            .map(|_| active_max(data, &shown)),
    };
    let mut rules = match Committee::new(receipt, &setup) {
        Ok(rules) => rules,
        Err(difference) => return check("learner", Err(difference)),
    };
    let rows = receipt.members.iter().flat_map(|member| &member.kept);
    let kept = rows.map(|&row| (row, (example(data, row), class(data, row))));
    check(
        "mistakes",
        replay(receipt, &shown, &kept.collect(), &mut rules),
    )?;
    rules.finish();
    let found = document_sha256(&rules.hypothesis());
    check(
        "hypothesis digest",
        same(found, receipt.hypothesis_sha256.clone()),
    )?;
    let errors = |rows: &[u64]| {
        let is_wrong =
            |row: &&u64| rules.predict(&example(data, **row)) != Some(class(data, **row));
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

/// The rows for the learner and the held-out rows, or `None` if a part would be empty.
fn parts(receipt: &Receipt, data: &Data) -> Option<[Vec<u64>; 2]> {
    let rows = 0..receipt.examples;
    let Some(holdout) = &receipt.holdout else {
        return Some([rows.collect(), Vec::new()]);
    };
    let classes = || rows.map(|row| class(data, row) as usize).collect();
    let classes = holdout.stratified.then(classes);
    split(holdout.share, data.examples(), classes, receipt.seed)
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

/// The classes of the rules.
fn names(receipt: &Receipt) -> Vec<&str> {
    let members = receipt.members.iter();
    members.map(|member| member.class.as_str()).collect()
}

/// The data with the codes of the receipt's classes. A single rule tells its class from all others.
///
/// # Errors
/// A class of the data that has no rule, or a rule without a class.
fn read_by<'d>(
    receipt: &Receipt,
    data: &'d Data,
    classes: Option<&Classes>,
) -> Result<Cow<'d, Data>, String> {
    let plain = Classes::plain();
    let given = classes.unwrap_or(&plain);
    let names = names(receipt);
    let own = match names.as_slice() {
        [one] if receipt.multiclass.is_none() => given.one_of(one)?,
        names => Classes::of_names(names.iter().map(|name| (*name).to_owned()))
            .ok_or("the receipt has no rule")?,
    };
    let occurs = occurring(data);
    let codes = own.recoding(given, |code| occurs.get(code as usize) == Some(&true))?;
    Ok(match codes.is_identity() {
        true => Cow::Borrowed(data),
        false => Cow::Owned(codes.of(data.clone())),
    })
}

/// Checks that the kept rows ascend and that the learner was shown each of them. Both lists ascend.
fn kept_rows(receipt: &Receipt, data: &Data, shown: &[u64]) -> Result<String, String> {
    let mut all: BTreeSet<&u64> = BTreeSet::new();
    for member in &receipt.members {
        let kept = &member.kept;
        if let Some(pair) = kept.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(format!("row {} does not follow row {}", pair[1], pair[0]));
        }
        if let Some(row) = kept.iter().find(|row| shown.binary_search(row).is_err()) {
            return Err(format!("row {row} was not shown to the learner"));
        }
        all.extend(kept);
    }
    if receipt.open
        && let Some(row) = joining_rows(receipt, data, shown).find(|row| !all.contains(row))
    {
        return Err(format!(
            "row {row} is the first of its class and is not listed"
        ));
    }
    Ok(format!("{} of {}", all.len(), shown.len()))
}

/// The rows at which rules joined: those of a class beyond all classes before, unless the run ended earlier.
fn joining_rows(receipt: &Receipt, data: &Data, shown: &[u64]) -> impl Iterator<Item = u64> {
    let all = receipt
        .members
        .iter()
        .filter(|member| !member.kept.is_empty())
        .count();
    let mut joined = 0;
    let joins = |row: &u64| {
        let code = class(data, *row) as usize;
        let is_new = code >= joined && joined < all;
        joined = joined.max(code + 1);
        is_new
    };
    shown
        .iter()
        .copied()
        .filter(joins)
        .collect::<Vec<u64>>()
        .into_iter()
}

/// Shows the kept examples to the rules, pass by pass, up to the last example that was presented.
fn replay(
    receipt: &Receipt,
    shown: &[u64],
    kept: &Kept,
    rules: &mut Committee,
) -> Result<String, String> {
    let mut learnt = vec![(0, BTreeSet::new()); receipt.members.len()];
    let mut mistakes = 0;
    let mut orders = Orders::new(receipt.seed);
    let mut pass: Vec<u64> = shown.to_vec();
    let mut places = places(&pass, kept);
    for before in (0..receipt.presented).step_by(shown.len().max(1)) {
        if receipt.order == "shuffled" {
            orders.shuffle(&mut pass);
            places = self::places(&pass, kept);
        }
        let mut is_clean = true;
        let presented = places
            .iter()
            .take_while(|(place, _)| before + place < receipt.presented);
        for (place, row) in presented {
            let (example, class) = &kept[row];
            rules.shown(before + place);
            let predicted = rules.predict(example);
            mistakes += u64::from(predicted != Some(*class));
            let of_row = rules.learn(example, *class, predicted);
            for member in of_row.joined {
                learnt[member].1.insert(*row);
                is_clean = false;
            }
            for (member, is_mistaken) in of_row.lessons {
                learnt[member].1.insert(*row);
                learnt[member].0 += u64::from(is_mistaken);
                is_clean = false;
            }
        }
        if mistakes > receipt.mistakes {
            return same(mistakes, receipt.mistakes);
        }
        // A run ends after a pass without a lesson.
        let end = before.saturating_add(shown.len() as u64);
        if is_clean && end < receipt.presented {
            let presented = receipt.presented;
            return Err(format!(
                "{presented} examples are said to be presented, and the run read {end}"
            ));
        }
    }
    rules.shown(receipt.presented);
    for (member, (count, rows)) in receipt.members.iter().zip(&learnt) {
        let of_class = |difference| format!("class {}: {difference}", member.class);
        same(*count, member.mistakes).map_err(of_class)?;
        if let Some(row) = member.kept.iter().find(|row| !rows.contains(row)) {
            return Err(of_class(format!("nothing was learnt from row {row}")));
        }
        if let Some(row) = rows
            .iter()
            .find(|row| member.kept.binary_search(row).is_err())
        {
            return Err(of_class(format!(
                "row {row} was learnt from and is not listed"
            )));
        }
    }
    same(mistakes, receipt.mistakes)
}

/// The places of the kept rows in a pass, with the rows.
fn places(pass: &[u64], kept: &Kept) -> Vec<(u64, u64)> {
    let all = (0..).zip(pass.iter().copied());
    all.filter(|(_, row)| kept.contains_key(row)).collect()
}
