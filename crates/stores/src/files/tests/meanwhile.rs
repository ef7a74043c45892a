//! Commits while those before are on their way into the files: whatever comes in whatever order,
//! readers and checks find what was committed last, and so do the files in the end.
//!
//! ```text
//! random: put one of two texts, delete, set off for the files, arrive ─▶ the same as a plain map
//! ```
//!
//! Two texts only: a row that is put, removed and put again with the same text looks the same in
//! every way but that it is another commit.

use super::super::disk::Disk;
use super::super::placing::Placing;
use super::Tree;
use super::disk::SimulatedDisk;
use data::store::{CommitId, Durability, Write};
use std::collections::BTreeMap;

const WORDS: [&str; 2] = ["one", "other"];
const TEXTS: [&str; 2] = ["same", "different"];

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(usize, usize),
    Delete(usize),
    /// What is committed sets off for the files.
    Start,
    /// What set off is in the files.
    Arrive,
}

/// The steps that a seed stands for.
fn steps(seed: u64) -> Vec<Step> {
    let mut number = seed;
    let mut draw = |below: u64| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from((number >> 33) % below).unwrap()
    };
    let step = |draw: &mut dyn FnMut(u64) -> usize| match draw(6) {
        0 | 1 => Step::Put(draw(2), draw(2)),
        2 | 3 => Step::Delete(draw(2)),
        4 => Step::Start,
        _ => Step::Arrive,
    };
    (0..14).map(|_| step(&mut draw)).collect()
}

struct Run {
    disk: SimulatedDisk,
    tree: Tree,
    placing: Option<Placing>,
    /// What is true: the text and the commit of each word.
    truth: BTreeMap<usize, (usize, u8)>,
}

impl Run {
    fn begin() -> Run {
        let disk = SimulatedDisk::new();
        let tree = Tree::open(&disk, Durability::Process).unwrap();
        Run { disk, tree, placing: None, truth: BTreeMap::new() }
    }

    fn take(&mut self, number: u8, step: Step) {
        match step {
            Step::Put(word, text) => {
                let write = self.tree.word(WORDS[word], TEXTS[text]);
                self.tree.committed(number, vec![write]);
                self.truth.insert(word, (text, number));
            }
            Step::Delete(word) => {
                let key = self.tree.key("words", &[WORDS[word]]);
                self.tree.committed(number, vec![Write::Delete { key }]);
                self.truth.remove(&word);
            }
            Step::Start => {
                self.arrive();
                self.placing = Some(self.tree.committer.placing().unwrap());
            }
            Step::Arrive => self.arrive(),
        }
    }

    fn arrive(&mut self) {
        if let Some(placing) = self.placing.take() {
            self.tree.committer.placed(placing.run()).unwrap();
        }
    }

    /// Whoever judges a batch looks at every row as readers do.
    fn check(&mut self) {
        for (word, name) in WORDS.iter().enumerate() {
            let key = self.tree.key("words", &[name]);
            self.tree.committer.notice(&key).unwrap();
            let row = self.tree.get(&key).unwrap();
            let found = row.map(|row| (row.value.to_vec(), row.version));
            let expected = self.truth.get(&word).map(|(text, number)| {
                (TEXTS[*text].as_bytes().to_vec(), Some(CommitId::from_bytes([*number; 16])))
            });
            assert_eq!(found, expected, "{name}");
        }
    }

    /// Everything is in the files, and nothing was taken for somebody else's.
    fn end(mut self) {
        self.arrive();
        self.tree.committer.apply().unwrap();
        self.check();
        for (word, name) in WORDS.iter().enumerate() {
            let found = self.disk.read(&format!("words/{name}")).ok().map(|(content, _)| content);
            let expected = self.truth.get(&word).map(|(text, _)| TEXTS[*text].as_bytes().to_vec());
            assert_eq!(found, expected, "the file of {name}");
        }
        assert!(!self.disk.image().keys().any(|path| path.contains("quarantine")));
    }
}

#[test]
fn commits_while_files_are_written_are_what_readers_and_checks_find() {
    for seed in 0..4_000 {
        let steps = steps(seed);
        println!("seed {seed}: {steps:?}");
        let mut run = Run::begin();
        for (number, step) in (1..).zip(steps) {
            run.take(number, step);
            // A look sees to what others did, which must not hide what happens without one.
            if seed % 2 == 0 {
                run.check();
            }
        }
        run.end();
    }
}
