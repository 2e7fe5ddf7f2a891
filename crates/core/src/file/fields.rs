//! The table of everything that a policy file can say. Check, hints and JSON Schema come from it.

use super::scalar::Scalar;
use super::shape::{Field, Map, One, Shape};
use crate::algorithm::Algorithm;
use crate::policy::{Mode, OnMissing, Posture};
use crate::request::Layer;

const TEXT: Shape = Shape::one(Scalar::Text);
const NAME: Shape = Shape::one(Scalar::Name);
const COUNT: Shape = Shape::one(Scalar::Count);
const LAYER: Shape = Shape::word(&Layer::WORDS);
const ALGORITHM: Shape = Shape::word(&Algorithm::WORDS);
const MODE: Shape = Shape::word(&Mode::WORDS);
const ON_MISSING: Shape = Shape::word(&OnMissing::WORDS);
const POSTURE: Shape = Shape::word(&Posture::WORDS);

/// For all layers, or for each.
const ON_STORE_FAILURE: Shape = Shape {
    map: Some(Map::Fields(&[
        field(Layer::Edge.as_str(), POSTURE, "at the edge"),
        field(Layer::Gateway.as_str(), POSTURE, "at the gateway"),
        field(Layer::Service.as_str(), POSTURE, "in the service"),
    ])),
    ..POSTURE
};
const QUOTA: Shape = Shape::one(Scalar::Quota);
const TIME_ZONE: Shape = Shape::one(Scalar::TimeZone);

/// A value, or several of which one must fit.
const ONE_OR_MORE: Shape = Shape { one: Some(One::Of(Scalar::Text)), list: Some(&TEXT), map: None };

const MATCH: Shape = Shape {
    map: Some(Map::Fields(&[
        field("prefix", ONE_OR_MORE, "the value starts with this"),
        field(
            "regex",
            ONE_OR_MORE,
            "this regular expression is found in the value; use ^ and $ for all of it",
        ),
        field("not", ONE_OR_MORE, "the value is none of these, or absent"),
    ])),
    ..ONE_OR_MORE
};

const WHEN: Shape = Shape::map(Map::Named(Scalar::Attribute, &MATCH));

const COST_RULE: Shape = Shape::map(Map::Fields(&[
    field("when", WHEN, "the requests that cost this; all of them if unsaid"),
    required("cost", COUNT, "what such a request costs"),
    field("unit", NAME, "the unit of the cost; `units` if unsaid"),
]));

const DEFAULTS: Shape = Shape::map(Map::Fields(&[
    field("algorithm", ALGORITHM, ALGORITHM_DOC),
    field("time_zone", TIME_ZONE, TIME_ZONE_DOC),
    field("unit", NAME, UNIT_DOC),
    field("mode", MODE, MODE_DOC),
    field("layers", Shape::list(&LAYER), LAYERS_DOC),
    field("on_missing", ON_MISSING, ON_MISSING_DOC),
    field("on_store_failure", ON_STORE_FAILURE, ON_STORE_FAILURE_DOC),
    field("owner", TEXT, OWNER_DOC),
]));

const POLICY: Shape = Shape::map(Map::Fields(&[
    required("name", NAME, "what the policy is called in answers and metrics; unique"),
    field("when", WHEN, "the requests that it applies to; all of them if unsaid"),
    field(
        "key",
        Shape::list(&Shape::one(Scalar::KeyPart)),
        "whose allowance it is; one for everybody if unsaid",
    ),
    required(
        "quota",
        Shape { list: Some(&QUOTA), ..QUOTA },
        "`100/minute`, `unlimited`, or a list that stands for several policies",
    ),
    field("burst", COUNT, "the most units at once, for a bucket; the limit if unsaid"),
    field("algorithm", ALGORITHM, ALGORITHM_DOC),
    field("time_zone", TIME_ZONE, TIME_ZONE_DOC),
    field("anchor", Shape::one(Scalar::Date), ANCHOR_DOC),
    field("unit", NAME, UNIT_DOC),
    field("cost", COUNT, "what every request costs under this policy, whatever else is said"),
    field("mode", MODE, MODE_DOC),
    field("layers", Shape::list(&LAYER), LAYERS_DOC),
    field("replaces", Shape::list(&NAME), "policies that do not apply to a request that this one matches"),
    field("on_missing", ON_MISSING, ON_MISSING_DOC),
    field("on_store_failure", ON_STORE_FAILURE, ON_STORE_FAILURE_DOC),
    field("owner", TEXT, OWNER_DOC),
    field("protects", TEXT, "for people: what would suffer without it"),
    field("why", TEXT, "for people: the reason for the figures"),
]));

pub(super) const FILE: Shape = Shape::map(Map::Fields(&[
    required("domain", NAME, "what the policies are for; requests name it"),
    field(
        "attributes",
        Shape::map(Map::Named(Scalar::Attribute, &Shape::one(Scalar::Attribute))),
        "where an attribute is found when the caller does not give it: `tenant: header.x-tenant-id`",
    ),
    field("exempt", Shape::list(&WHEN), "requests that no policy applies to; counted"),
    field("costs", Shape::list(&COST_RULE), "what requests cost; the first rule that fits"),
    field("defaults", DEFAULTS, "what policies say if they do not say it themselves"),
    required("policies", Shape::list(&POLICY), "the policies; all that match a request apply to it"),
]));

/// What other limiters call things that are said in another way here.
pub(super) const OTHER_WORDS: [(&str, &str); 6] = [
    ("unlimited", "write `quota: unlimited`"),
    ("limit", "write `quota: LIMIT/WINDOW`, such as `quota: 100/minute`"),
    ("rate", "write `quota: LIMIT/WINDOW`, such as `quota: 100/minute`"),
    ("window", "write `quota: LIMIT/WINDOW`, such as `quota: 100/minute`"),
    ("shadow", "write `mode: shadow`"),
    ("enabled", "write `mode: enforce`, `shadow` or `off`"),
];

const ALGORITHM_DOC: &str = "how to count; `token_bucket` if unsaid";
const TIME_ZONE_DOC: &str =
    "where a fixed window's days, weeks, months and years begin at midnight; `UTC` if unsaid";
const ANCHOR_DOC: &str =
    "a date on which a week, month or year begins, such as a billing date; Mondays and firsts if unsaid";
const UNIT_DOC: &str =
    "what is counted: `units` if unsaid, `requests`, or a unit of your own such as `tokens`";
const MODE_DOC: &str = "`enforce` if unsaid; `shadow` only reports what it would have refused; `off`";
const LAYERS_DOC: &str = "the layers whose doors charge it; any if unsaid";
const ON_MISSING_DOC: &str = "for requests without an attribute of the key: `skip` the policy if unsaid, let them \
    share one allowance, or `deny` them";
const ON_STORE_FAILURE_DOC: &str = "while the store cannot answer: `open` admits if unsaid, `closed` refuses, `local` counts in each node at \
    its share; or one for each layer. What departs from a default that `defaults` declares needs a `why`";
const OWNER_DOC: &str = "for people: whom to ask";

const fn field(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { name, shape, required: false, doc }
}

const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { name, shape, required: true, doc }
}
