//! More than the server may work on: who is sent away, who is served, and what is left of it after.

use super::drive::{Measured, Questions, Until, Work, turn};
use super::keyway_serve::start_with;
use super::settings::Settings;
use std::fmt::Write as _;

/// Requests that are worked on at once.
const PLACES: usize = 8;
/// Connections that want more.
const CONNECTIONS: usize = 128;

/// Notes that are synced to the disk, so that requests take a while and meet each other.
const STORE: &str = "durability=power&cache_mib=256";

pub async fn run(settings: &Settings) -> String {
    let places = PLACES.to_string();
    let server = start_with(STORE, &["--requests", &places]);
    let questions = Questions::new(&server);
    let mut text = HEAD.to_string();
    let until = Until::Passed(settings.turn * settings.rounds.max(2) as u32);
    let steps = [("before", PLACES), ("overload", CONNECTIONS), ("after", PLACES)];
    for (name, connections) in steps {
        let measured = turn(&server, &questions, &[Work::Create], connections, until).await;
        let Measured { errors, shed, .. } = measured;
        let (served, rate) = (measured.histogram.total(), measured.rate());
        let slow = measured.histogram.quantile(0.99).as_secs_f64() * 1e3;
        println!("{name}: {served} served, {shed} sent away, {errors} errors");
        writeln!(
            text,
            "| {name} | {connections} | {served} | {rate:.0} | {slow:.1} ms | {shed} | {errors} |"
        )
        .unwrap();
        assert_eq!(errors, 0, "some were neither served nor told to come again");
        match connections > PLACES {
            true => assert!(shed > 0 && served > 0, "{shed} sent away, {served} served"),
            false => assert_eq!(shed, 0, "there was a place for everybody"),
        }
    }
    text
}

const HEAD: &str = "
## Overload

`keyway serve --requests 8`: notes are made and synced to the disk. Whoever finds no place is told
503 with `Retry-After: 1`, and here comes again after 20 ms. An error is any other answer, or none.

| | connections | served | a second | p99 of those | sent away | errors |
|---|---:|---:|---:|---:|---:|---:|
";
