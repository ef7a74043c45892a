//! Walks that another process can go on with: all that is known of one is in its mark.
//!
//! ```text
//! mark ─▶ master, SCAN cursor, names, member ─▶ a stretch of rows ─▶ mark
//!   └── another run of that server, or none there: nothing, the walk begins anew
//! ```
//!
//! The cursors of `SCAN` mean the same for as long as a server runs, whoever asks: they say which
//! part of its table is left, and the hash that places names there is made when it starts. So the
//! mark has the server's run, and every stretch compares it first; what was read since the last
//! comparison is held against the next one, and that is not left out at the end of a server.
//!
//! Names of a step that were not read yet are in the mark, for the same step asked again may answer
//! others. A stretch ends between two steps where it can, so that there are few of them. Containers
//! are gone on with behind a member: sorted sets in their order, small ones in that of bytes.
//!
//! Nothing is remembered of what was met: a name that a table, made smaller, answers twice is read
//! twice. Where slots have moved, all masters are gone through once more, as [`super::walk`] does.

use super::RedisStore;
use super::answers::Questions;
use super::connection::Connection;
use super::error::unexpected;
use super::layout::Layout;
use super::listing::ranged;
use super::member::ListKind;
use super::name::Template;
use super::open::run_id;
use super::place::Place;
use super::walked::{
    BEGINNING, KEYS_AT_ONCE, MOVES_MAX, Walked, all_of, front, is_moving, key_of_name, member_key,
    moved_often, scan_names, walked_on,
};
use data::Result;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{Key, Keyed, Row, Stretch};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a mark begins with: there may be others in later versions.
const FORM: &[u8] = b"walk 1";
/// Steps through a database after which a stretch ends, whatever was found.
const STEPS_MAX: usize = 100;

/// Where a walk is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Standing {
    /// Which slots the nodes of a cluster had when they began to be read.
    slots: Vec<u8>,
    /// How often that has changed.
    moves: usize,
    /// The host and port of each server that was read to its end, and a space behind it.
    done: Vec<u8>,
    /// The server that is being read.
    server: Option<Reading>,
    /// The container that is being read, and its last member that was.
    within: Option<(Vec<u8>, Option<Vec<u8>>)>,
    /// Names that were met and not yet looked into.
    names: VecDeque<Vec<u8>>,
}

/// Where the database of a server is read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    /// The server's host and port.
    place: Vec<u8>,
    /// Which run of it that is.
    run: Vec<u8>,
    /// Its cursor; nothing once it was read to its end.
    cursor: Option<Vec<u8>>,
}

/// What a step has come to.
enum Step {
    /// Keys of rows, perhaps none.
    Keys(Vec<Key>),
    /// The end of the walk.
    End,
    /// A server is not the one any more that was read.
    Void,
}

impl Standing {
    /// The mark that says so: texts, each behind its length.
    fn mark(&self) -> Vec<u8> {
        let moves = self.moves.to_string();
        let (place, run, cursor) = match &self.server {
            Some(Reading { place, run, cursor }) => (place.as_slice(), run.as_slice(), cursor),
            None => (&[][..], &[][..], &None),
        };
        let (name, member) = match &self.within {
            Some((name, member)) => (name.as_slice(), member),
            None => (&[][..], &None),
        };
        let mut mark = Vec::new();
        let mut push = |text: &[u8]| {
            mark.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
            mark.extend_from_slice(text);
        };
        push(FORM);
        [&self.slots, moves.as_bytes(), &self.done, place, run].into_iter().for_each(&mut push);
        push(cursor.as_deref().unwrap_or_default());
        push(name);
        // A member may be empty.
        push(&member.as_ref().map_or(Vec::new(), |member| [b"(", member.as_slice()].concat()));
        self.names.iter().for_each(|name| push(name));
        mark
    }

    /// Where a mark says that the walk is; nothing if it is none of ours.
    fn read(mut mark: &[u8]) -> Option<Standing> {
        let mut next = || {
            let (length, rest) = mark.split_first_chunk()?;
            let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
            let (text, rest) = rest.split_at_checked(length)?;
            mark = rest;
            Some(text.to_vec())
        };
        if next()? != FORM {
            return None;
        }
        let (slots, moves) = (next()?, String::from_utf8(next()?).ok()?.parse().ok()?);
        let (done, place, run, cursor) = (next()?, next()?, next()?, next()?);
        let (name, member) = (next()?, next()?);
        let cursor = (!cursor.is_empty()).then_some(cursor);
        let server = (!place.is_empty()).then_some(Reading { place, run, cursor });
        let member = member.split_first().map(|(_, member)| member.to_vec());
        let within = (!name.is_empty()).then_some((name, member));
        let names = std::iter::from_fn(next).collect();
        mark.is_empty().then_some(Standing { slots, moves, done, server, within, names })
    }

