//! From JSON to requests. Every mistake names its field; nothing is guessed.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use axum::http::StatusCode;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, de};
use weir_core::{CLIENT_IP, Descriptor, Layer, Request, Span, address};

use super::cost::CostBody;
use super::problem::Problem;

/// Attributes of one request.
const ATTRIBUTES_MAX: usize = 64;
/// Bytes of an attribute's or unit's name, and of a domain.
const NAME_MAX: usize = 128;
/// Bytes of an attribute's value.
const VALUE_MAX: usize = 4_096;
/// Milliseconds: an hour. Nobody waits for longer.
const TIMEOUT_MAX: u64 = 3_600_000;
/// Checks in one batch.
const CHECKS_MAX: usize = 1_000;

/// The body of `POST /v1/check`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check<'a> {
    #[serde(borrow, default)]
    domain: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    attributes: Option<Attributes<'a>>,
    #[serde(default)]
    cost: Option<CostBody>,
    #[serde(default)]
    layer: Option<LayerBody>,
    #[serde(default)]
    dry_run: Option<bool>,
    #[serde(default)]
    timeout_ms: Option<TimeoutBody>,
}

/// The body of `POST /v1/check/batch`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckBatch<'a> {
    #[serde(borrow, deserialize_with = "checks")]
    pub(super) checks: Vec<Check<'a>>,
}

impl Check<'_> {
    pub(super) fn request(&self) -> Request<'_> {
        Request {
            domain: self.domain.as_deref(),
            descriptor: self.attributes.as_ref().map(Attributes::descriptor).unwrap_or_default(),
            cost: self.cost.as_ref().map(|cost| cost.0.clone()).unwrap_or_default(),
            layer: self.layer.as_ref().map(|layer| layer.0).unwrap_or_default(),
            dry_run: self.dry_run.unwrap_or_default(),
            timeout: self.timeout_ms.as_ref().map(|timeout| timeout.0),
        }
    }
}

/// Reads a body, or says what is wrong with which field of it.
pub(super) fn body<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    let bad = |detail: String| Problem::new(StatusCode::BAD_REQUEST, detail);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(bad("the body is empty; send a JSON object".into()));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let Object(value) = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        // `.` is the whole body; `?` is a place whose name was not read yet.
        let path = error.path().to_string();
        let field = path.trim_end_matches('?').trim_end_matches('.').to_owned();
        let problem = bad(error.into_inner().to_string());
        if field.is_empty() { problem } else { problem.in_field(field) }
    })?;
    reader.end().map_err(|error| bad(error.to_string()))?;
    Ok(value)
}

/// An object and nothing else: derived readers would also take a list of the fields in their order.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectOf<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectOf<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(ObjectOf(PhantomData))
    }
}

/// Names and values, in the order in which they came.
#[derive(Debug, Default)]
struct Attributes<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl Attributes<'_> {
    fn descriptor(&self) -> Descriptor<'_> {
        self.0.iter().map(|(name, value)| (&**name, &**value)).collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Attributes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Attributes<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts by attribute name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields: Attributes<'de> = Attributes::default();
                while let Some(Text(name)) = map.next_key()? {
                    check_name("an attribute", &name)?;
                    if fields.0.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format_args!("attribute `{name}` is given twice")));
                    }
                    if fields.0.len() == ATTRIBUTES_MAX {
                        return Err(A::Error::custom(format_args!("more than {ATTRIBUTES_MAX} attributes")));
                    }
                    let value = map.next_value_seed(ValueOf(&name))?;
                    fields.0.push((name, value));
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// A name is visible ASCII: no control characters, no blanks, so that it is the same in every protocol.
pub(super) fn check_name<E: de::Error>(what: &str, name: &str) -> Result<(), E> {
    if !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(E::custom(format_args!(
        "the name of {what} is 1 to {NAME_MAX} visible ASCII characters without blanks, not {:?}",
        name.chars().take(40).collect::<String>()
    )))
}

/// The value of an attribute, checked while it is read, so that a mistake is told with its place.
struct ValueOf<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for ValueOf<'_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let Text(value) = Text::deserialize(deserializer)?;
        check_value(self.0, &value)?;
        Ok(value)
    }
}

fn check_value<E: de::Error>(name: &str, value: &str) -> Result<(), E> {
    if value.len() > VALUE_MAX {
        return Err(E::custom(format_args!(
            "the value of attribute `{name}` has {} bytes, more than {VALUE_MAX}",
            value.len()
        )));
    }
    if name == CLIENT_IP && !value.trim().is_empty() && address::parse(value).is_none() {
        return Err(E::custom(format_args!("attribute `{CLIENT_IP}` is not an address")));
    }
    Ok(())
}

/// A text that is borrowed from the body where it can be.
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
        Borrowed::deserialize(deserializer).map(|Borrowed(text)| Self(text))
    }
}

#[derive(Debug, Default)]
struct LayerBody(Layer);

impl<'de> Deserialize<'de> for LayerBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Text(word) = Text::deserialize(deserializer)?;
        match Layer::parse(&word) {
            Some(layer) => Ok(Self(layer)),
            None => Err(D::Error::invalid_value(Unexpected::Str(&word), &"one of edge, gateway, service")),
        }
    }
}

#[derive(Debug)]
struct TimeoutBody(Span);

impl<'de> Deserialize<'de> for TimeoutBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let millis = u64::deserialize(deserializer)?;
        if (1..=TIMEOUT_MAX).contains(&millis) {
            return Ok(Self(Span::from_millis(millis)));
        }
        let expected = "whole milliseconds from 1 to 3600000";
        Err(D::Error::invalid_value(Unexpected::Unsigned(millis), &expected))
    }
}

fn checks<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Check<'a>>, D::Error> {
    struct List;
    impl<'de> Visitor<'de> for List {
        type Value = Vec<Check<'de>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of checks")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut checks = Vec::new();
            while let Some(Object(check)) = seq.next_element()? {
                if checks.len() == CHECKS_MAX {
                    return Err(A::Error::custom(format_args!("more than {CHECKS_MAX} checks in a batch")));
                }
                checks.push(check);
            }
            Ok(checks)
        }
    }
    deserializer.deserialize_seq(List)
}
