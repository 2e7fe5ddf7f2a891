//! `--against OLD`: what would become of the usage that is counted by another file now.

use serde_json::{Value, json};
use weir_core::{PolicySet, Usage};

pub(super) fn text(new: &PolicySet, old: &PolicySet) -> Vec<String> {
    let line = |usage| match usage {
        Usage::Kept(policy) => format!("  {}: usage is kept", policy.name),
        Usage::Anew { policy, because: None } => format!("  {}: new", policy.name),
        Usage::Anew { policy, because: Some((what, was, is)) } => {
            format!("  {}: begins anew, since its {what} is {is} and was {was}", policy.name)
        }
        Usage::Gone(policy) => format!("  {}: gone; its usage expires", policy.name),
    };
    new.changes_from(old).into_iter().map(line).collect()
}

pub(super) fn object(new: &PolicySet, old: &PolicySet) -> Value {
    let object = |usage| match usage {
        Usage::Kept(policy) => json!({ "policy": policy.name, "usage": "kept" }),
        Usage::Anew { policy, because: None } => json!({ "policy": policy.name, "usage": "new" }),
        Usage::Anew { policy, because: Some((what, was, is)) } => {
            json!({ "policy": policy.name, "usage": "anew", "changed": what, "was": was, "is": is })
        }
        Usage::Gone(policy) => json!({ "policy": policy.name, "usage": "gone" }),
    };
    new.changes_from(old).into_iter().map(object).collect()
}
