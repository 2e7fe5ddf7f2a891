//! `weir validate`: what is wrong with policy files, or what they say.

mod against;

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::file::Options;
use weir_core::file::{Loaded, Report, Severity};
use weir_core::{Allowance, KeySecret, Policy, PolicySet, Span};
use weir_runtime::{LoadError, PolicySource, StoreSetting};

use crate::args::{Output, ValidateArgs};
use crate::{FAILED, NO, complain, say};

pub(crate) fn run(args: &ValidateArgs) -> ExitCode {
    // Nothing is counted, so any secret will do, as long as it is the same for all files.
    let precision = match StoreSetting::precision(&args.store) {
        Ok(precision) => precision,
        Err(error) => {
            complain(&format!("weir: {error}"));
            return ExitCode::from(FAILED);
        }
    };
    let secret = KeySecret::new([0; 16]);
    let options = Options { secret, log_limit_max: args.log_limit_max, precision };
    let old = match args.against.as_deref().map(|file| load(file, &options)).transpose() {
        Ok(old) => old.map(|loaded| loaded.policies),
        Err(error) => {
            complain(&format!("weir: --against: {error}"));
            return ExitCode::from(FAILED);
        }
    };
    let mut code = ExitCode::SUCCESS;
    let mut results = Vec::new();
    let mut unreadable = None;
    for file in &args.files {
        let loaded = match load(file, &options) {
            Ok(loaded) => Ok(loaded),
            Err(LoadError::Broken(report)) => Err(report),
            Err(error) => {
                complain(&format!("weir: {error}"));
                unreadable = Some(ExitCode::from(FAILED));
                continue;
            }
        };
        if loaded.is_err() {
            code = ExitCode::from(NO);
        }
        match args.output {
            Output::Text => say(&text(file, &loaded, old.as_deref())),
            Output::Json => results.push(object(file, &loaded, old.as_deref())),
        }
    }
    if args.output == Output::Json {
        say(&format!("{:#}", Value::Array(results)));
    }
    unreadable.unwrap_or(code)
}

fn load(file: &Path, options: &Options) -> Result<Loaded, LoadError> {
    let source = PolicySource::File(file.into());
    source.settle(&source.read()?, options)
}

fn text(file: &Path, loaded: &Result<Loaded, Report>, old: Option<&PolicySet>) -> String {
    let colours = std::io::stdout().is_terminal();
    match loaded {
        Err(report) => {
            let count = report.problems().len();
            let errors = if count == 1 { "error" } else { "errors" };
            format!("{}\n\n{}: {count} {errors}", report.render(Severity::Error, colours), file.display())
        }
        Ok(Loaded { policies, warnings }) => {
            let mut lines = Vec::new();
            if !warnings.is_empty() {
                lines.push(warnings.render(Severity::Warning, colours) + "\n");
            }
            lines.push(format!("{}: good; domain `{}`", file.display(), policies.domain()));
            lines.extend(policies.policies().iter().map(|policy| format!("  {}", line(policies, policy))));
            let attributes = attributes(policies);
            if !attributes.is_empty() {
                lines.push(format!("  attributes that callers give: {}", attributes.join(", ")));
            }
            let usage = old.map(|old| against::text(policies, old)).unwrap_or_default();
            if !usage.is_empty() {
                lines.push("  instead of the other file:".into());
                lines.extend(usage);
            }
            lines.join("\n")
        }
    }
}

fn line(policies: &PolicySet, policy: &Policy) -> String {
    let allowance = match policy.allowance {
        Allowance::Unlimited => "unlimited".to_owned(),
        Allowance::Limited(rule) => {
            let quota = rule.quota;
            let (limit, window, burst) = (quota.limit(), quota.window(), quota.capacity());
            let at_once = if burst == limit { String::new() } else { format!(", {burst} at once") };
            format!(
                "{limit} {} per {window}{at_once}, {}, tick {}",
                policy.unit,
                rule.algorithm,
                quota.tick()
            )
        }
    };
    let key = policies.key_text(policy);
    let whose = if key == "[]" { "for all together".to_owned() } else { format!("for each {key}") };
    format!("{}: {allowance}, {whose}, {}", policy.name, policy.mode)
}

/// What the policies look at: `path`, or `tenant (or header.x-tenant-id)`.
fn attributes(policies: &PolicySet) -> Vec<String> {
    let text = |(name, source): (&str, Option<&str>)| match source {
        Some(source) => format!("{name} (or {source})"),
        None => name.to_owned(),
    };
    let mut texts: Vec<String> = policies.attributes().map(text).collect();
    texts.sort_unstable();
    texts
}

fn object(file: &Path, loaded: &Result<Loaded, Report>, old: Option<&PolicySet>) -> Value {
    match loaded {
        Err(report) => json!({ "file": file, "valid": false, "errors": problems(report) }),
        Ok(Loaded { policies, warnings }) => json!({
            "file": file,
            "valid": true,
            "domain": policies.domain(),
            "warnings": problems(warnings),
            "usage": old.map(|old| against::object(policies, old)),
            "policies": policies.policies().iter().map(|policy| policy_object(policies, policy)).collect::<Vec<_>>(),
            "attributes": policies.attributes().map(|(name, source)| json!({ "name": name, "source": source })).collect::<Vec<_>>(),
        }),
    }
}

fn problems(report: &Report) -> Vec<Value> {
    let object = |problem| {
        let (line, column) = report.place(problem);
        json!({ "line": line, "column": column, "message": problem.message, "hint": problem.hint })
    };
    report.problems().iter().map(object).collect()
}

fn policy_object(policies: &PolicySet, policy: &Policy) -> Value {
    let quota = match policy.allowance {
        Allowance::Unlimited => Value::Null,
        Allowance::Limited(rule) => json!({
            "limit": rule.quota.limit(),
            "window": rule.quota.window().to_string(),
            "window_ns": rule.quota.window().length().map(Span::nanos),
            "burst": rule.quota.capacity(),
            "algorithm": rule.algorithm.as_str(),
            "tick_ns": rule.quota.tick().nanos(),
        }),
    };
    json!({
        "name": policy.name,
        "key": policies.key_text(policy),
        "mode": policy.mode.as_str(),
        "unit": policy.unit,
        "quota": quota,
        "owner": policy.notes.owner,
        "protects": policy.notes.protects,
        "why": policy.notes.why,
    })
}
