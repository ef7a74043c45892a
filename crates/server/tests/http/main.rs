//! A server as callers meet it: what is asked over HTTP, and what is answered.

mod access;
mod calls;
mod conditions;
mod hostile;
mod streams;
mod support;
mod wire;
