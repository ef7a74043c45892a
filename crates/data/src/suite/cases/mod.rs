//! The named cases, by what they are about.

mod atomic;
mod bytes;
mod checks;
mod concurrent;
mod counters;
mod ensure;
mod feed;
mod limits;
mod once;
mod order;
mod places;
mod random;
mod scans;
mod through;
mod writes;

use super::Case;

/// A list of cases: the promise, the name, and the function that tries it.
macro_rules! cases {
    ($($promise:literal $name:literal => $run:expr;)*) => {
        vec![$(Case { name: $name, promise: $promise, run: |bench| Box::pin($run(bench)) }),*]
    };
}
use cases;

/// Every case.
pub(super) fn all() -> Vec<Case> {
    let mut all = checks::cases();
    all.extend(writes::cases());
    all.extend(counters::cases());
    all.extend(limits::cases());
    all.extend(once::cases());
    all.extend(scans::cases());
    all.extend(through::cases());
    all.extend(order::cases());
    all.extend(bytes::cases());
    all.extend(atomic::cases());
    all.extend(places::cases());
    all.extend(ensure::cases());
    all.extend(feed::cases());
    all.extend(concurrent::cases());
    all.extend(random::cases());
    all
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn there_are_300_at_least_each_with_a_name_of_its_own() {
        let mut names: Vec<&str> = all().iter().map(|case| case.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "two cases have one name");
        assert!(count >= 300, "{count}");
    }
}
