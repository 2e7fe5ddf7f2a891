//! The attributes that a policy set looks at, numbered, so that each is looked up once a request.

use std::collections::{BTreeMap, HashMap};

use smallvec::SmallVec;

use crate::request::{CLIENT_IP, Descriptor, PATH, Value};

/// The number of an attribute within its policy set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AttributeId(u16);

/// What an attribute's values are, and so what their normal form is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeKind {
    Text,
    Path,
    Address,
}

impl AttributeKind {
    fn of(name: &str) -> Self {
        match name {
            PATH => Self::Path,
            CLIENT_IP => Self::Address,
            _ => Self::Text,
        }
    }
}

/// An attribute that policies use.
#[derive(Debug)]
struct Attribute {
    name: Box<str>,
    /// Where it is found if it is not given itself.
    source: Option<Box<str>>,
    kind: AttributeKind,
}

/// Names and sources of the attributes that policies mention. Sources are declared before any is used.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    used: Vec<Attribute>,
    ids: HashMap<Box<str>, AttributeId>,
    /// `attributes: { tenant: header.x-tenant-id }`: where a door that sees HTTP finds an attribute.
    sources: BTreeMap<Box<str>, Box<str>>,
}

impl Attributes {
    /// Declares that `name`, where it is not given itself, is the value of `source`.
    pub(crate) fn declare(&mut self, name: &str, source: &str) {
        self.sources.insert(name.into(), source.into());
    }

    /// The number of `name`; `None` where there are more than 65,535 names.
    pub(crate) fn id(&mut self, name: &str) -> Option<AttributeId> {
        if let Some(known) = self.ids.get(name) {
            return Some(*known);
        }
        let id = u16::try_from(self.used.len()).ok().map(AttributeId)?;
        let (source, kind) = (self.sources.get(name).cloned(), self.kind(name));
        self.used.push(Attribute { name: name.into(), source, kind });
        self.ids.insert(name.into(), id);
        Some(id)
    }

    pub(crate) fn name(&self, id: AttributeId) -> &str {
        self.used.get(usize::from(id.0)).map_or("", |attribute| &attribute.name)
    }

    /// The names that policies use, each with its source where one is declared.
    pub(crate) fn with_sources(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.used.iter().map(|attribute| (&*attribute.name, attribute.source.as_deref()))
    }

    /// The source declared for `name`.
    pub(crate) fn source_of(&self, name: &str) -> Option<&str> {
        self.sources.get(name).map(|source| &**source)
    }

    /// An attribute is what its own name says, else what its source's name says: an address from a header is
    /// an address.
    pub(crate) fn kind(&self, name: &str) -> AttributeKind {
        match AttributeKind::of(name) {
            AttributeKind::Text => self.source_of(name).map_or(AttributeKind::Text, AttributeKind::of),
            kind => kind,
        }
    }

    /// Looks up everything that any policy could ask for.
    pub(crate) fn resolve<'a>(&self, descriptor: &Descriptor<'a>) -> Values<'a> {
        let value = |Attribute { name, source, kind }: &Attribute| {
            let at_source = || source.as_ref().and_then(|source| descriptor.text(source));
            descriptor.text(name).or_else(at_source).map(|text| Value::normal(*kind, text))
        };
        Values(self.used.iter().map(value).collect())
    }
}

/// The values of one request, by attribute.
pub(crate) struct Values<'a>(SmallVec<[Option<Value<'a>>; 8]>);

impl<'a> Values<'a> {
    /// The value, or `None` where the request has none.
    pub(crate) fn get(&self, id: AttributeId) -> Option<&Value<'a>> {
        self.0.get(usize::from(id.0)).and_then(Option::as_ref)
    }
}
