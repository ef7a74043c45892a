//! Power cuts: every tree that one could leave, at every step of batches of several files, is put
//! right by the real recovery, and holds what was acknowledged, whole, and nothing else.
//!
//! ```text
//! batches ─▶ every state of the disk ─▶ every image of it ─▶ recovered: rows, files, scrubbed
//! └ the same on a disk that keeps everything ────────────▶ what is true ──────┘ the same?
//! ```
//!
//! A disk that leaves out one kind of sync, or the journal, or syncs it after the answer, must be
//! caught by the same search: where files are placed in turn, and while the next batch comes.

use super::disk::{Image, SimulatedDisk, Skip};
use super::{NOW, Tree, keyspace};
use crate::files::disk::Disk;
use crate::files::writer::Writer;
use crate::files::{FilesStore, Inner};
use data::clock::{ManualClock, SeededRandom};
use data::maintain::Scrub;
use data::store::{Durability, Key, Row, Write};
use data::suite::block_on;
use data::{ErrorKind, Value};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

/// What a tree holds: every row and entry, and every file.
#[derive(Clone, Debug, PartialEq)]
struct Truth {
    rows: Vec<(Key, Row)>,
    files: Image,
}

/// What the tree holds, if it opens at all and is sound.
fn found(disk: &SimulatedDisk) -> Result<Truth, String> {
    let failed = |error: data::Error| format!("{error:?}");
    let mut tree = Tree::open(disk, Durability::Power).map_err(failed)?;
    let rows = tree.all().map_err(failed)?;
    tree.committer.checkpoint().map_err(failed)?;
    let mut files = disk.image();
    files.retain(|path, content| !path.starts_with(".keyway") && content.is_some());
    let Tree { shared, committer, schema } = tree;
    let writer = Writer::start(committer).map_err(failed)?;
    let store = FilesStore {
        path: PathBuf::from("simulated"),
        durability: Durability::Power,
        inner: RwLock::new(Some(Arc::new(Inner { writer, shared, _lock: None }))),
    };
    let (clock, random) = (ManualClock::at(NOW), SeededRandom::new(1));
    let scrub =
        Scrub { store: &store, schema: &schema, clock: &clock, random: &random, repair: false };
    // What the power cut tore is set aside, which the store remarks upon and is no problem.
    let mut problems: Vec<String> = Vec::new();
    let mut seen = |problem: Option<&data::maintain::Problem>, _: &_| {
        problems.extend(problem.map(|problem| format!("{problem:?}")));
    };
    block_on(scrub.run(&mut seen)).map_err(failed)?;
    match problems.is_empty() {
        true => Ok(Truth { rows, files }),
        false => Err(format!("{problems:?}")),
    }
}

/// The batches of a scenario, and where the first of them is put into the files and kept.
type Batches = Vec<fn(&Tree) -> Vec<Write>>;

/// What happens before the power goes.
#[derive(Clone, Copy, Debug)]
enum Story {
    /// A file is changed, one added and one removed, in a directory that is there.
    Words,
    /// Rows with a file of an index, in directories that are made for them.
    Notes,
    /// A row with a file of an index comes and goes, and its directories with it.
    Leaving,
    /// Bodies beside their fields, in directories that are made for them.
    Pictures,
    /// More files than are synced one by one.
    Many,
}

impl Story {
    fn batches(self) -> Batches {
        match self {
            Story::Words => vec![
                |tree| {
                    let gone = Write::Delete { key: tree.key("words", &["gone"]) };
                    vec![tree.word("kept", "new text"), tree.word("new", "new text"), gone]
                },
                |tree| {
                    let gone = Write::Delete { key: tree.key("words", &["new"]) };
                    vec![tree.word("kept", "last text"), tree.word("last", "last text"), gone]
                },
            ],
            Story::Notes => vec![|tree| tree.note(["r", "n"], "Title"), |tree| {
                vec![tree.word("kept", "last text")]
            }],
            Story::Leaving => vec![|tree| tree.note(["r", "n"], "Title"), |tree| {
                let puts = tree.note(["r", "n"], "Title").into_iter();
                puts.map(|put| match put {
                    Write::Put { key, .. } => Write::Delete { key },
                    other => other,
                })
                .collect()
            }],
            Story::Pictures => vec![|tree| vec![picture(tree, "p", b"\xff\x00 body")], |tree| {
                vec![picture(tree, "q", b"another body")]
            }],
            Story::Many => vec![
                |tree| {
                    let words = (0..9).map(|n| tree.word(&format!("word {n}"), "new text"));
                    words.collect()
                },
                |tree| vec![tree.word("kept", "last text")],
            ],
        }
    }

    /// How many images of a state are looked at; all of them unless there are too many.
    fn most(self) -> Option<usize> {
        match self {
            Story::Many => Some(60),
            _ => None,
        }
    }
}

