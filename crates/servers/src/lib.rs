//! For tests: real servers, started on free loopback ports in folders of their own.
//!
//! A test that cannot find its server fails and names the package to install; it never passes
//! without having run. Every process is stopped when its handle is dropped.

#[cfg(unix)]
pub mod postgres;
