//! Counts allocations: the system's allocator with one addition for each.
//!
//! Crates that do this keep one atomic counter for all threads, or a stack of tallies, or turn a `realloc`
//! into a copy. Any of that costs those who allocate something that they do not cost their users, and the
//! peers do allocate. The counter here is the thread's own and needs no set-up.

#![allow(unsafe_code, reason = "an allocator cannot be written without; each call is handed on as it came")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Constant and without a destructor: reading it never allocates, and it is there as long as the thread.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Counting;

/// How many allocations this thread has made.
pub(crate) fn on_this_thread() -> u64 {
    COUNT.with(Cell::get)
}

fn count() {
    COUNT.with(|count| count.set(count.get().wrapping_add(1)));
}

// SAFETY: every method hands its arguments to the system's allocator as they came and returns what that
// returns; counting does not allocate and does not unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above; what is given back came from the system's allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; what is given back came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}