fn picture(tree: &Tree, name: &str, body: &[u8]) -> Write {
    let slots = [Value::Text("Title".to_string()), Value::Bytes(body.to_vec().into())];
    tree.put("pictures", &["a", name], &slots)
}

/// How many images of a state are looked at where files are placed beside the next commit. Most
/// states have fewer; of the few with up to half a million, these are spread over all of them.
const MEANWHILE: usize = 2_048;
/// As many are enough to notice that a step is left out.
const MEANWHILE_LEFT_OUT: usize = 60;

struct Scenario {
    disk: SimulatedDisk,
    tree: Tree,
    /// The same batches on a disk that keeps everything.
    kept: (SimulatedDisk, Tree),
    /// For each acknowledged batch: how many states there were, and what is true from then on.
    acknowledged: Vec<(usize, Truth)>,
    most: Option<usize>,
}

impl Scenario {
    /// A tree with two rows, all of it durable.
    fn begin(skip: Option<Skip>, most: Option<usize>) -> Scenario {
        let begin = || {
            let disk = SimulatedDisk::new();
            let mut tree = Tree::open(&disk, Durability::Power).unwrap();
            let first = vec![tree.word("kept", "old text"), tree.word("gone", "old text")];
            tree.committed(1, first);
            tree.committer.checkpoint().unwrap();
            disk.sync_all().unwrap();
            (disk, tree)
        };
        let (disk, tree) = begin();
        disk.skip(skip);
        disk.record();
        let kept = begin();
        let mut scenario = Scenario { disk, tree, kept, acknowledged: Vec::new(), most };
        let before = scenario.truth();
        scenario.acknowledged.push((0, before));
        scenario
    }

    fn truth(&self) -> Truth {
        found(&SimulatedDisk::with(&self.kept.0.image())).unwrap()
    }

    fn commit(&mut self, id: u8, batch: fn(&Tree) -> Vec<Write>) {
        let writes = batch(&self.tree);
        self.tree.committed(id, writes.clone());
        self.kept.1.committed(id, writes);
        let truth = self.truth();
        self.acknowledged.push((self.disk.recorded(), truth));
    }

    /// The first batch, then the next in the next journal while the first checkpoint is made.
    fn run(story: Story, skip: Option<Skip>) -> Scenario {
        let mut scenario = Scenario::begin(skip, story.most());
        let [first, second] = story.batches()[..] else { panic!("two batches") };
        scenario.commit(2, first);
        scenario.tree.committer.apply().unwrap();
        let job = scenario.tree.committer.rotate().unwrap();
        scenario.commit(3, second);
        scenario.tree.committer.keeper.run(&job).unwrap();
        scenario.tree.committer.apply().unwrap();
        scenario.tree.committer.checkpoint().unwrap();
        scenario
    }

