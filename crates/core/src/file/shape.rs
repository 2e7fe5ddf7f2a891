//! What may stand where. One description serves the check of a file and its JSON Schema.

use super::fields::OTHER_WORDS;
use super::report::{Problem, closest};
use super::scalar::Scalar;
use super::tree::{Entry, Kind, Node};

/// The form of a value: what it may be, by how it is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// As a single value.
    pub(super) one: Option<One>,
    /// As a list, of items of this shape.
    pub(super) list: Option<&'static Self>,
    /// As a mapping.
    pub(super) map: Option<Map>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum One {
    Of(Scalar),
    /// One of these words.
    Word(&'static [&'static str]),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Map {
    /// With these fields and no others.
    Fields(&'static [Field]),
    /// With names of this kind, each with a value of this shape.
    Named(Scalar, &'static Shape),
}

/// One field of a mapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) required: bool,
    /// For people: the schema shows it where they write.
    pub(super) doc: &'static str,
}

impl Shape {
    pub(super) const fn one(scalar: Scalar) -> Self {
        Self { one: Some(One::Of(scalar)), list: None, map: None }
    }

    pub(super) const fn word(words: &'static [&'static str]) -> Self {
        Self { one: Some(One::Word(words)), list: None, map: None }
    }

    pub(super) const fn list(item: &'static Self) -> Self {
        Self { one: None, list: Some(item), map: None }
    }

    pub(super) const fn map(map: Map) -> Self {
        Self { one: None, list: None, map: Some(map) }
    }

    fn what(&self) -> String {
        let one = self.one.map(|one| match one {
            One::Of(scalar) => scalar.what().to_owned(),
            One::Word(words) => format!("one of {}", quoted(words)),
        });
        let list = self.list.map(|_| "a list".to_owned());
        let map = self.map.map(|_| "a mapping".to_owned());
        [one, list, map].into_iter().flatten().collect::<Vec<_>>().join(" or ")
    }
}

/// Pushes a problem for everything in `node` that does not have the shape.
pub(super) fn check(node: &Node, shape: &Shape, problems: &mut Vec<Problem>) {
    match (&node.kind, shape) {
        (Kind::Scalar { text, plain }, Shape { one: Some(one), .. }) => {
            if let Some(problem) = check_one(node, text, *plain, *one) {
                problems.push(problem);
            }
        }
        (Kind::List(items), Shape { list: Some(item), .. }) => {
            if items.is_empty() {
                problems
                    .push(Problem::new(&node.span, "the list is empty").hint("give it at least one item"));
            }
            for node in items {
                check(node, item, problems);
            }
        }
        (Kind::Map(entries), Shape { map: Some(map), .. }) => {
            check_twice(entries, problems);
            match map {
                Map::Fields(fields) => check_fields(node, entries, fields, problems),
                Map::Named(name, value) => {
                    for entry in entries {
                        if let Err(complaint) = name.check(&entry.name, entry.plain) {
                            problems.push(complaint.at(&entry.span));
                        }
                        check(&entry.value, value, problems);
                    }
                }
            }
        }
        (kind, shape) => {
            let found = match kind {
                Kind::Scalar { .. } if node.is_nothing() => "nothing",
                Kind::Scalar { .. } => "a single value",
                Kind::List(_) => "a list",
                Kind::Map(_) => "a mapping",
            };
            let problem = Problem::new(&node.span, format!("{} is expected, not {found}", shape.what()));
            problems.push(match node.text().filter(|_| shape.list.is_some() && !node.is_nothing()) {
                Some(text) => problem.hint(format!("write `[{text}]`")),
                None => problem,
            });
        }
    }
}

fn check_one(node: &Node, text: &str, plain: bool, one: One) -> Option<Problem> {
    if node.is_nothing() {
        return Some(Problem::new(&node.span, "nothing is written here"));
    }
    match one {
        One::Of(scalar) => {
            let complaint = scalar.check(text, plain).err()?;
            Some(complaint.at(&node.span))
        }
        One::Word(words) if words.contains(&text) => None,
        One::Word(words) => {
            let hint = match closest(text, words.iter().copied()) {
                Some(word) => format!("did you mean `{word}`? It is one of {}", quoted(words)),
                None => format!("it is one of {}", quoted(words)),
            };
            Some(Problem::new(&node.span, format!("`{text}` is not known here")).hint(hint))
        }
    }
}

fn check_twice(entries: &[Entry], problems: &mut Vec<Problem>) {
    let mut seen = std::collections::HashSet::new();
    for entry in entries.iter().filter(|entry| !seen.insert(entry.name.as_str())) {
        let message = format!("`{}` is given twice", entry.name);
        problems.push(Problem::new(&entry.span, message).hint("keep one of them"));
    }
}

fn check_fields(node: &Node, entries: &[Entry], fields: &[Field], problems: &mut Vec<Problem>) {
    for entry in entries {
        if let Some(field) = fields.iter().find(|field| field.name == entry.name) {
            check(&entry.value, &field.shape, problems);
            continue;
        }
        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let elsewhere = OTHER_WORDS.iter().find(|(word, _)| *word == entry.name).map(|(_, hint)| *hint);
        let hint = match closest(&entry.name, names.iter().copied()) {
            _ if elsewhere.is_some() => elsewhere.unwrap_or_default().to_owned(),
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("the fields here are {}", quoted(&names)),
        };
        problems.push(Problem::new(&entry.span, format!("unknown field `{}`", entry.name)).hint(hint));
    }
    for field in fields.iter().filter(|field| field.required) {
        if entries.iter().all(|entry| entry.name != field.name) {
            let hint = format!("{}: {}", field.name, field.doc);
            problems.push(Problem::new(&node.span, format!("`{}` is missing", field.name)).hint(hint));
        }
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
