//! Walks: every row of a space, whatever its group, for whoever looks after the store.
//!
//! ```text
//! SCAN, names like the template's ─▶ rows, or containers ─▶ their members ─▶ rows
//! ```
//!
//! Redis keeps no list of groups, so the database itself is walked. It answers every name that is
//! there all the time at least once, and one twice if its table shrinks meanwhile: names that were
//! met are remembered and passed over. In a large database there are several rounds, each over a
//! share of the names, so that no more than [`MET_MAX`] or so are remembered at a time.
//!
//! On a cluster one master is walked after the other. A key that is moved meanwhile may be met
//! twice or never; so the nodes say before and after which slots they have, and where that has
//! changed they are walked once more, for what was not met.
//!
//! A key of another program's under a name of ours ends a walk with an error that names it.
//!
//! A server that is started again meanwhile places names elsewhere: it is read once more.
//!
//! Where a walk has come to is kept here, under the last key it answered, for what was met is as
//! much a part of it as the server's own position; one that nobody remembers begins anew. A walk
//! that another process goes on with is in `resume`.

use super::RedisStore;
use super::answers::Questions;
use super::commit::question;
use super::connection::Connection;
use super::error::unexpected;
use super::layout::{Layout, Place};
use super::listing::ranged;
use super::member::ListKind;
use super::met::Met;
use super::open::{own_line, run_id};
use super::walked::{
    BEGINNING, KEYS_AT_ONCE, MOVES_MAX, Walked, all_of, front, is_moving, key_of_name, member_key,
    moved_often, scan_names, walked,
};
use data::Result;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Key, Keyed, Page, Range, Row, Scan};
use redis::Value as Answer;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Walks that are remembered.
const WALKS_MAX: usize = 64;

/// Names that a walk remembers at a time: 40 MB or so.
const MET_MAX: u64 = 1 << 20;

/// Walks that were left off.
#[derive(Debug, Default)]
pub(super) struct Walks(Mutex<VecDeque<(Vec<u8>, Walking)>>);

/// Where a walk is.
#[derive(Debug, Default)]
struct Walking {
    /// Where a server is read on; nothing once it was read to its end.
    cursor: Option<(Arc<Connection>, Vec<u8>)>,
    /// Which run of that server began to be read.
    run: Option<String>,
    /// Servers that are still to be read.
    servers: VecDeque<Arc<Connection>>,
    /// Which slots the nodes of a cluster had when they began to be read.
    slots: String,
    /// How often that has changed, or a server was started again.
    moves: usize,
    /// Names that were read and not yet looked into.
    names: VecDeque<Vec<u8>>,
    /// A sorted set that is being read: its name, and what lies behind what was read.
    within: Option<(Vec<u8>, Vec<u8>)>,
    /// Keys of rows that were found and not yet read.
    keys: VecDeque<Key>,
    /// The names that were met; nothing where meeting one twice does no harm.
    met: Option<Met>,
}

impl Walking {
    fn begin(met: Option<Met>) -> Walking {
        Walking { met, ..Walking::default() }
    }

    /// Takes in names that a step through the database has met.
    fn meet(&mut self, names: Vec<Vec<u8>>) {
        match &mut self.met {
            None => self.names.extend(names),
            Some(met) => self.names.extend(names.into_iter().filter(|name| met.is_new(name))),
        }
    }

    /// Goes on to the next server, if there is one.
    fn go_on(&mut self) -> bool {
        self.cursor = self.servers.pop_front().map(|server| (server, BEGINNING.to_vec()));
        self.cursor.is_some()
    }

    /// Counts that something was moved.
    fn count_move(&mut self) -> Result<()> {
        self.moves += 1;
        if self.moves > MOVES_MAX { Err(moved_often()) } else { Ok(()) }
    }

    /// Begins the next round, if there is one.
    fn go_round(&mut self) -> bool {
        self.met.as_mut().is_some_and(Met::next)
    }
}

impl Walks {
    fn take(&self, last: &[u8]) -> Option<Walking> {
        let mut walks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = walks.iter().position(|(key, _)| key == last)?;
        walks.remove(place).map(|(_, walking)| walking)
    }

