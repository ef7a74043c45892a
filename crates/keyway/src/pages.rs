//! All pages of a list, one call after the other.

use crate::answer::Page;
use crate::typed::{FromAnswer, Given, Row, Scope};
use data::{Result, Value};
use std::marker::PhantomData;

/// The pages of a list: each call of [`Pages::next`] reads one.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> keyway::Result<()> {
/// # let notes = keyway::open("examples/notes.toml", "memory:").await?;
/// # for title in ["a", "b", "c"] {
/// #     notes.call("write_note").by("ann").arg("title", title).await?;
/// # }
/// let mut pages = notes.call("my_notes").by("ann").arg("limit", 2).pages()?;
/// let mut titles = Vec::new();
/// while let Some(page) = pages.next().await? {
///     for note in page.rows {
///         titles.push(note.get("title")?);
///     }
/// }
/// assert_eq!(titles.len(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Pages<T> {
    scope: Scope,
    position: usize,
    given: Vec<Given>,
    is_over: bool,
    rows: PhantomData<fn() -> T>,
}

impl<T: Row> Pages<T> {
    pub(crate) fn new(scope: Scope, position: usize, given: Vec<Given>) -> Self {
        Pages { scope, position, given, is_over: false, rows: PhantomData }
    }

    /// The next page; nothing after the last. After an error the same page is asked for again.
    pub async fn next(&mut self) -> Result<Option<Page<T>>> {
        if self.is_over {
            return Ok(None);
        }
        let reply = self.scope.send(self.position, self.given.clone(), None).await?;
        let page: Page<T> = Page::from_answer(reply.answer)?;
        self.is_over = page.next.is_none();
        if let (Some(next), Some(at)) = (&page.next, self.scope.argument(self.position, "cursor")) {
            self.given.resize(self.given.len().max(at + 1), Given::Missing);
            if let Some(cursor) = self.given.get_mut(at) {
                *cursor = Given::Value(Value::Text(next.to_string()));
            }
        }
        Ok(Some(page))
    }

    /// The rows of all pages, one after the other.
    pub fn rows(self) -> Rows<T> {
        Rows { pages: self, page: Vec::new().into_iter() }
    }
}

/// The rows of a list: pages are read as they are needed.
#[derive(Debug)]
pub struct Rows<T> {
    pages: Pages<T>,
    page: std::vec::IntoIter<T>,
}

impl<T: Row> Rows<T> {
    /// The next row; nothing after the last.
    pub async fn next(&mut self) -> Result<Option<T>> {
        loop {
            if let Some(row) = self.page.next() {
                return Ok(Some(row));
            }
            match self.pages.next().await? {
                Some(page) => self.page = page.rows.into_iter(),
                None => return Ok(None),
            }
        }
    }
}
