//! Every row of a space, page by page.

use crate::error::Result;
use crate::store::{End, Keyed, Range, Scan, Store};

/// Rows of one page of a walk.
pub(super) const PAGE_ROWS: usize = 500;

/// A walk over every row of a space, expired ones and tombstones included.
#[derive(Debug)]
pub struct Walk {
    rest: Option<Range>,
}

impl Walk {
    /// A walk over the space with this number.
    pub fn over(space: u16) -> Self {
        Walk { rest: Some(Range::of_space(space)) }
    }

    /// The next page; nothing at the end.
    pub async fn next(&mut self, store: &dyn Store) -> Result<Option<Vec<Keyed>>> {
        let Some(range) = self.rest.take() else { return Ok(None) };
        let scan = Scan { range, reverse: false, rows: PAGE_ROWS };
        let page = store.walk(&scan).await?;
        if page.end != End::Range {
            self.rest = page.rows.last().map(|last| scan.range.after(&last.key, false));
        }
        Ok((!page.rows.is_empty()).then_some(page.rows))
    }
}