    fn keep(&self, last: Vec<u8>, walking: Walking) {
        let mut walks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        walks.push_back((last, walking));
        if walks.len() > WALKS_MAX {
            walks.pop_front();
        }
    }
}

impl RedisStore {
    /// The next rows of a space, in the server's order.
    pub(super) async fn walk_on(&self, layout: &Layout, scan: &Scan) -> Result<Page> {
        let space = Key::new(scan.range.start.clone()).space();
        let place = layout.place(space)?;
        // Behind a key there is one byte more; a walk that begins has no key yet.
        let last = scan.range.start.split_last().map(|(_, key)| key).unwrap_or_default();
        let mut walking = match self.walks.take(last) {
            Some(walking) => walking,
            None => {
                let rounds = self.names_count().await? / MET_MAX + 1;
                self.walking(Some(Met::new(rounds))).await?
            }
        };
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let mut end = End::Rows;
        while rows.len() < scan.rows {
            if bytes >= PAGE_BYTES_MAX {
                end = End::Bytes;
                break;
            }
            if walking.keys.is_empty() && !self.find_keys(layout, place, &mut walking).await? {
                end = End::Range;
                break;
            }
            let most = place.rows_at_once(scan.rows - rows.len());
            let keys: Vec<Key> = walking.keys.drain(..most.min(walking.keys.len())).collect();
            let found = self.rows(layout, &keys).await?;
            place.weigh(found.len(), found.iter().flatten().map(Row::weight).sum());
            for (key, row) in keys.into_iter().zip(found) {
                let Some(row) = row else { continue };
                bytes += key.bytes().len() + row.weight();
                rows.push(Keyed { key, row });
            }
        }
        // One that has come to its end is remembered too: whoever asks on is answered nothing.
        if let Some(last) = rows.last() {
            self.walks.keep(last.key.bytes().to_vec(), walking);
        }
        Ok(Page { rows, end })
    }

    /// The first keys of a range, or the last, among all there are; in their order.
    pub(super) async fn first_keys(
        &self,
        (layout, place): (&Layout, &Place),
        range: &Range,
        reverse: bool,
        most: usize,
    ) -> Result<Vec<Key>> {
        let mut walking = self.walking(None).await?;
        let mut first: BTreeSet<Key> = BTreeSet::new();
        while self.find_keys(layout, place, &mut walking).await? {
            for key in walking.keys.drain(..).filter(|key| range.contains(key.as_ref())) {
                first.insert(key);
                if first.len() > most {
                    if reverse {
                        first.pop_first()
                    } else {
                        first.pop_last()
                    };
                }
            }
        }
        Ok(if reverse { first.into_iter().rev().collect() } else { first.into_iter().collect() })
    }

    /// A walk over all servers from their beginning.
    async fn walking(&self, met: Option<Met>) -> Result<Walking> {
        let mut walking = Walking::begin(met);
        walking.slots = self.slots().await?;
        walking.servers = self.servers.masters().into();
        walking.go_on();
        Ok(walking)
    }

    /// Which slots the nodes of a cluster say they have, and which are being moved.
    pub(super) async fn slots(&self) -> Result<String> {
        let mut slots = Vec::new();
        if self.servers.is_cluster() {
            for master in self.servers.masters() {
                slots.push(own_line(&master).await?);
            }
        }
        slots.sort();
        Ok(slots.join("\n"))
    }

    /// After the last server: again over all of them for what has moved, or for the next round.
    async fn go_again(&self, walking: &mut Walking) -> Result<bool> {
        let slots = self.slots().await?;
        if is_moving(&slots, walking.slots.as_bytes()) {
            walking.count_move()?;
        } else if !walking.go_round() {
            return Ok(false);
        }
        walking.slots = slots;
        walking.servers = self.servers.masters().into();
        Ok(walking.go_on())
    }

