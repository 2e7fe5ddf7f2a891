//! Policy files: taken whole or refused with every mistake in its place, the same way each time.

use std::collections::HashSet;
use std::sync::Arc;

use weir_core::file::{Report, SIZE_MAX, Severity};
use weir_core::{Charges, Descriptor, Layer, Limiter, Outcome, PolicySet, Request};

use crate::support::{self, NAME};

/// A request has at most so many attributes; a door takes no more.
const ATTRIBUTES_MAX: usize = 64;

/// What every attribute of a request is in turn: a path, addresses, a text, and nothing.
const VALUES: [&str; 5] = ["/v1/report/full", "203.0.113.7", "2001:db8::1", "acme", " "];

/// Takes the input as a policy file.
pub fn check(input: &[u8]) {
    let text = text_of(input);
    match (support::load(input), support::load(input)) {
        (Ok(loaded), Ok(again)) => {
            points_into(text, &loaded.warnings);
            assert_eq!(loaded.warnings, again.warnings, "read twice, warned of differently");
            are_the_same(&loaded.policies, &again.policies);
            requests_are_decided(&loaded.policies, &again.policies);
        }
        (Err(report), Err(again)) => {
            assert!(!report.is_empty(), "refused without a reason");
            points_into(text, &report);
            assert_eq!(report, again, "read twice, refused differently");
        }
        _ => panic!("read twice, taken once"),
    }
}

/// What a report points into: the file as far as it is text, and nothing of a file that is not read at all.
fn text_of(input: &[u8]) -> &str {
    if input.len() > SIZE_MAX {
        return "";
    }
    input.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

/// Every problem is somewhere in the text, in order, and can be shown.
fn points_into(text: &str, report: &Report) {
    assert_eq!(report.name(), NAME);
    let lines: Vec<&str> = text.split('\n').collect();
    let mut last = 0;
    for problem in report.problems() {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?} is about no piece of the text");
        assert!(problem.span.start >= last, "{problem:?} is out of order");
        last = problem.span.start;
        let (line, column) = report.place(problem);
        let length = line.checked_sub(1).and_then(|index| lines.get(index)).map(|line| line.chars().count());
        let length = length.unwrap_or_else(|| panic!("{problem:?} is in line {line} of {}", lines.len()));
        assert!((1..=length + 1).contains(&column), "{problem:?} is at {line}:{column}");
        assert!(!problem.message.is_empty());
    }
    can_be_shown(report);
}

fn can_be_shown(report: &Report) {
    for level in [Severity::Error, Severity::Warning] {
        let plain = report.render(level, false);
        let coloured = report.render(level, true);
        assert_eq!((plain.is_empty(), coloured.is_empty()), (report.is_empty(), report.is_empty()));
        // What a file holds must not move the cursor of the one who reads about it.
        let stray = plain.chars().find(|c| c.is_ascii_control() && *c != '\n');
        assert_eq!(stray, None, "a control character of the file reaches the terminal: {plain:?}");
        if let Some(problem) = report.problems().first() {
            let place = format!("{NAME}:{}", report.place(problem).0);
            assert!(plain.contains(&place), "{place} is not in {plain}");
        }
    }
    assert_eq!(report.to_string(), report.render(Severity::Error, false));
}

/// Names are unique, and a file that is read again says the same again.
fn are_the_same(policies: &PolicySet, again: &PolicySet) {
    let names: HashSet<&str> = policies.policies().iter().map(|policy| &*policy.name).collect();
    assert_eq!(names.len(), policies.policies().len(), "names are unique");
    assert!(!policies.domain().is_empty());
    assert_eq!(policies.domain(), again.domain());
    assert_eq!(format!("{:?}", policies.policies()), format!("{:?}", again.policies()));
    assert_eq!(key_texts(policies), key_texts(again));
    assert!(policies.attributes().eq(again.attributes()));
}

fn key_texts(policies: &PolicySet) -> Vec<String> {
    policies.policies().iter().map(|policy| policies.key_text(policy)).collect()
}

/// Requests that have all the attributes that policies ask for, each with the same value.
fn requests_are_decided(policies: &Arc<PolicySet>, again: &PolicySet) {
    for (value, layer) in VALUES.into_iter().zip(Layer::ALL.into_iter().cycle()) {
        let names = policies.attributes().map(|(name, _)| name).take(ATTRIBUTES_MAX);
        let descriptor: Descriptor<'_> = names.map(|name| (name, value)).collect();
        let request = Request { descriptor, layer, ..Request::default() };
        let charges = policies.charges(&request).expect("no domain is named");
        assert_eq!(again.charges(&request).as_ref(), Ok(&charges), "read twice, charged differently");
        are_in_order(policies, &charges);
        is_decided(policies, &request, &charges);
        let elsewhere = Request { domain: Some(""), ..request };
        assert!(policies.charges(&elsewhere).is_err(), "no domain has an empty name");
    }
}

/// Each policy is charged, passed by, or neither; an exempt request meets none.
fn are_in_order(policies: &PolicySet, charges: &Charges) {
    let charged: Vec<usize> = charges.charges.iter().map(|charge| charge.policy).collect();
    for indices in [charged.as_slice(), charges.skipped.as_slice()] {
        assert!(indices.is_sorted_by(|a, b| a < b), "{charges:?} is not in the order of the file");
        assert!(indices.iter().all(|index| policies.policy(*index).is_some()), "{charges:?}");
    }
    assert!(charged.iter().all(|index| !charges.skipped.contains(index)), "{charges:?}");
    assert!(!charges.exempt || (charged.is_empty() && charges.skipped.is_empty()), "{charges:?}");
    for charge in &charges.charges {
        let policy = policies.policy(charge.policy);
        assert_eq!(policy.map(|policy| policy.is_enforced()), Some(charge.enforced), "{charge:?}");
    }
}

/// Where nothing was charged before, a request is admitted or can never be; and what it took can be given
/// back to the last unit.
fn is_decided(policies: &Arc<PolicySet>, request: &Request<'_>, charges: &Charges) {
    let store = support::store();
    let limiter = Limiter::new(policies.clone(), store.clone());
    let verdict = support::block_on(limiter.check(request)).expect("no domain is named");
    assert!(matches!(verdict.outcome(), Outcome::Allow | Outcome::Never), "{verdict:?}");
    assert!(!verdict.is_degraded(), "{verdict:?}");
    assert_eq!(verdict.is_exempt(), charges.exempt);
    let judged = verdict.judgements().map(|(_, judgement)| judgement.policy);
    assert!(judged.eq(charges.charges.iter().map(|charge| charge.policy)), "{verdict:?} of {charges:?}");
    assert!(verdict.is_admitted() || support::keys_held(&store) == 0, "{verdict:?} took something");
    support::block_on(limiter.give_back(verdict.into_receipts()));
    assert_eq!(support::keys_held(&store), 0, "something stays charged that was given back");
}
