//! The cost that a caller says: a whole number, or whole numbers by unit.

use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, de};
use weir_core::{Cost, REQUESTS};

use super::decode::{Text, check_name};

/// Units of one request.
const UNITS_MAX: usize = 64;

/// `40`, or amounts by unit: `{"units": 40, "tokens": 900}`.
#[derive(Debug)]
pub(super) struct CostBody(pub(super) Cost);

/// A whole number that fits 64 bits.
struct Amount(u64);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from 0 to {}", u64::MAX)
            }

            fn visit_u64<E: de::Error>(self, amount: u64) -> Result<Amount, E> {
                Ok(Amount(amount))
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Amount, E> {
                Err(not_a_cost())
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Amount, E> {
                Err(not_a_cost())
            }
        }
        deserializer.deserialize_u64(Number)
    }
}

impl<'de> Deserialize<'de> for CostBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrUnits;
        impl<'de> Visitor<'de> for NumberOrUnits {
            type Value = CostBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from 0 to {}, or an object of them by unit", u64::MAX)
            }

            fn visit_u64<E: de::Error>(self, amount: u64) -> Result<CostBody, E> {
                Ok(CostBody(Cost::units(amount)))
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<CostBody, E> {
                Err(not_a_cost())
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<CostBody, E> {
                Err(not_a_cost())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CostBody, A::Error> {
                let mut cost = Cost::unsaid();
                let mut count = 0;
                while let Some(Text(unit)) = map.next_key()? {
                    check_name("a unit", &unit)?;
                    if unit == REQUESTS {
                        return Err(A::Error::custom("every request is one of `requests`; leave it out"));
                    }
                    if cost.of(&unit).is_some() {
                        return Err(A::Error::custom(format_args!("unit `{unit}` is given twice")));
                    }
                    count += 1;
                    if count > UNITS_MAX {
                        return Err(A::Error::custom(format_args!("more than {UNITS_MAX} units")));
                    }
                    let Amount(amount) = map.next_value()?;
                    cost = cost.with(&unit, amount);
                }
                Ok(CostBody(cost))
            }
        }
        deserializer.deserialize_any(NumberOrUnits)
    }
}

fn not_a_cost<E: de::Error>() -> E {
    E::custom(format_args!("a cost is a whole number from 0 to {}", u64::MAX))
}
