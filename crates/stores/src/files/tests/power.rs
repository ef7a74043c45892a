//! Power cuts: every tree that one could leave, at every step of two batches of three files each,
//! is put right by the real recovery, and holds what was acknowledged, whole, and nothing else.
//!
//! A disk that leaves out one kind of sync, or the journal, must be caught by the same search.

use super::disk::{Image, SimulatedDisk, Skip};
use super::{Tree, keyspace};
use data::store::{Durability, Write};
use data::{ErrorKind, Value};
use std::collections::{BTreeMap, HashSet};

/// The texts of the words, and the title of the note.
type Words = BTreeMap<&'static str, String>;

const WORDS: [&str; 4] = ["kept", "gone", "new", "last"];

fn words(some: &[(&'static str, &str)]) -> Words {
    some.iter().map(|(word, text)| (*word, (*text).to_string())).collect()
}

/// What the tree holds, if it opens at all and is sound.
fn found(disk: &SimulatedDisk) -> Result<Words, String> {
    let mut tree = Tree::open(disk, Durability::Power).map_err(|error| format!("{error:?}"))?;
    let mut found = Words::new();
    for word in WORDS {
        let key = tree.key("words", &[word]);
        if let Some(row) = tree.get(&key).map_err(|error| format!("{error:?}"))? {
            found.insert(word, String::from_utf8_lossy(&row.value).into_owned());
        }
    }
    Ok(found)
}

struct Scenario {
    disk: SimulatedDisk,
    tree: Tree,
    /// For each acknowledged batch: how many states there were, and what is true from then on.
    acknowledged: Vec<(usize, Words)>,
}

impl Scenario {
    /// A tree with two rows, all of it durable.
    fn begin(skip: Option<Skip>) -> Scenario {
        let disk = SimulatedDisk::new();
        let mut tree = Tree::open(&disk, Durability::Power).unwrap();
        let first = vec![tree.word("kept", "old text"), tree.word("gone", "old text")];
        tree.committed(1, first);
        tree.committer.checkpoint().unwrap();
        super::super::disk::Disk::sync_all(&disk).unwrap();
        disk.skip(skip);
        disk.record();
        let before = words(&[("kept", "old text"), ("gone", "old text")]);
        Scenario { disk, tree, acknowledged: vec![(0, before)] }
    }

    fn commit(&mut self, id: u8, writes: Vec<Write>, after: Words) {
        self.tree.committed(id, writes);
        self.acknowledged.push((self.disk.recorded(), after));
    }

    /// One batch changes a file, adds one and removes one; the next the same again, in the next
    /// journal while the first checkpoint is made.
    fn run(skip: Option<Skip>) -> Scenario {
        let mut scenario = Scenario::begin(skip);
        let tree = &scenario.tree;
        let gone = Write::Delete { key: tree.key("words", &["gone"]) };
        let batch = vec![tree.word("kept", "new text"), tree.word("new", "new text"), gone];
        scenario.commit(2, batch, words(&[("kept", "new text"), ("new", "new text")]));
        scenario.tree.committer.apply().unwrap();
        let job = scenario.tree.committer.rotate().unwrap();
        let tree = &scenario.tree;
        let gone = Write::Delete { key: tree.key("words", &["new"]) };
        let batch = vec![tree.word("kept", "last text"), tree.word("last", "last text"), gone];
        scenario.commit(3, batch, words(&[("kept", "last text"), ("last", "last text")]));
        scenario.tree.committer.keeper.run(&job).unwrap();
        scenario.tree.committer.apply().unwrap();
        scenario.tree.committer.checkpoint().unwrap();
        scenario
    }

    /// Looks at every tree a power cut could leave, until one is wrong: how many, and what was.
    fn search(&self) -> (usize, Option<String>) {
        let mut seen: HashSet<(usize, Image)> = HashSet::new();
        let mut count = 0;
        for (number, state) in self.disk.states().iter().enumerate() {
            let least = self.acknowledged.iter().rposition(|(at, _)| *at <= number + 1).unwrap();
            // A batch that is being written may be there too.
            let allowed = &self.acknowledged[least..(least + 2).min(self.acknowledged.len())];
            let mut images = HashSet::new();
            for image in state.images(&mut images) {
                if !seen.insert((least, image.clone())) {
                    continue;
                }
                count += 1;
                let after = found(&SimulatedDisk::with(&image));
                let is_right =
                    after.as_ref().is_ok_and(|found| allowed.iter().any(|(_, a)| a == found));
                if !is_right {
                    let what = format!("state {number}, acknowledged {least}: {after:?}");
                    return (count, Some(what));
                }
            }
        }
        (count, None)
    }
}

#[test]
fn no_power_cut_loses_or_tears_a_batch() {
    let scenario = Scenario::run(None);
    let (count, wrong) = scenario.search();
    println!("{} states, {count} trees", scenario.disk.recorded());
    assert_eq!(wrong, None, "the last of {count} trees");
    assert!(count > 500, "only {count} trees were looked at");
}

#[test]
fn every_step_that_is_left_out_is_caught() {
    let steps = [
        Skip::JournalSync,
        Skip::OwnDirectorySync,
        Skip::FileSync,
        Skip::DirectorySync,
        Skip::Journal,
    ];
    for skip in steps {
        let (count, wrong) = Scenario::run(Some(skip)).search();
        println!("{skip:?}: the last of {count} trees is wrong: {wrong:?}");
        assert!(wrong.is_some(), "{skip:?} is not caught");
    }
}

#[test]
fn a_power_cut_during_recovery_is_recovered_from() {
    let scenario = Scenario::run(None);
    // As the power cut right after the first acknowledgement left it: nothing but the journal.
    let (at, after) = scenario.acknowledged[1].clone();
    let mut images = HashSet::new();
    let image = scenario.disk.states()[at - 1].images(&mut images).remove(0);
    let disk = SimulatedDisk::with(&image);
    disk.record();
    assert_eq!(found(&disk), Ok(after.clone()));
    let mut seen = HashSet::new();
    let mut count = 0;
    for state in disk.states() {
        for image in state.images(&mut seen) {
            count += 1;
            assert_eq!(found(&SimulatedDisk::with(&image)), Ok(after.clone()));
        }
    }
    assert!(count > 50, "only {count} trees were looked at");
}

#[test]
fn recovering_twice_changes_nothing_more() {
    let scenario = Scenario::run(None);
    let (at, _) = scenario.acknowledged[1];
    let mut seen = HashSet::new();
    for image in scenario.disk.states()[at].images(&mut seen).into_iter().take(50) {
        let disk = SimulatedDisk::with(&image);
        drop(Tree::open(&disk, Durability::Power).unwrap());
        let once = disk.image();
        drop(Tree::open(&disk, Durability::Power).unwrap());
        assert_eq!(disk.image(), once);
    }
}

/// With `process` the journal is synced now and then: a power cut may take batches, but the last
/// ones only, and none in part.
#[test]
fn with_process_a_power_cut_takes_whole_batches_from_the_end() {
    let disk = SimulatedDisk::new();
    let mut tree = Tree::open(&disk, Durability::Process).unwrap();
    tree.committer.checkpoint().unwrap();
    super::super::disk::Disk::sync_all(&disk).unwrap();
    disk.record();
    let mut truths = vec![Words::new()];
    for (id, text) in [(1, "one"), (2, "two")] {
        let batch = vec![tree.word("kept", text), tree.word("new", text)];
        tree.committed(id, batch);
        truths.push(words(&[("kept", text), ("new", text)]));
    }
    // Synced together, and only then in the files.
    tree.committer.apply().unwrap();
    let batch = vec![tree.word("kept", "three")];
    tree.committed(3, batch);
    truths.push(words(&[("kept", "three"), ("new", "two")]));
    tree.committer.checkpoint().unwrap();
    let mut seen = HashSet::new();
    for state in disk.states() {
        for image in state.images(&mut seen) {
            let found = found(&SimulatedDisk::with(&image)).unwrap();
            assert!(truths.contains(&found), "{found:?}");
        }
    }
}

#[test]
fn a_journal_damaged_in_the_middle_is_refused_with_its_place() {
    let disk = SimulatedDisk::new();
    let mut tree = Tree::open(&disk, Durability::Power).unwrap();
    for id in 1..=3 {
        let batch = vec![tree.word("kept", &format!("text {id}"))];
        tree.committed(id, batch);
    }
    let image = disk.image();
    let name = image.keys().find(|path| path.contains("journal-")).unwrap().clone();
    let content = image[&name].clone().unwrap();
    for (place, opens) in [(40, false), (content.len() / 2, false), (content.len() - 1, true)] {
        let mut bad = image.clone();
        bad.get_mut(&name).unwrap().as_mut().unwrap()[place] ^= 1;
        match (Tree::open(&SimulatedDisk::with(&bad), Durability::Power), opens) {
            (Ok(_), true) => {}
            (Err(error), false) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt);
                assert!(error.value("offset").is_some(), "{error}");
                assert_eq!(error.value("file"), Some(name.as_str()));
            }
            (Ok(_), false) => panic!("a bad byte at {place} was overlooked"),
            (Err(error), true) => panic!("{error:?}"),
        }
    }
    // A journal that is not there any more has taken what it held with it.
    let mut without = image.clone();
    without.remove(&name);
    let error = Tree::open(&SimulatedDisk::with(&without), Durability::Power).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn a_batch_sent_again_after_a_crash_is_known() {
    let disk = SimulatedDisk::new();
    let mut tree = Tree::open(&disk, Durability::Power).unwrap();
    let key = tree.key("hits", &["front"]);
    let add = Write::Add { key: key.clone(), amount: 5, expires: None, window: None };
    tree.committed(1, vec![add.clone()]);
    for is_kept in [false, true] {
        let mut tree = Tree::open(&SimulatedDisk::with(&disk.image()), Durability::Power).unwrap();
        if is_kept {
            tree.committer.checkpoint().unwrap();
        }
        tree.committed(1, vec![add.clone()]);
        let row = tree.get(&key).unwrap().unwrap();
        assert_eq!(row.value.as_ref(), 5_i64.to_be_bytes());
    }
}

#[test]
fn rows_with_indexes_are_whole_after_a_crash() {
    let disk = SimulatedDisk::new();
    let mut tree = Tree::open(&disk, Durability::Power).unwrap();
    let slots = [Value::Text("Title".to_string()), Value::I64(3)];
    let note = tree.put("notes", &["r", "n"], &slots);
    let collection = tree.schema.collection("notes").unwrap().clone();
    let segments = [Value::Text("r".to_string()), Value::Text("n".to_string())];
    let entries = data::entries::entries(&collection, &segments, &slots).unwrap();
    let mut writes = vec![note];
    writes.extend(entries.into_iter().map(|entry| Write::Put {
        key: entry.key,
        value: entry.value,
        expires: None,
        versioned: false,
        trail: None,
    }));
    tree.committed(1, writes);
    let before = tree.all().unwrap();
    assert_eq!(before.len(), 3);
    // Neither the files nor a checkpoint: the journal alone.
    let disk = SimulatedDisk::with(&disk.image());
    let mut tree = Tree::open(&disk, Durability::Power).unwrap();
    assert_eq!(tree.all().unwrap(), before);
    assert_eq!(disk.content("titles/Title").as_deref(), Some("r:n\n"));
    assert_eq!(
        disk.content("notes/r/n.json").as_deref(),
        Some("{\n  \"title\": \"Title\",\n  \"stars\": 3\n}\n")
    );
    assert!(keyspace().collection("notes").is_some());
}
