//! Lists whose memory goes back to the thread that drops them, so that a decision allocates nothing once a
//! thread has made a few, however many policies it meets.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

/// So many lists of a kind wait on a thread at most; one check needs one.
const SPARE_MAX: usize = 16;
/// A longer list's memory is not kept.
const KEPT_MAX: usize = 1_024;

/// The spare memory of one thread for lists of `T`.
#[derive(Debug)]
pub struct Spare<T>(RefCell<Vec<Vec<T>>>);

impl<T> Spare<T> {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }
}

/// What lists are made of: a type that names where its spare memory waits.
pub trait Recycled: Sized + 'static {
    /// The spare memory of this thread.
    fn spare() -> &'static LocalKey<Spare<Self>>;
}

/// Declares where the spare memory of a type's lists waits.
macro_rules! recycled {
    ($type:ty) => {
        impl $crate::recycled::Recycled for $type {
            fn spare() -> &'static std::thread::LocalKey<$crate::recycled::Spare<Self>> {
                thread_local! {
                    static SPARE: $crate::recycled::Spare<$type> = const { $crate::recycled::Spare::new() };
                }
                &SPARE
            }
        }
    };
}

pub(crate) use recycled;

/// A list like any other. Its memory comes from the thread's spare, and goes there when it is dropped.
pub struct List<T: Recycled>(Vec<T>);

impl<T: Recycled> List<T> {
    /// An empty list.
    pub fn new() -> Self {
        // While a thread ends, its spare is gone, and memory is simply allocated.
        let spare = T::spare().try_with(|Spare(spare)| spare.try_borrow_mut().ok()?.pop());
        Self(spare.ok().flatten().unwrap_or_default())
    }

    /// Adds an item at the end.
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }

    /// Takes out the last item.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    /// Takes the items out, in order; the memory stays.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.0.drain(..)
    }

    /// Keeps the items that are wanted.
    pub(crate) fn retain(&mut self, is_wanted: impl FnMut(&T) -> bool) {
        self.0.retain(is_wanted);
    }
}

impl<T: Recycled> Drop for List<T> {
    fn drop(&mut self) {
        let mut items = std::mem::take(&mut self.0);
        if items.capacity() == 0 || items.capacity() > KEPT_MAX {
            return;
        }
        items.clear();
        // Nothing is lost where it cannot be kept.
        let _ = T::spare().try_with(|Spare(spare)| {
            if let Ok(mut spare) = spare.try_borrow_mut()
                && spare.len() < SPARE_MAX
            {
                spare.push(items);
            }
        });
    }
}

impl<T: Recycled> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Recycled> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Recycled> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Recycled> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::new();
        list.0.extend(items);
        list
    }
}

impl<'a, T: Recycled> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Recycled + Clone> Clone for List<T> {
    fn clone(&self) -> Self {
        self.iter().cloned().collect()
    }
}

impl<T: Recycled + PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Recycled + Eq> Eq for List<T> {}

impl<T: Recycled + fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Item(String);
    recycled!(Item);

    #[test]
    fn memory_is_used_again_and_what_was_in_it_is_dropped() {
        let mut first: List<Item> = [Item("a".into()), Item("b".into())].into_iter().collect();
        let memory = first.as_ptr();
        assert_eq!(first.drain().map(|item| item.0).collect::<String>(), "ab");
        drop(first);
        let second: List<Item> = [Item("c".into())].into_iter().collect();
        assert_eq!((second.as_ptr(), &*second), (memory, &[Item("c".into())][..]));
        let third = second.clone();
        assert_ne!(third.as_ptr(), memory, "two at once have memory of their own");
    }
}
