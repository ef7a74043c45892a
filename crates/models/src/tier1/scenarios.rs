//! Who meets whom. Each scenario is small, and together they come upon every step of the protocol.

use super::{Call, Rules, Scenario};

const RED: u8 = 0;
const BLUE: u8 = 1;
const ANN: u8 = 0;
const BOB: u8 = 1;

fn put(number: u8, row: u8, color: u8, email: u8) -> Call {
    Call { number, row, to: Some((color, email)), guesses: false, given: false }
}

fn delete(number: u8, row: u8) -> Call {
    Call { number, row, to: None, guesses: false, given: false }
}

fn made_twice(call: Call) -> Call {
    Call { given: true, ..call }
}

fn guessing(call: Call) -> Call {
    Call { guesses: true, ..call }
}

fn scenario(name: &'static str, calls: Vec<Vec<Call>>) -> Scenario {
    Scenario {
        name,
        rows: [None, None],
        calls,
        tries: 1,
        cleanings: 1,
        crashes: 1,
        losses: 0,
        remembered: 8,
        rules: Rules::SOUND,
    }
}

/// Every scenario, under the sound rules.
pub fn every_scenario() -> Vec<Scenario> {
    let first = [Some((RED, ANN)), None];
    let mut all = vec![
        Scenario {
            cleanings: 2,
            crashes: 2,
            ..scenario(
                "two create one row, a third wants the email of one",
                vec![
                    vec![put(1, 0, RED, ANN)],
                    vec![put(2, 0, BLUE, BOB)],
                    vec![put(3, 1, RED, ANN)],
                ],
            )
        },
        Scenario {
            cleanings: 2,
            crashes: 2,
            tries: 2,
            ..scenario(
                "one creates a row, another creates and removes it",
                vec![vec![put(1, 0, RED, ANN)], vec![put(2, 0, BLUE, BOB), delete(3, 0)]],
            )
        },
        Scenario {
            rows: first,
            crashes: 2,
            cleanings: 2,
            tries: 2,
            ..scenario(
                "an email is handed from one row to another and wanted back",
                vec![
                    vec![put(1, 0, BLUE, BOB)],
                    vec![put(2, 1, BLUE, ANN)],
                    vec![put(3, 0, RED, ANN)],
                ],
            )
        },
        Scenario {
            rows: first,
            losses: 1,
            ..scenario(
                "a row changes twice, another removes it and uses its email",
                vec![
                    vec![put(1, 0, BLUE, BOB), put(2, 0, RED, ANN)],
                    vec![delete(3, 0), put(4, 1, RED, ANN)],
                ],
            )
        },
    ];
    all.extend(lossy(first));
    all.extend(repeated(first));
    all
}

/// Scenarios in which replies are lost.
fn lossy(first: [Option<(u8, u8)>; 2]) -> Vec<Scenario> {
    vec![
        Scenario {
            rows: first,
            crashes: 1,
            losses: 2,
            ..scenario(
                "replies are lost while two change one row",
                vec![vec![put(1, 0, BLUE, BOB)], vec![put(2, 0, BLUE, ANN)]],
            )
        },
        Scenario {
            rows: first,
            losses: 2,
            remembered: 1,
            ..scenario(
                "replies are lost, and rows remember little",
                vec![vec![put(1, 0, BLUE, BOB)], vec![put(2, 0, BLUE, ANN), put(3, 0, RED, ANN)]],
            )
        },
        Scenario {
            losses: 2,
            ..scenario(
                "replies are lost while two rows want one email",
                vec![vec![put(1, 0, RED, ANN)], vec![put(2, 1, BLUE, ANN)]],
            )
        },
    ]
}

/// Scenarios in which a call is made twice, at once or one after the other.
fn repeated(first: [Option<(u8, u8)>; 2]) -> Vec<Scenario> {
    vec![
        Scenario {
            rows: first,
            losses: 1,
            ..scenario(
                "one call is made twice",
                vec![
                    vec![made_twice(put(1, 0, BLUE, BOB))],
                    vec![made_twice(put(1, 0, BLUE, BOB))],
                ],
            )
        },
        Scenario {
            losses: 1,
            tries: 2,
            ..scenario(
                "one call that guesses is made twice",
                vec![
                    vec![made_twice(guessing(put(1, 0, RED, ANN)))],
                    vec![made_twice(guessing(put(1, 0, RED, ANN)))],
                ],
            )
        },
        Scenario {
            losses: 1,
            ..scenario(
                "a call is made twice while another wants its email",
                vec![
                    vec![made_twice(put(1, 0, RED, ANN))],
                    vec![made_twice(put(1, 0, RED, ANN))],
                    vec![put(2, 1, BLUE, ANN)],
                ],
            )
        },
    ]
}