    /// Finds more keys; false if there are none left.
    async fn find_keys(
        &self,
        layout: &Layout,
        place: &Place,
        walking: &mut Walking,
    ) -> Result<bool> {
        while walking.keys.is_empty() {
            if let Some((name, from)) = walking.within.take() {
                self.read_on(layout, place, (name, from), walking).await?;
            } else if let Some(name) = walking.names.pop_front() {
                self.look_into(layout, place, name, walking).await?;
            } else if let Some((server, cursor)) = walking.cursor.take() {
                if cursor == BEGINNING {
                    walking.run = run_id(&server).await?;
                }
                let template = walked(place)?.template;
                let glob = template.glob(&layout.naming);
                // Whatever their type: one that is not the layout's is told when it is read.
                let (cursor, mut names) =
                    scan_names(&server, (&cursor, KEYS_AT_ONCE), &glob, None).await?;
                walking.cursor = match cursor {
                    Some(cursor) => Some((server, cursor)),
                    None if run_id(&server).await? == walking.run => None,
                    None => {
                        walking.count_move()?;
                        Some((server, BEGINNING.to_vec()))
                    }
                };
                names.retain(|name| template.take(&layout.naming, name).is_some());
                walking.meet(names);
            } else if !walking.go_on() && !self.go_again(walking).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many names the database has, whosever they are.
    async fn names_count(&self) -> Result<u64> {
        let mut names = 0;
        for master in self.servers.masters() {
            match question(&master, &redis::cmd("DBSIZE")).await? {
                Answer::Int(count) => names += count.unsigned_abs(),
                _ => return Err(unexpected()),
            }
        }
        Ok(names)
    }

    /// The keys of a name: its own, or those of its members.
    async fn look_into(
        &self,
        layout: &Layout,
        place: &Place,
        name: Vec<u8>,
        walking: &mut Walking,
    ) -> Result<()> {
        let Walked { template, container } = walked(place)?;
        let Some(container) = container else {
            walking.keys.extend(key_of_name((layout, place), template, &name)?);
            return Ok(());
        };
        let Some(taken) = template.take(&layout.naming, &name) else { return Ok(()) };
        if container == ListKind::SortedSet {
            walking.within = Some((name, b"-".to_vec()));
            return Ok(());
        }
        let mut questions = Questions::default();
        questions.ask(all_of(container), &name, &[]);
        let answered = self.answers(questions).await?;
        let front = front(place, &taken.values)?;
        for member in answered.read().members()? {
            walking.keys.push_back(member_key((layout, place), container, &front, member)?);
        }
        Ok(())
    }

    /// The next members of a sorted set.
    async fn read_on(
        &self,
        layout: &Layout,
        place: &Place,
        (name, from): (Vec<u8>, Vec<u8>),
        walking: &mut Walking,
    ) -> Result<()> {
        let template = walked(place)?.template;
        let Some(taken) = template.take(&layout.naming, &name) else { return Ok(()) };
        let mut questions = Questions::default();
        ranged(&mut questions, &name, (from, b"+".to_vec()), false, KEYS_AT_ONCE);
        let answered = self.answers(questions).await?;
        let members = answered.read().members()?;
        let (front, sorted) = (front(place, &taken.values)?, ListKind::SortedSet);
        for member in &members {
            walking.keys.push_back(member_key((layout, place), sorted, &front, member)?);
        }
        if let (true, Some(last)) = (members.len() >= KEYS_AT_ONCE, members.last()) {
            walking.within = Some((name, [b"(", *last].concat()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: std::ops::Range<u32>) -> Vec<Vec<u8>> {
        of.map(|number| format!("item:{number}").into_bytes()).collect()
    }

    #[test]
    fn a_name_that_is_met_twice_is_looked_into_once_in_every_round() {
        for rounds in [1, 3] {
            let mut walking = Walking::begin(Some(Met::new(rounds)));
            let mut found: Vec<Vec<u8>> = Vec::new();
            let mut went_round = 0;
            loop {
                // The second answer has half of the first in it once more.
                walking.meet(names(0..200));
                walking.meet(names(100..300));
                found.extend(walking.names.drain(..));
                went_round += 1;
                if !walking.go_round() {
                    break;
                }
            }
            assert_eq!(went_round, rounds);
            found.sort();
            let mut expected = names(0..300);
            expected.sort();
            assert_eq!(found, expected, "{rounds} rounds");
        }
    }
}
