//! A window that lets three attempts through in 15 minutes: `cargo run -p keyway --example
//! rate_limit`.
//!
//! The clock is one that goes when it is told to, so that a quarter of an hour passes at once.

use keyway::clock::ManualClock;
use keyway::{Caller, Keyway};

keyway::include_keyspace!("examples/rate_limit.toml");

#[tokio::main(flavor = "current_thread")]
async fn main() -> keyway::Result<()> {
    let clock = ManualClock::at(0);
    let options = Keyway::builder().clock(clock.clone());
    let gate = Gate::open_with(options, "memory:").await?;
    let login = gate.by(&Caller::nobody().with_role("login"));

    for _ in 0..4 {
        let window = login.attempt("ann").await?;
        match window.allowed {
            true => println!("come in, {} left", window.remaining),
            false => println!("wait until {}", window.resets_at),
        }
        clock.advance(60_000);
    }
    clock.advance(15 * 60_000);
    println!("later: {}", login.attempt("ann").await?.allowed);
    gate.close().await
}
