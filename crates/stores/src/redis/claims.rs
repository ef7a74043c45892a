//! Claims and the rows they name, in one round trip after their list.
//!
//! ```text
//! list ─▶ names of claims ─▶ claims.lua ─┬─ list again
//!                                        ├─ claims
//!                                        └─ names that they make, with the rows there
//! ```
//!
//! Only what a claim holds says whose it is. So a script on the server makes the names of rows, all
//! at one instant, and changes nothing. Every name comes back with its row: whoever reads the page
//! holds it against the name that the row has here. Whatever is unusual is read apart.

use super::RedisStore;
use super::answers::{Answered, Answers};
use super::error::{Fault, failed, fault};
use super::layout::{Ends, Layout, Place, What};
use super::listing::Listing;
use super::name::NamePart;
use super::scan::Scanned;
use super::script::Arguments;
use data::Result;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{Key, Row};
use keyspace::key::KeyType;

/// How the rows of claims are found.
pub(super) struct Claims<'c> {
    /// Where the claims lie.
    place: &'c Place,
    /// Where their rows lie.
    rows: &'c Place,
    /// The parts of a row's name, each with the letter by which the script knows it; nothing where
    /// a claim is the text that the name ends with.
    parts: Option<Vec<(&'static str, &'c str)>>,
}

impl<'c> Claims<'c> {
    /// The claims of an index and the rows of its collection; nothing where more than the content
    /// of both would have to be asked for.
    pub(super) fn of(place: &'c Place, rows: &'c Place) -> Option<Claims<'c>> {
        let What::Claim(owner) = &place.what else { return None };
        let is_whole = matches!(rows.what, What::Record { .. })
            && rows.versions.is_none()
            && matches!(rows.ends, Ends::Never | Ends::Field(_));
        if !is_whole || !matches!(place.ends, Ends::Never | Ends::Native(_)) {
            return None;
        }
        let parts = match owner.kept {
            None if rows.own.parts() == owner.text.parts() => None,
            None => return None,
            Some(_) => {
                let parts = rows.own.parts().iter().map(|part| match part {
                    NamePart::Literal(literal) => Some(("l", literal.as_str())),
                    NamePart::Segment(position, kind) => {
                        let letter = if *kind == KeyType::Path { "p" } else { "s" };
                        Some((letter, owner.names.get(*position)?.as_str()))
                    }
                    NamePart::Slice => None,
                });
                Some(parts.collect::<Option<_>>()?)
            }
        };
        Some(Claims { place, rows, parts })
    }

    /// What the script is given: a listing, the keys of claims, and of how many the rows are
    /// wanted.
    pub(super) fn call(
        &self,
        of: &Scanned<'_>,
        listing: &Listing<'_>,
        (keys, named): (&[Vec<u8>], usize),
    ) -> Result<Arguments> {
        let naming = &of.layout.naming;
        let mut call = Arguments::default();
        for name in &listing.names {
            call.key(name.clone(), b'z');
        }
        for key in keys {
            call.key(self.place.own_name(of.layout, &self.place.parts(key)?)?, b'c');
        }
        call.values.number(named);
        call.values.number(PAGE_BYTES_MAX);
        call.values.push(if matches!(self.place.ends, Ends::Never) { "" } else { "ends" });
        let ((from, to), is_backwards) = listing.edges(of)?;
        call.values.push(from);
        call.values.push(to);
        call.values.push(if is_backwards { "REV" } else { "" });
        call.values.number(listing.most);
        call.values.push(naming.fixed(&[]));
        if let Some(parts) = &self.parts {
            call.values.push(naming.separator().character().to_string());
            for (letter, text) in parts {
                call.values.push(letter);
                call.values.push(text);
            }
        }
        Ok(call)
    }

    /// The row of a claim, if it is there; nothing at all where the script looked under another
    /// name.
    pub(super) fn answer(
        &self,
        layout: &Layout,
        owner: &Key,
        answers: &mut Answers<'_>,
    ) -> Result<Option<Option<Row>>> {
        let row = self.rows.parts(owner.as_ref())?;
        if answers.bytes()? != Some(self.rows.own_name(layout, &row)?.as_slice()) {
            answers.fields()?;
            return Ok(None);
        }
        self.rows.answer(layout, &row, answers).map(Some)
    }
}

impl RedisStore {
    /// Runs the script; nothing where the server refuses it. Whoever then reads apart is told what
    /// is wrong, and of which key.
    pub(super) async fn claimed(&self, call: &Arguments) -> Result<Option<Answered>> {
        match self.told(&self.claims_script, call).await {
            Ok(reply) => Ok(Answered::of_script(&reply)),
            Err(error) if fault(&error) == Fault::Refused => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}
