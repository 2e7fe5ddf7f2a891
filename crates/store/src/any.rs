//! The store that a setting chose.

use weir_core::{Answer, Answers, Batch, Operation, Rule, Span, Store};

use crate::memory::{MemoryStats, MemoryStore};
use crate::redis::{RedisStore, ServerStats};

/// A store in memory, or one on a server.
#[derive(Debug)]
pub enum AnyStore {
    /// In the memory of this process.
    Memory(MemoryStore),
    /// On Redis or Valkey.
    Redis(RedisStore),
}

impl AnyStore {
    /// What is held in the memory of this process; nothing of a store elsewhere.
    pub fn memory_stats(&self) -> Option<MemoryStats> {
        match self {
            Self::Memory(store) => Some(store.stats()),
            Self::Redis(_) => None,
        }
    }

    /// What happened to calls of a server; nothing of a store in memory.
    pub fn server_stats(&self) -> Option<ServerStats> {
        match self {
            Self::Memory(_) => None,
            Self::Redis(store) => Some(store.stats()),
        }
    }

    /// Tells the other nodes of a server that this one is going.
    pub async fn leave(&self) {
        match self {
            Self::Memory(_) => {}
            Self::Redis(store) => store.leave().await,
        }
    }
}

impl Store for AnyStore {
    async fn apply(&self, batch: Batch) -> Answers {
        match self {
            Self::Memory(store) => store.apply(batch).await,
            Self::Redis(store) => store.apply(batch).await,
        }
    }

    async fn apply_one(&self, operation: Operation, timeout: Option<Span>) -> Answer {
        match self {
            Self::Memory(store) => store.apply_one(operation, timeout).await,
            Self::Redis(store) => store.apply_one(operation, timeout).await,
        }
    }

    fn in_force(&self, rules: &[Rule]) {
        match self {
            Self::Memory(store) => store.in_force(rules),
            Self::Redis(store) => store.in_force(rules),
        }
    }

    fn trouble(&self) -> Option<String> {
        match self {
            Self::Memory(store) => store.trouble(),
            Self::Redis(store) => store.trouble(),
        }
    }
}
