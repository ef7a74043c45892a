//! A typed call on its way: asked, waiting, answered.
//!
//! ```text
//! asked ─poll─┬─ needs no waiting ───────────────────────────▶ answered
//!             └─▶ waiting, with a future of its own ─poll────▶ answered
//! ```
//!
//! Only what has to wait is given a place of its own in memory.

use super::{FromAnswer, TypedCall};
use data::{Error, ErrorKind, Result};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a call becomes when it is awaited.
#[must_use = "a call is made when it is awaited"]
pub struct Answering<R>(State<R>);

enum State<R> {
    Asked(TypedCall<R>),
    Waiting(Pin<Box<dyn Future<Output = Result<R>> + Send>>),
    Answered,
}

impl<R> Answering<R> {
    pub(super) fn new(call: TypedCall<R>) -> Self {
        Answering(State::Asked(call))
    }
}

impl<R: FromAnswer + 'static> Future for Answering<R> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waiting = match std::mem::replace(&mut self.0, State::Answered) {
            State::Waiting(waiting) => waiting,
            State::Asked(mut call) => match call.scope.answer_at_once(call.position, call.given) {
                Ok(answer) => return Poll::Ready(answer),
                Err(given) => {
                    call.given = given;
                    Box::pin(answer(call))
                }
            },
            State::Answered => {
                let again = "a call that was answered is awaited again";
                return Poll::Ready(Err(Error::new(ErrorKind::Internal, again)));
            }
        };
        let polled = waiting.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = State::Waiting(waiting);
        }
        polled
    }
}

async fn answer<R: FromAnswer>(call: TypedCall<R>) -> Result<R> {
    let TypedCall { scope, position, mut given, id, .. } = call;
    if R::IS_SHOWN {
        match scope.answer_shown(position, given).await {
            Ok(answer) => return answer,
            Err(unused) => given = unused,
        }
    }
    let reply = scope.send(position, given, id).await?;
    R::from_answer(reply.answer)
}

impl<R> fmt::Debug for Answering<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            State::Asked(_) => "Answering(asked)",
            State::Waiting(_) => "Answering(waiting)",
            State::Answered => "Answering(answered)",
        })
    }
}
