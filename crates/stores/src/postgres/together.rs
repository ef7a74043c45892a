//! Statements that change rows, made one: every request to the server is answered by a message of
//! its own, and whoever waits is woken by each.
//!
//! ```text
//! INSERT a │ INSERT b │ DELETE c   ─▶   WITH w1 AS (INSERT b), w2 AS (DELETE c) INSERT a
//! ```
//!
//! The parts change different rows, so that their order does not matter; all of them see what was
//! committed when the whole began, which is after the locks were taken. What fails in one undoes
//! all, as it does in a transaction.

use super::statement::{places, renumbered};
use std::sync::{Arc, PoisonError, RwLock};

/// Statements that are made one.
const PARTS_MAX: usize = 12;
/// Texts that are kept, each prepared on every connection.
const TEXTS_MAX: usize = 64;

/// The statements so far. They are few, and looked through faster than found.
#[derive(Debug, Default)]
pub(super) struct Together {
    texts: RwLock<Vec<(Vec<usize>, Arc<str>)>>,
}

impl Together {
    /// One statement for these, whose values stand in their order; nothing if there is nothing to
    /// gain by it. The texts are those of tables, which stay where they are.
    pub(super) fn text(&self, parts: &[&Arc<str>]) -> Option<Arc<str>> {
        if !(2..=PARTS_MAX).contains(&parts.len()) {
            return None;
        }
        let is_these = |addresses: &[usize]| {
            addresses.iter().copied().eq(parts.iter().map(|text| text.as_ptr().addr()))
        };
        let known = self.texts.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = known.iter().find(|(addresses, _)| is_these(addresses)) {
            return Some(text.clone());
        }
        drop(known);
        let mut texts = self.texts.write().unwrap_or_else(PoisonError::into_inner);
        // A statement is known by where its text is, so that there is one text.
        if let Some((_, text)) = texts.iter().find(|(addresses, _)| is_these(addresses)) {
            return Some(text.clone());
        }
        if texts.len() >= TEXTS_MAX {
            return None;
        }
        let text: Arc<str> = one(parts)?.into();
        let addresses = parts.iter().map(|text| text.as_ptr().addr()).collect();
        texts.push((addresses, text.clone()));
        Some(text)
    }
}

/// One statement for all: the first is the one that is done, the others go with it.
fn one(parts: &[&Arc<str>]) -> Option<String> {
    let (first, others) = parts.split_first()?;
    let mut values = places(first);
    let mut with = Vec::with_capacity(others.len());
    for (number, text) in others.iter().enumerate() {
        with.push(format!("w{} AS ({})", number + 1, renumbered(text, values)));
        values += places(text);
    }
    Some(format!("WITH {} {first}", with.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_become_one_with_their_values_behind_each_other() {
        let texts: [Arc<str>; 3] = [
            "INSERT INTO a (x, y) VALUES ($1, $2)".into(),
            "DELETE FROM b WHERE k = $1".into(),
            "INSERT INTO c (x) VALUES ($1) ON CONFLICT (x) DO NOTHING".into(),
        ];
        let [insert, delete, put] = &texts;
        let together = Together::default();
        let text = together.text(&[insert, delete, put, delete]);
        assert_eq!(
            text.as_deref(),
            Some(
                "WITH w1 AS (DELETE FROM b WHERE k = $3), \
                 w2 AS (INSERT INTO c (x) VALUES ($4) ON CONFLICT (x) DO NOTHING), \
                 w3 AS (DELETE FROM b WHERE k = $5) INSERT INTO a (x, y) VALUES ($1, $2)"
            )
        );
        let again = together.text(&[insert, delete, put, delete]);
        assert!(text.zip(again).is_some_and(|(one, other)| Arc::ptr_eq(&one, &other)));
        assert!(together.text(&[insert]).is_none());
        assert!(together.text(&[insert; PARTS_MAX + 1]).is_none());
    }

    #[test]
    fn no_more_than_so_many_are_kept() {
        let text: Arc<str> = "DELETE FROM b WHERE k = $1".into();
        let others: Vec<Arc<str>> = (0..=TEXTS_MAX).map(|_| Arc::from("DELETE FROM c")).collect();
        let together = Together::default();
        let kept = others.iter().filter(|other| together.text(&[&text, other]).is_some());
        assert_eq!(kept.count(), TEXTS_MAX);
    }
}