    /// Whether nothing is left of the last step through a database.
    fn is_between_steps(&self) -> bool {
        self.names.is_empty() && self.within.is_none()
    }

    /// Whether a server was read to its end.
    fn is_done(&self, place: &str) -> bool {
        self.done.split(|byte| *byte == b' ').any(|done| done == place.as_bytes())
    }
}

impl RedisStore {
    /// A stretch of a walk; nothing if the mark says nothing of the servers as they are now.
    pub(super) async fn walk_on_from(
        &self,
        layout: &Layout,
        space: u16,
        mark: Option<&[u8]>,
        wanted: usize,
    ) -> Result<Option<Stretch>> {
        let place = layout.place(space)?;
        let mut standing = match mark {
            None => Standing { slots: self.slots().await?.into_bytes(), ..Standing::default() },
            Some(mark) => match Standing::read(mark) {
                Some(standing) if self.is_as_it_was(&standing).await? => standing,
                _ => return Ok(None),
            },
        };
        let (mut rows, mut bytes, mut steps) = (Vec::new(), 0, 0);
        loop {
            let is_enough = rows.len() * 2 >= wanted || steps >= STEPS_MAX;
            let is_full = rows.len() >= wanted || bytes >= PAGE_BYTES_MAX;
            if is_full || (is_enough && standing.is_between_steps()) {
                return Ok(Some(Stretch { rows, mark: Some(standing.mark()) }));
            }
            steps += usize::from(standing.is_between_steps());
            let most = place.rows_at_once(wanted - rows.len()).min(KEYS_AT_ONCE);
            let keys = match self.step((layout, place), &mut standing, (wanted, most)).await? {
                Step::Keys(keys) => keys,
                Step::End => return Ok(Some(Stretch { rows, mark: None })),
                Step::Void => return Ok(None),
            };
            let found = self.rows(layout, &keys).await?;
            place.weigh(found.len(), found.iter().flatten().map(Row::weight).sum());
            for (key, row) in keys.into_iter().zip(found) {
                let Some(row) = row else { continue };
                bytes += key.bytes().len() + row.weight();
                rows.push(Keyed { key, row });
            }
        }
    }

    /// Whether the server that is being read has run since.
    async fn is_as_it_was(&self, standing: &Standing) -> Result<bool> {
        let Some(Reading { place, run, .. }) = &standing.server else { return Ok(true) };
        let Some(server) = self.master_at(place) else { return Ok(false) };
        Ok(run_id(&server).await?.is_some_and(|now| now.as_bytes() == run))
    }

    fn master_at(&self, place: &[u8]) -> Option<Arc<Connection>> {
        self.servers.masters().into_iter().find(|master| master.place().as_bytes() == place)
    }

    /// One step: members or names, `most` of them; a step through a database, past `wanted` keys
    /// or a few more; or on to another.
    async fn step(
        &self,
        (layout, place): (&Layout, &Place),
        standing: &mut Standing,
        (wanted, most): (usize, usize),
    ) -> Result<Step> {
        let Walked { template, container } = walked_on(place)?;
        if let Some((name, last)) = standing.within.take() {
            let (Some(container), Some(taken)) = (container, template.take(&layout.naming, &name))
            else {
                return Ok(Step::Keys(Vec::new()));
            };
            let members = self.members_after((&name, container), last, most).await?;
            let front = front(place, &taken.values)?;
            let key = |member: &Vec<u8>| member_key((layout, place), container, &front, member);
            let keys = members.iter().map(key).collect::<Result<_>>()?;
            if members.len() >= most {
                standing.within = members.last().map(|last| (name, Some(last.clone())));
            }
            return Ok(Step::Keys(keys));
        }
        if container.is_some() {
            standing.within = standing.names.pop_front().map(|name| (name, None));
            if standing.within.is_some() {
                return Ok(Step::Keys(Vec::new()));
            }
        }
        if !standing.names.is_empty() {
            let names = standing.names.drain(..most.min(standing.names.len()));
            let keys = names.map(|name| key_of_name((layout, place), template, &name));
            return Ok(Step::Keys(keys.filter_map(Result::transpose).collect::<Result<_>>()?));
        }
        self.next_names((layout, template), standing, wanted).await
    }