    /// The first batch is on its way into the files while the next is committed, which changes the
    /// same rows.
    fn run_meanwhile(story: Story, skip: Option<Skip>) -> Scenario {
        let most = if skip.is_none() { MEANWHILE } else { MEANWHILE_LEFT_OUT };
        let mut scenario = Scenario::begin(skip, Some(most));
        let [first, second] = story.batches()[..] else { panic!("two batches") };
        scenario.commit(2, first);
        let placing = scenario.tree.committer.placing().unwrap();
        scenario.commit(3, second);
        let placed = placing.run();
        scenario.tree.committer.placed(placed).unwrap();
        // Readers see what was committed last, whatever the files say meanwhile.
        let rows = scenario.tree.all().unwrap();
        assert_eq!(rows, scenario.acknowledged[2].1.rows);
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
            for image in state.some_images(&mut images, self.most) {
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

/// Searches a story, and expects nothing to be wrong.
fn lasts(story: Story, least: usize) -> Scenario {
    let scenario = Scenario::run(story, None);
    let (count, wrong) = scenario.search();
    println!("{story:?}: {} states, {count} trees", scenario.disk.recorded());
    assert_eq!(wrong, None, "{story:?}: the last of {count} trees");
    assert!(count > least, "{story:?}: only {count} trees were looked at");
    scenario
}

#[test]
fn no_power_cut_loses_or_tears_a_batch() {
    lasts(Story::Words, 500);
}

#[test]
fn no_power_cut_loses_rows_in_new_directories() {
    let scenario = lasts(Story::Notes, 200);
    let files: Vec<&str> = scenario.acknowledged[1].1.files.keys().map(String::as_str).collect();
    assert!(files.contains(&"notes/r/n.json") && files.contains(&"titles/Title"), "{files:?}");
}

#[test]
fn no_power_cut_brings_back_what_left_with_its_directories() {
    let scenario = lasts(Story::Leaving, 200);
    assert_eq!(scenario.acknowledged[2].1, scenario.acknowledged[0].1);
}

#[test]
fn no_power_cut_parts_a_body_from_its_fields() {
    let scenario = lasts(Story::Pictures, 200);
    let files: Vec<&str> = scenario.acknowledged[1].1.files.keys().map(String::as_str).collect();
    let own = files.iter().filter(|path| path.starts_with("pictures/a/")).count();
    assert_eq!(own, 2, "{files:?}");
}

#[test]
fn no_power_cut_loses_what_is_synced_at_once() {
    lasts(Story::Many, 200);
}

#[test]
fn no_power_cut_tears_batches_that_follow_while_files_are_written() {
    for story in [Story::Words, Story::Notes, Story::Leaving, Story::Pictures] {
        let scenario = Scenario::run_meanwhile(story, None);
        let (count, wrong) = scenario.search();
        println!("{story:?}: {} states, {count} trees", scenario.disk.recorded());
        assert_eq!(wrong, None, "{story:?}: the last of {count} trees");
        assert!(count > 600, "{story:?}: only {count} trees were looked at");
    }
}

#[test]
fn every_step_that_is_left_out_is_caught() {
    let steps = [
        (Story::Words, Skip::JournalSync),
        (Story::Words, Skip::LateJournalSync),
        (Story::Words, Skip::OwnDirectorySync),
        (Story::Words, Skip::FileSync),
        (Story::Words, Skip::DirectorySync),
        (Story::Words, Skip::Journal),
        (Story::Notes, Skip::NewDirectorySync),
        (Story::Notes, Skip::FileSync),
        (Story::Leaving, Skip::DirectorySync),
        (Story::Pictures, Skip::NewDirectorySync),
        (Story::Pictures, Skip::FileSync),
        (Story::Many, Skip::SyncAll),
    ];
    for (story, skip) in steps {
        let (count, wrong) = Scenario::run(story, Some(skip)).search();
        println!("{story:?}, {skip:?}: the last of {count} trees is wrong: {wrong:?}");
        assert!(wrong.is_some(), "{story:?}: {skip:?} is not caught");
    }
}

/// The same while files are written beside the next commit.
#[test]
fn every_step_that_is_left_out_meanwhile_is_caught() {
    let steps = [
        (Story::Words, Skip::JournalSync),
        (Story::Words, Skip::LateJournalSync),
        (Story::Words, Skip::OwnDirectorySync),
        (Story::Words, Skip::FileSync),
        (Story::Words, Skip::DirectorySync),
        (Story::Words, Skip::Journal),
        (Story::Notes, Skip::NewDirectorySync),
        (Story::Notes, Skip::FileSync),
        (Story::Leaving, Skip::DirectorySync),
        (Story::Pictures, Skip::NewDirectorySync),
        (Story::Pictures, Skip::FileSync),
        (Story::Many, Skip::SyncAll),
    ];
    for (story, skip) in steps {
        let (count, wrong) = Scenario::run_meanwhile(story, Some(skip)).search();
        println!("{story:?}, {skip:?}: the last of {count} trees is wrong: {wrong:?}");
        assert!(wrong.is_some(), "{story:?}: {skip:?} is not caught");
    }
}

#[test]
fn a_power_cut_during_recovery_is_recovered_from() {
    let scenario = Scenario::run(Story::Words, None);
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
    let scenario = Scenario::run(Story::Words, None);
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
    disk.sync_all().unwrap();
    disk.record();
    let truth = |disk: &SimulatedDisk| found(&SimulatedDisk::with(&disk.image())).unwrap();
    let mut truths = vec![truth(&disk)];
    for (id, text) in [(1, "one"), (2, "two")] {
        let batch = vec![tree.word("kept", text), tree.word("new", text)];
        tree.committed(id, batch);
        truths.push(truth(&disk));
    }
    // Synced together, and only then in the files.
    tree.committer.apply().unwrap();
    let batch = vec![tree.word("kept", "three")];
    tree.committed(3, batch);
    truths.push(truth(&disk));
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
    let end = content.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    assert!(end < content.len(), "there is room behind the frames");
    // Nothing tells whether the last frame, or what is behind it, was ever finished.
    let places = [(40, false), (end / 2, false), (end - 1, true), (end, true)];
    for (place, opens) in places.into_iter().chain([(content.len() - 1, true)]) {
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

/// What is written over room that is there is synced without a new length.
#[test]
fn few_commits_make_the_journal_longer() {
    let disk = SimulatedDisk::new();
    let mut tree = Tree::open(&disk, Durability::Power).unwrap();
    let image = disk.image();
    let name = image.keys().find(|path| path.contains("journal-")).unwrap();
    let mut lengths = HashSet::new();
    for id in 1..=200 {
        let batch = vec![tree.word("kept", &format!("text {id}"))];
        tree.committed(id, batch);
        lengths.insert(disk.read(name).unwrap().0.len());
    }
    assert!(lengths.len() <= 6, "{lengths:?}");
    let content = disk.read(name).unwrap().0;
    let frames = content.iter().rposition(|byte| *byte != 0).unwrap();
    assert!(content.len() <= 3 * frames, "{frames} bytes of {}", content.len());
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
    let writes = tree.note(["r", "n"], "Title");
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
