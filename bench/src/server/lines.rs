//! The comparison: each kind of work over few and many connections, all servers in turns.

use super::ENTRANTS;
use super::agree;
use super::drive::{Measured, Questions, Until, Work, fill, turn};
use super::fair;
use super::served::Server;
use super::settings::Settings;
use std::sync::Arc;

/// What is compared, in the words of the report.
pub const WORKS: [(&str, &[Work]); 3] = [
    ("create a note", &[Work::Create]),
    ("read a note", &[Work::Read]),
    ("newest 20 of 10,000", &[Work::List]),
];

pub const CONNECTIONS: [usize; 3] = [1, 16, 128];

/// What was measured.
pub struct Comparison {
    /// The servers that this machine cannot have, and why.
    pub absent: Vec<(&'static str, String)>,
    pub lines: Vec<Line>,
}

/// One line: the turns of each entrant; none of one that did not run.
pub struct Line {
    pub name: String,
    pub turns: Vec<Vec<Measured>>,
}

struct Runner {
    /// Which entrant it is.
    at: usize,
    name: &'static str,
    server: Server,
    questions: Arc<Questions>,
}

/// The names of all lines.
pub fn names() -> Vec<String> {
    let works = WORKS.into_iter().flat_map(|(work, _)| CONNECTIONS.map(|count| name(work, count)));
    works.collect()
}

fn name(work: &str, connections: usize) -> String {
    match connections {
        1 => format!("{work}, 1 connection"),
        _ => format!("{work}, {connections} connections"),
    }
}

/// Measures every line that is asked for.
pub async fn run(settings: &Settings) -> Comparison {
    let mut absent = Vec::new();
    let mut runners = Vec::new();
    for (at, entrant) in ENTRANTS.iter().enumerate() {
        if at > 0 && !entrant.name.contains(&settings.who) {
            continue;
        }
        match (entrant.start)() {
            Ok(server) => {
                let questions = Questions::new(&server);
                runners.push(Runner { at, name: entrant.name, server, questions });
            }
            Err(reason) => absent.push((entrant.name, reason)),
        }
    }
    agree(&runners).await;
    let mut lines = Vec::new();
    for (work, works) in WORKS {
        for connections in CONNECTIONS {
            let name = name(work, connections);
            if settings.wants(&[&name]) {
                lines.push(take_turns(settings, name, works, connections, &runners).await);
            }
        }
    }
    Comparison { absent, lines }
}

/// Stores the notes everywhere, and compares what everybody says of them.
async fn agree(runners: &[Runner]) {
    let mut ours = None;
    for runner in runners {
        fill(&runner.server).await;
        let said = agree::check(runner.name, &runner.server).await;
        match &ours {
            None => ours = Some(said),
            Some(ours) if runner.name == "by hand" => {
                assert_eq!(&said, ours, "the handler by hand answers other JSON");
            }
            Some(_) => {}
        }
        println!("{} answers as it must", runner.name);
    }
}

async fn take_turns(
    settings: &Settings,
    name: String,
    works: &'static [Work],
    connections: usize,
    runners: &[Runner],
) -> Line {
    for Runner { server, questions, .. } in runners {
        turn(server, questions, works, connections, Until::Passed(settings.turn / 4)).await;
    }
    let mut turns: Vec<Vec<Measured>> = ENTRANTS.iter().map(|_| Vec::new()).collect();
    for round in 0..settings.rounds {
        for place in fair::order(runners.len(), round) {
            fair::wait_for_quiet();
            let Runner { at, name: who, server, questions } = &runners[place];
            let until = Until::Passed(settings.turn);
            let measured = turn(server, questions, works, connections, until).await;
            let lost = measured.errors + measured.shed;
            assert!(*at > 1 || lost == 0, "{name}: {who} left {lost} requests without an answer");
            turns[*at].push(measured);
        }
    }
    let shown = turns.iter().map(|turns| {
        let rates: Vec<f64> = turns.iter().map(Measured::rate).collect();
        format!("{:>8.0}", fair::median(&rates))
    });
    println!("{name:40} {}", shown.collect::<Vec<_>>().join(" "));
    Line { name, turns }
}
