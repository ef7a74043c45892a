//! For tests: real servers, started on free loopback ports in folders of their own.
//!
//! ```text
//! test ─▶ driver ─▶ proxy ─────────────▶ server, a process of the test's own
//!                    └ cuts, counts       └ killed, started again
//! ```
//!
//! A test that cannot find its server fails and names the package to install; it never passes
//! without having run. Every process is stopped when its handle is dropped.

#[cfg(unix)]
pub mod cassandra;
pub mod cql;
#[cfg(unix)]
pub mod kept;
#[cfg(unix)]
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod redis;
pub mod redis_cluster;
