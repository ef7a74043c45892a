//! The book of a keyspace's tokens, for commands that use it.
//!
//! It is a database file beside the store, so that tokens can be made and revoked while a server
//! runs; the pepper lies beside it, apart from it.

use crate::arguments::Access;
use crate::failure::Failure;
use crate::open::{folder, make_beside, url_of};
use keyspace::model::StoreKind;
use keyway::{StoreUrl, SystemRandom};
use server::access::{Book, Peppers};
use std::path::PathBuf;

/// Where the book of a keyspace is.
#[derive(Debug)]
pub(crate) struct Place {
    url: String,
    pepper: Option<PathBuf>,
}

impl Place {
    /// As the options say, or beside the file. A keyspace in memory has its book there too.
    pub(crate) fn new(
        access: &Access,
        file: &str,
        name: &str,
        store: Option<&StoreUrl>,
    ) -> Result<Place, Failure> {
        let is_memory = store.is_some_and(|store| store.kind() == StoreKind::Memory);
        if is_memory && access.access.is_none() && access.pepper.is_none() {
            return Ok(Place { url: "memory:".to_string(), pepper: None });
        }
        let beside = folder(file);
        if access.access.is_none() || access.pepper.is_none() {
            make_beside(&beside)?;
        }
        let book = beside.join(format!("{name}.access.sqlite"));
        let url = access.access.clone().unwrap_or_else(|| url_of("sqlite:", &book));
        let pepper = access.pepper.clone().unwrap_or_else(|| beside.join(format!("{name}.pepper")));
        Ok(Place { url, pepper: Some(pepper) })
    }

    /// Opens it.
    pub(crate) async fn open(&self) -> Result<Book, Failure> {
        let random = SystemRandom::start()?;
        let peppers = match &self.pepper {
            Some(path) => Peppers::at(path, &random)?,
            None => Peppers::random(&random),
        };
        Ok(Book::open(&self.url, peppers).await?)
    }
}
