//! YAML as a tree of raw text with its places. Nothing is interpreted: `off` stays `off`, `012` stays `012`.

use std::ops::Range;

use granit_parser::{Event, Options, Parser, ScalarStyle};

use super::report::Problem;

/// A file has at most this many nodes: a policy has a dozen.
const NODES_MAX: usize = 50_000;
/// Lists and mappings nest at most this deep.
const DEPTH_MAX: usize = 32;

/// A value and the bytes that it was written in.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Scalar { text: String, plain: bool },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One `name: value` of a mapping.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) plain: bool,
    pub(super) span: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    /// The value of a field; `None` where this is no mapping or has no such field.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.name == name).map(|entry| &entry.value)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; anything else stands for a list of itself.
    pub(super) fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::List(items) => items,
            _ => std::slice::from_ref(self),
        }
    }

    /// Whether the place for a value was left empty.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// Reads one YAML document. Anchors, aliases and tags are refused: a policy file says what it means.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    let mut builder = Builder::default();
    let mut options = Options::default();
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    options.set_emit_comments(false);
    let mut parser = Parser::new_from_str_with_options(text, options);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| syntax_error(text, &error))?;
        let span = span.byte_range().unwrap_or(0..0);
        builder.event(event, span)?;
    }
    builder.root.ok_or_else(|| {
        Problem::new(&(0..0), "the file is empty")
            .hint("an empty file is no policy; give `domain` and `policies`")
    })
}

fn syntax_error(text: &str, error: &granit_parser::ScanError) -> Problem {
    let at = error.marker().byte_offset().unwrap_or(text.len());
    let next = text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    let info = error.info();
    let rest = text.get(at..).unwrap_or_default();
    let line = text.get(..at).unwrap_or(text).rsplit('\n').next().unwrap_or_default();
    let hint = if info.contains("tab") {
        "indent with spaces, not tabs"
    } else if info.contains("escape") {
        "in double quotes a backslash is written `\\\\`; in single quotes it stands for itself"
    } else if info.contains("recursion") {
        "a policy file nests a few levels at most"
    } else if rest.starts_with(['*', '{']) || line.contains("**") || line.trim_end().ends_with('}') {
        "a value that starts with `*` or `{` must be quoted: \"/v1/**\""
    } else {
        "a value that holds `: `, ` #`, a brace or a bracket must be quoted"
    };
    Problem::new(&(at..at + next), format!("this is not YAML: {info}")).hint(hint)
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
    nodes: usize,
}

/// A list or mapping whose end has not come yet.
enum Open {
    List(Range<usize>, Vec<Node>),
    /// With the name that waits for its value.
    Map(Range<usize>, Vec<Entry>, Option<(String, bool, Range<usize>)>),
}

impl Builder {
    fn event(&mut self, event: Event<'_>, span: Range<usize>) -> Result<(), Problem> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                refuse_extras(anchor, tag.is_some(), &span)?;
                let plain = style == ScalarStyle::Plain;
                self.close(Node { span, kind: Kind::Scalar { text: text.into_owned(), plain } })
            }
            Event::SequenceStart(_, anchor, tag) => {
                refuse_extras(anchor, tag.is_some(), &span)?;
                self.open.push(Open::List(span, Vec::new()));
                Ok(())
            }
            Event::MappingStart(_, anchor, tag) => {
                refuse_extras(anchor, tag.is_some(), &span)?;
                self.open.push(Open::Map(span, Vec::new(), None));
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(start, items)) => {
                    self.close(Node { span: start.start..span.end, kind: Kind::List(items) })
                }
                Some(Open::Map(start, entries, _)) => {
                    self.close(Node { span: start.start..span.end, kind: Kind::Map(entries) })
                }
                None => Ok(()),
            },
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                Err(Problem::new(&span, "aliases are not allowed").hint(
                    "write the value out, or use `defaults`; a path that starts with `*` must be quoted",
                ))
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(Problem::new(&span, "a second document starts here").hint("one file, one domain"))
            }
            _ => Ok(()),
        }
    }

    fn close(&mut self, node: Node) -> Result<(), Problem> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(Problem::new(&node.span, format!("the file has more than {NODES_MAX} values")));
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List(_, items)) => items.push(node),
            Some(Open::Map(_, entries, waiting)) => match (waiting.take(), node) {
                (Some((name, plain, span)), value) => entries.push(Entry { name, plain, span, value }),
                (None, Node { span, kind: Kind::Scalar { text, plain } }) => {
                    *waiting = Some((text, plain, span));
                }
                (None, Node { span, .. }) => {
                    return Err(Problem::new(&span, "a name is expected here, not a list or mapping")
                        .hint("a value that starts with `{` or `[` must be quoted"));
                }
            },
        }
        Ok(())
    }
}

fn refuse_extras(anchor: usize, tagged: bool, span: &Range<usize>) -> Result<(), Problem> {
    if anchor != 0 {
        return Err(
            Problem::new(span, "anchors are not allowed").hint("write the value out, or use `defaults`")
        );
    }
    if tagged {
        return Err(Problem::new(span, "tags are not allowed").hint("write the value without its `!` tag"));
    }
    Ok(())
}
