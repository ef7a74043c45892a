//! A queue: jobs are taken by one worker each, and come back if it does not finish.
//! `cargo run -p keyway --example queue`

use keyway::clock::ManualClock;
use keyway::{Caller, ErrorKind, Keyway};
use std::time::Duration;

keyway::include_keyspace!("examples/queue.toml");

const LEASE: Duration = Duration::from_secs(30);

#[tokio::main(flavor = "current_thread")]
async fn main() -> keyway::Result<()> {
    let clock = ManualClock::at(0);
    let work = Work::open_with(Keyway::builder().clock(clock.clone()), "memory:").await?;
    let (ann, worker) = (work.as_user("ann"), work.by(&Caller::user("w1").with_role("worker")));

    for task in ["resize", "mail", "index"] {
        ann.add_job("images", task).await?;
        clock.advance(1);
    }

    // A worker that forgets its job.
    let lost = worker.take_job("images", LEASE).await?.row;
    println!("taken and forgotten: {}", lost.task);

    while finish_one(&worker).await? {}
    println!("nothing is due");

    clock.advance(30_000);
    println!("half a minute later");
    finish_one(&worker).await?;
    work.close().await
}

/// Takes a job and finishes it; whether there was one.
async fn finish_one(worker: &WorkCaller) -> keyway::Result<bool> {
    match worker.take_job("images", LEASE).await {
        Ok(job) => {
            println!("done: {}, attempt {}", job.row.task, job.row.attempts);
            worker.finish_job("images", job.row.job_id).await?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