    /// Some more names, of so many keys of the database or a few more.
    async fn next_names(
        &self,
        (layout, template): (&Layout, &Template),
        standing: &mut Standing,
        keys: usize,
    ) -> Result<Step> {
        let Some(reading) = &mut standing.server else { return self.next_server(standing).await };
        let Some(server) = self.master_at(&reading.place) else { return Ok(Step::Void) };
        let Some(cursor) = reading.cursor.take() else {
            // The last steps, too, were of the run that the first were of.
            if !self.is_as_it_was(standing).await? {
                return Ok(Step::Void);
            }
            if let Some(reading) = standing.server.take() {
                standing.done.extend_from_slice(&reading.place);
                standing.done.push(b' ');
            }
            return Ok(Step::Keys(Vec::new()));
        };
        // Whatever their type: one that is not the layout's is told when it is read.
        let glob = template.glob(&layout.naming);
        let (cursor, mut names) = scan_names(&server, (&cursor, keys), &glob, None).await?;
        reading.cursor = cursor;
        names.retain(|name| template.take(&layout.naming, name).is_some());
        names.sort();
        names.dedup();
        standing.names = names.into();
        Ok(Step::Keys(Vec::new()))
    }

    /// On to a server that was not read yet; all of them once more if slots were moved meanwhile.
    async fn next_server(&self, standing: &mut Standing) -> Result<Step> {
        let masters = self.servers.masters();
        let next = masters.into_iter().find(|master| !standing.is_done(&master.place()));
        if let Some(next) = next {
            let run = run_id(&next).await?.ok_or_else(unexpected)?.into_bytes();
            let (place, cursor) = (next.place().into_bytes(), Some(BEGINNING.to_vec()));
            standing.server = Some(Reading { place, run, cursor });
            return Ok(Step::Keys(Vec::new()));
        }
        let slots = self.slots().await?;
        if !is_moving(&slots, &standing.slots) {
            return Ok(Step::End);
        }
        if standing.moves >= MOVES_MAX {
            return Err(moved_often());
        }
        let moves = standing.moves + 1;
        *standing = Standing { slots: slots.into_bytes(), moves, ..Standing::default() };
        Ok(Step::Keys(Vec::new()))
    }

    /// Members of a container behind one of them, at most so many.
    async fn members_after(
        &self,
        (name, container): (&[u8], ListKind),
        last: Option<Vec<u8>>,
        most: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let mut questions = Questions::default();
        let is_sorted = container == ListKind::SortedSet;
        if is_sorted {
            let least = match &last {
                Some(last) => [b"(", last.as_slice()].concat(),
                None => b"-".to_vec(),
            };
            ranged(&mut questions, name, (least, b"+".to_vec()), false, most);
        } else {
            questions.ask(all_of(container), name, &[]);
        }
        let answered = self.answers(questions).await?;
        let mut members = answered.read().members()?;
        if !is_sorted {
            members.retain(|member| last.as_ref().is_none_or(|last| *member > last.as_slice()));
            members.sort_unstable();
            members.truncate(most);
        }
        Ok(members.into_iter().map(<[u8]>::to_vec).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_says_where_a_walk_is_and_another_one_nothing() {
        let server = Reading {
            place: b"here:1".to_vec(),
            run: b"run".to_vec(),
            cursor: Some(b"7".to_vec()),
        };
        let standings = [
            Standing::default(),
            Standing { server: Some(server.clone()), ..Standing::default() },
            Standing {
                slots: b"a 1 0-5".to_vec(),
                moves: 3,
                done: b"here:2 here:3 ".to_vec(),
                server: Some(Reading { cursor: None, ..server }),
                within: Some((b"set:\0".to_vec(), Some(Vec::new()))),
                names: [b"one".to_vec(), b"two".to_vec()].into(),
            },
        ];
        for standing in standings {
            let mark = standing.mark();
            assert_eq!(Standing::read(&mark), Some(standing));
            for cut in 0..mark.len() {
                assert!(Standing::read(&mark[..cut]).is_none_or(|read| read.mark() == mark[..cut]));
            }
        }
        assert_eq!(Standing::read(b"\0\x01a key of an earlier version"), None);
        assert_eq!(Standing::read(b""), None);
    }

    #[test]
    fn a_server_is_done_by_its_whole_name() {
        let standing = Standing { done: b"here:12 there:1 ".to_vec(), ..Standing::default() };
        assert!(standing.is_done("here:12") && standing.is_done("there:1"));
        assert!(!standing.is_done("here:1") && !standing.is_done("re:12"));
    }
}
