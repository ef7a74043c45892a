//! What makes a comparison fair: turns in an order nobody profits from, on a machine that has
//! nothing left to do for whoever came before, and numbers that one odd round does not move.

use std::time::Duration;

/// How long nothing must be going on before a turn, and how often that is waited for.
const QUIET_CHECK: Duration = Duration::from_millis(50);
const QUIET_CHECKS_MAX: usize = 40;

/// The contenders of a round in an order of its own, until all orders were taken: in a fixed circle
/// each would always follow the same other, and pay for what that one has left behind.
pub fn order(contenders: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..contenders).collect();
    let mut number = round;
    for place in (1..contenders).rev() {
        order.swap(place, number % (place + 1));
        number /= place + 1;
    }
    order
}

/// Waits until no processor is busy: what somebody puts in order after a turn is not counted
/// against whoever comes next. A machine that is never quiet is not waited for long.
pub fn wait_for_quiet() {
    for _ in 0..QUIET_CHECKS_MAX {
        let before = busy_ticks();
        std::thread::sleep(QUIET_CHECK);
        if busy_ticks() - before <= 1 {
            return;
        }
    }
}

/// Lets the operating system write what it holds back, so that nobody's sync waits for what another
/// has written.
pub fn write_back() {
    std::process::Command::new("sync").status().unwrap();
}

/// Processor time that anybody on this machine has used so far, in hundredths of a second.
fn busy_ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let line = text.lines().next().unwrap_or_default();
    let ticks = line.split_whitespace().skip(1).map(|ticks| ticks.parse::<u64>().unwrap());
    // The fourth and fifth are those in which a processor had nothing to do.
    ticks.take(8).enumerate().filter(|(at, _)| !matches!(at, 3 | 4)).map(|(_, ticks)| ticks).sum()
}

/// The middle of several numbers; no number if there are none.
pub fn median(numbers: &[f64]) -> f64 {
    part(numbers, 1, 2)
}

/// The numbers below and above which a quarter lies.
pub fn quartiles(numbers: &[f64]) -> (f64, f64) {
    (part(numbers, 1, 4), part(numbers, 3, 4))
}

fn part(numbers: &[f64], part: usize, of: usize) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() * part / of).copied().unwrap_or(f64::NAN)
}
