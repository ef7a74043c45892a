//! Waiting for a future without a run time: enough for stores that need none.

use futures_util::future::BoxFuture;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Runs clients at the same time, and ends when all have ended.
///
/// A store whose driver needs a run time brings a function of its own that spawns tasks there.
pub type Clients = fn(Vec<BoxFuture<'static, ()>>) -> BoxFuture<'static, ()>;

/// Wakes the thread that waits.
struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Parked(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Each client on a thread of its own.
pub fn on_threads(clients: Vec<BoxFuture<'static, ()>>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        thread::scope(|scope| {
            let run = |client| scope.spawn(move || block_on(client));
            let threads: Vec<_> = clients.into_iter().map(run).collect();
            for thread in threads {
                // A client that panicked has left no answer, and is missed for that.
                let _ = thread.join();
            }
        });
    })
}
