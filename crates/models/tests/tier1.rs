//! Every state of every scenario keeps every promise; and with any one rule broken, some does not.
//!
//! `cargo test -p models -- --nocapture` tells how many states there are, and how a broken rule
//! breaks a promise, step by step.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use models::tier1::{Action, COMMITTED, PROMISES, Rules, Scenario, State, every_scenario};
use stateright::{Checker, HasDiscoveries, Model, Path};

/// How many states each scenario has. Fewer would mean that somebody no longer meets somebody: who
/// changes the model finds out why a number changes before it is changed here.
const STATES: [(&str, usize); 10] = [
    ("two create one row, a third wants the email of one", 540_704),
    ("one creates a row, another creates and removes it", 418_965),
    ("an email is handed from one row to another and wanted back", 4_016_920),
    ("a row changes twice, another removes it and uses its email", 979_050),
    ("replies are lost while two change one row", 228_008),
    ("replies are lost, and rows remember little", 1_567_490),
    ("replies are lost while two rows want one email", 124_322),
    ("one call is made twice", 69_904),
    ("one call that guesses is made twice", 5_592_498),
    ("a call is made twice while another wants its email", 1_456_398),
];

#[test]
fn every_state_keeps_every_promise() {
    assert_eq!(every_scenario().len(), STATES.len());
    for (scenario, (of, expected)) in every_scenario().into_iter().zip(STATES) {
        let name = scenario.name;
        assert_eq!(name, of);
        let begun = std::time::Instant::now();
        let checked = scenario.checker().threads(2).spawn_bfs().join();
        let states = checked.unique_state_count();
        println!("{name}: {states} states, {:?}", begun.elapsed());
        for promise in PROMISES {
            if let Some(path) = checked.discovery(promise) {
                panic!("{name}: not true that {promise}:\n{}", told(path));
            }
        }
        assert!(checked.discovery(COMMITTED).is_some(), "{name}: nothing is ever done");
        assert!(checked.is_done(), "{name}: not all states were looked at");
        assert_eq!(states, expected, "{name}");
    }
}

/// The way to a state: what happened, and for whom.
fn told(path: Path<State, Action>) -> String {
    let line = |(state, action): (State, Option<Action>)| match action {
        Some(Action::Step(number, _)) => {
            let phase = state.writers.get(number).map(|writer| &writer.phase);
            phase.map_or_else(String::new, |phase| format!("  writer {number}: {phase:?}\n"))
        }
        Some(Action::Late(number)) => format!("  late: {:?}\n", state.late.get(number)),
        Some(Action::CleanOn) => format!("  cleaner: {:?}\n", state.cleaner),
        Some(action) => format!("  {action:?}\n"),
        None => String::new(),
    };
    path.into_vec().into_iter().map(line).collect()
}

/// Whether this scenario shows that a rule is broken.
fn is_found(name: &str, broken: Rules) -> bool {
    let mut scenarios = every_scenario().into_iter();
    let Some(scenario) = scenarios.find(|scenario| scenario.name == name) else {
        panic!("there is no scenario in which {name}")
    };
    let scenario = Scenario { rules: broken, ..scenario };
    let checker = scenario.checker().threads(2).finish_when(HasDiscoveries::AnyFailures);
    let checked = checker.spawn_bfs().join();
    let failures = PROMISES.iter().filter_map(|promise| {
        checked.discovery(promise).map(|path| format!("not true that {promise}:\n{}", told(path)))
    });
    let shortest = failures.min_by_key(String::len);
    shortest.iter().for_each(|failure| println!("{broken:?}\n{name}: {failure}"));
    shortest.is_some()
}

#[test]
fn touching_what_is_in_flight_is_found() {
    let name = "two create one row, a third wants the email of one";
    assert!(is_found(name, Rules { fences: false, ..Rules::SOUND }));
}

#[test]
fn removing_rows_for_good_is_found() {
    let name = "one creates a row, another creates and removes it";
    assert!(is_found(name, Rules { leaves_dead: false, ..Rules::SOUND }));
}

#[test]
fn taking_back_before_the_outcome_is_known_is_found() {
    let name = "replies are lost while two change one row";
    assert!(is_found(name, Rules { settles_first: false, ..Rules::SOUND }));
}

#[test]
fn taking_a_claim_over_without_comparing_is_found() {
    let name = "an email is handed from one row to another and wanted back";
    assert!(is_found(name, Rules { compares_claims: false, ..Rules::SOUND }));
}

#[test]
fn claiming_after_the_row_is_found() {
    let name = "two create one row, a third wants the email of one";
    assert!(is_found(name, Rules { claims_first: false, ..Rules::SOUND }));
}

#[test]
fn entering_after_the_row_is_found() {
    let name = "two create one row, a third wants the email of one";
    assert!(is_found(name, Rules { enters_first: false, ..Rules::SOUND }));
}

#[test]
fn two_runs_that_share_their_attempts_are_found() {
    let name = "one call is made twice";
    assert!(is_found(name, Rules { runs_apart: false, ..Rules::SOUND }));
}
