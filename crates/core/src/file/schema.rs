//! The JSON Schema of policy files, from the same table as their check.

use serde_json::{Map as Object, Value, json};

use super::fields;
use super::shape::{Map, One, Shape};

/// A JSON Schema (draft 2020-12) for policy files, for editors and for other tools' checks. It knows fields
/// and types; what only the whole file can tell, `weir validate` tells.
pub fn json_schema() -> Value {
    let mut schema = schema_of(&fields::FILE);
    if let Some(object) = schema.as_object_mut() {
        object.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        object.insert("title".into(), "Weir policy file".into());
    }
    schema
}

fn schema_of(shape: &Shape) -> Value {
    let one = shape.one.map(|one| match one {
        One::Of(scalar) => scalar.schema(),
        One::Word(words) => json!({ "enum": words }),
    });
    let list = shape.list.map(|item| json!({ "type": "array", "minItems": 1, "items": schema_of(item) }));
    let map = shape.map.map(schema_of_map);
    let mut forms: Vec<Value> = [one, list, map].into_iter().flatten().collect();
    if forms.len() == 1 { forms.remove(0) } else { json!({ "anyOf": forms }) }
}

fn schema_of_map(map: Map) -> Value {
    match map {
        Map::Named(name, value) => json!({
            "type": "object",
            "propertyNames": name.schema(),
            "additionalProperties": schema_of(value),
        }),
        Map::Fields(fields) => {
            let property = |field: &super::shape::Field| {
                let mut schema = schema_of(&field.shape);
                if let Some(object) = schema.as_object_mut() {
                    object.insert("description".into(), field.doc.into());
                }
                (field.name.to_owned(), schema)
            };
            let properties: Object<String, Value> = fields.iter().map(property).collect();
            let required: Vec<_> = fields.iter().filter(|f| f.required).map(|f| f.name).collect();
            let mut schema = json!({
                "type": "object",
                "properties": properties,
                "additionalProperties": false,
            });
            if let (Some(object), false) = (schema.as_object_mut(), required.is_empty()) {
                object.insert("required".into(), json!(required));
            }
            schema
        }
    }
}
