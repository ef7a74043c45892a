//! What the simulation reads through indexes while rows change: entries or a claim first, and the
//! rows they name when the wire gets to it.
//!
//! ```text
//! scan ─▶ entries ─▶ others write ─▶ get ─▶ rows that hold their entry
//!    └──────── what was there at both ends, unchanged, is among them ┘
//! ```
//!
//! What is answered has the value that it was looked up by. Rows that change meanwhile may be
//! answered or not, and so may those that have ended for anybody: another may have their values.

use super::wire::Fault;
use super::world::World;
use crate::error::Result;
use crate::protocol::tier1::readers::rows_by;
use crate::session::Session;
use crate::store::{Key, Keyed, Scan, Version};
use crate::value::Value;
use std::collections::BTreeMap;

/// What a reader looks for: a field of people, which is an index too, and its value.
struct Sought {
    number: usize,
    value: Value,
}

impl World {
    /// A reader: some looks, one after the other.
    pub async fn reader(&self, process: usize, looks: u64) {
        for _ in 0..looks {
            let sought = match self.below(2) {
                0 => Sought { number: 0, value: Value::Text(format!("color{}", self.below(2))) },
                _ => Sought { number: 1, value: Value::Text(format!("email{}", self.below(3))) },
            };
            // One that is refused answers nothing.
            let _ = self.look(process, &sought).await;
        }
    }

    async fn look(&self, process: usize, sought: &Sought) -> Result<()> {
        let mut session = self.session(process, 0);
        let mut before = self.people_with(sought);
        // What nobody has seen may be missed.
        before.retain(|key, _| !self.wire.is_unseen(key));
        let found = self.found(&mut session, sought).await?;
        let of = (&*self.people, &*self.people.indexes[sought.number]);
        let rows = rows_by(&mut session, of, &found, self.rules).await?;
        let after = self.people_with(sought);
        let answered: Vec<Keyed> = rows.into_iter().flatten().collect();
        if answered.len() < found.len() {
            self.wire.count(Fault::Misled);
        }
        self.wire.note(|| format!("read {:?} {answered:?}", sought.value));
        let wrong = answered.iter().find(|keyed| !self.is_sought(sought, keyed));
        let is_missed = |(key, version): &(&Key, &Option<Version>)| {
            after.get(*key) == Some(*version) && !answered.iter().any(|keyed| keyed.key == **key)
        };
        let problem = match (wrong, before.iter().find(is_missed)) {
            (Some(wrong), _) => format!("{:?} was answered with {wrong:?}", sought.value),
            (None, Some(missed)) => format!("{:?} was not answered with {missed:?}", sought.value),
            (None, None) => return Ok(()),
        };
        *self.misread.lock().unwrap() = Some(problem);
        Ok(())
    }

    /// The live entries of a value, or its claim.
    async fn found(&self, session: &mut Session<'_>, sought: &Sought) -> Result<Vec<Keyed>> {
        let index = &self.people.indexes[sought.number];
        let mut found = match index.model.unique {
            true => {
                let key = index.key.encode([&sought.value])?;
                let claim = session.get(std::slice::from_ref(&key)).await?.pop().flatten();
                claim.map(|row| Keyed { key, row }).into_iter().collect()
            }
            false => {
                let range = index.key.children(&index.key.front([&sought.value])?);
                session.scan(&Scan { range, reverse: false, rows: 100 }).await?.rows
            }
        };
        found.retain(|keyed| keyed.row.is_live(session.now));
        Ok(found)
    }

    /// The people there are with a value at this instant, by every clock, each with its version.
    fn people_with(&self, sought: &Sought) -> BTreeMap<Key, Option<Version>> {
        let now = self.latest();
        let mut people = self.all(self.people.key.space);
        people.retain(|keyed| keyed.row.is_live(now) && self.is_sought(sought, keyed));
        people.into_iter().map(|keyed| (keyed.key, keyed.row.version)).collect()
    }

    fn is_sought(&self, sought: &Sought, keyed: &Keyed) -> bool {
        let slots = self.people.decode(&keyed.row.value).unwrap();
        slots.get(sought.number) == Some(&sought.value)
    }
}
