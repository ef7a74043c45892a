//! A stored catalogue and a changed file: more numbers, or every reason why not.

use super::Catalogue;
use super::compare::{Difference, differences, new_index};
use super::essence::{CollectionEssence, FieldEssence};
use crate::error::{Error, ErrorKind, Result};
use keyspace::model::{Collection, Keyspace};

impl Catalogue {
    /// The catalogue for a file that may have changed since this one was made; `is_empty` says
    /// whether the space with a number has no rows.
    pub fn evolve(
        mut self,
        keyspace: &Keyspace,
        is_empty: &dyn Fn(u16) -> bool,
    ) -> Result<Catalogue> {
        if self.keyspace != keyspace.name.value {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "this store belongs to another keyspace: open it with that one's file, or give \
                 another store",
            )
            .with("belongs_to", &self.keyspace)
            .with("given", &keyspace.name.value));
        }
        self.rename(keyspace);
        let mut found = Vec::new();
        self.change_separator(keyspace, is_empty, &mut found);
        self.drop_undeclared(keyspace, is_empty, &mut found);
        for collection in &keyspace.collections {
            self.evolve_collection(keyspace, collection, is_empty, &mut found)?;
        }
        if found.is_empty() {
            return Ok(self);
        }
        let refused =
            Error::new(ErrorKind::Mismatch, "the keyspace file does not fit what is stored");
        let with =
            |error: Error, difference: Difference| error.with(difference.place, difference.text);
        Err(found.into_iter().fold(refused, with))
    }

    /// Whether a collection that is stored has no rows.
    fn has_no_rows(&self, name: &str, is_empty: &dyn Fn(u16) -> bool) -> bool {
        self.spaces.get(name).is_none_or(|number| is_empty(*number))
    }

    /// Lets collections and indexes keep their numbers under the names the file gives them now.
    /// `was` names nothing that the file still has; it may stay there after the rename is done.
    fn rename(&mut self, keyspace: &Keyspace) {
        for collection in &keyspace.collections {
            let name = &collection.name.value;
            let was = collection.was.as_ref().filter(|_| !self.collections.contains_key(name));
            if let Some((was, essence)) = was.and_then(|was| self.collections.remove_entry(was)) {
                self.collections.insert(name.clone(), essence);
                let numbers = self.fields.remove(&was).unwrap_or_default();
                self.fields.insert(name.clone(), numbers);
                self.rename_spaces(&was, name);
            }
            self.rename_indexes(collection);
        }
    }

    fn rename_indexes(&mut self, collection: &Collection) {
        let name = &collection.name.value;
        for index in &collection.indexes {
            let Some(essence) = self.collections.get_mut(name) else { return };
            let is = &index.name.value;
            let was = index.was.as_ref().filter(|_| !essence.indexes.contains_key(is));
            if let Some((was, known)) = was.and_then(|was| essence.indexes.remove_entry(was)) {
                essence.indexes.insert(is.clone(), known);
                self.rename_spaces(&format!("{name}.{was}"), &format!("{name}.{is}"));
            }
        }
    }

    /// Renames a space, its slices, and the indexes of a collection.
    fn rename_spaces(&mut self, was: &str, is: &str) {
        let spaces = std::mem::take(&mut self.spaces);
        let renamed = spaces.into_iter().map(|(name, number)| match name.strip_prefix(was) {
            Some(rest) if rest.is_empty() || rest.starts_with(['.', '/']) => {
                (format!("{is}{rest}"), number)
            }
            _ => (name, number),
        });
        self.spaces = renamed.collect();
    }

    /// Keys as text, which some stores keep, would read otherwise.
    fn change_separator(
        &mut self,
        keyspace: &Keyspace,
        is_empty: &dyn Fn(u16) -> bool,
        found: &mut Vec<Difference>,
    ) {
        let separator = keyspace.separator.to_string();
        if self.separator == separator {
            return;
        }
        if self.collections.keys().any(|name| !self.has_no_rows(name, is_empty)) {
            let what = format!("its separator was `{}` and is `{separator}`", self.separator);
            let fix = "declare it as it was, or empty the store";
            found.push(Difference::new("keyspace", &self.keyspace, &what, fix));
        }
        self.separator = separator;
    }

    fn drop_undeclared(
        &mut self,
        keyspace: &Keyspace,
        is_empty: &dyn Fn(u16) -> bool,
        found: &mut Vec<Difference>,
    ) {
        let names: Vec<String> = self.collections.keys().cloned().collect();
        for name in names.iter().filter(|name| keyspace.collection(name).is_none()) {
            if self.has_no_rows(name, is_empty) {
                self.drop_collection(name);
                continue;
            }
            let what = "it is not declared any more, and holds rows";
            let fix = format!(
                "declare it again or empty it; if it has another name now, say there \
                 `was = \"{name}\"`"
            );
            found.push(Difference::new("collection", name, what, &fix));
        }
    }

    /// Retires every number of a collection.
    fn drop_collection(&mut self, name: &str) {
        let Some(essence) = self.collections.remove(name) else { return };
        self.fields.remove(name);
        self.retire(name);
        self.retire(&format!("{name}/slices"));
        for index in essence.indexes.keys() {
            self.drop_index(name, index);
        }
    }

    fn drop_index(&mut self, collection: &str, index: &str) {
        self.retire(&format!("{collection}.{index}"));
        self.retire(&format!("{collection}.{index}/slices"));
    }

    fn evolve_collection(
        &mut self,
        keyspace: &Keyspace,
        collection: &Collection,
        is_empty: &dyn Fn(u16) -> bool,
        found: &mut Vec<Difference>,
    ) -> Result<()> {
        let name = &collection.name.value;
        let Some(stored) = self.collections.get(name) else {
            return self.add(keyspace, collection);
        };
        let mut differences = differences(keyspace, collection, stored);
        let is_new = |index: &String| !stored.indexes.contains_key(index);
        let names = collection.indexes.iter().map(|index| &index.name.value);
        let has_new = names.clone().any(is_new);
        if (!differences.is_empty() || has_new) && !self.has_no_rows(name, is_empty) {
            let new = names.filter(|index| is_new(index));
            differences.extend(new.map(|index| new_index(&format!("{name}.{index}"))));
            found.extend(differences);
            return Ok(());
        }
        if !differences.is_empty() {
            self.drop_collection(name);
            return self.add(keyspace, collection);
        }
        let stored = stored.clone();
        self.merge(keyspace, collection, stored)
    }

    /// Takes in a collection that differs from what is stored only by what is free.
    fn merge(
        &mut self,
        keyspace: &Keyspace,
        collection: &Collection,
        stored: CollectionEssence,
    ) -> Result<()> {
        let name = &collection.name.value;
        let mut now = CollectionEssence::of(keyspace, collection);
        now.last_field = stored.last_field;
        for (field, known) in &stored.fields {
            let merged = match collection.field(field) {
                None => FieldEssence { removed: true, ..known.clone() },
                Some(field) => {
                    let mut merged = FieldEssence::of(field);
                    // A null that was left out of a record must go on meaning null. Where no null
                    // can be, rows that lack a field which came back may answer its default.
                    let is_open = known.removed && known.missing.is_null();
                    if !is_open || field.field_type.is_optional() {
                        merged.missing = known.missing.clone();
                    }
                    merged
                }
            };
            now.fields.insert(field.clone(), merged);
        }
        let gone = stored.indexes.keys().filter(|index| !now.indexes.contains_key(*index));
        gone.for_each(|index| self.drop_index(name, index));
        self.collections.insert(name.clone(), now);
        for field in collection.fields() {
            if !stored.fields.contains_key(&field.name) {
                self.add_field(name, &field.name)?;
            }
        }
        for index in &collection.indexes {
            if !stored.indexes.contains_key(&index.name.value) {
                self.add_index(name, &index.name.value, index.bucket.is_some())?;
            }
        }
        Ok(())
    }
}
