//! Disks that take A for a: names that stay apart, and trees that are refused.

use super::Tree;
use super::disk::SimulatedDisk;
use data::ErrorKind;
use data::store::Durability;

#[test]
fn values_that_differ_by_case_stay_apart_where_the_disk_folds_them() {
    let disk = SimulatedDisk::new().folding();
    let mut tree = Tree::open(&disk, Durability::Power).unwrap();
    let words = ["alice", "Alice", "ALICE", "^alice", "%41lice"];
    for (number, word) in (1..).zip(words) {
        let batch = vec![tree.word(word, word)];
        tree.committed(number, batch);
    }
    tree.committer.checkpoint().unwrap();
    assert_eq!(disk.content("words/^alice").as_deref(), Some("Alice"));
    let image = disk.image();
    let mut tree = Tree::open(&SimulatedDisk::with(&image).folding(), Durability::Power).unwrap();
    for word in words {
        assert_eq!(tree.text(word).as_deref(), Some(word));
    }
    // Names made for such a disk are right on any other.
    let mut tree = Tree::open(&SimulatedDisk::with(&image), Durability::Power).unwrap();
    assert_eq!(tree.text("ALICE").as_deref(), Some("ALICE"));
    let batch = vec![tree.word("Bob", "Bob")];
    tree.committed(9, batch);
}

#[test]
fn a_tree_of_a_better_disk_is_refused_on_a_weaker_one() {
    let disk = SimulatedDisk::new();
    let mut tree = Tree::open(&disk, Durability::Power).unwrap();
    let batch = vec![tree.word("alice", "a"), tree.word("Alice", "A")];
    tree.committed(1, batch);
    tree.committer.checkpoint().unwrap();
    assert_eq!(disk.content("words/Alice").as_deref(), Some("A"));
    let weaker = SimulatedDisk::with(&disk.image()).folding();
    let error = Tree::open(&weaker, Durability::Power).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.to_string().contains("tells A from a"), "{error}");
}
