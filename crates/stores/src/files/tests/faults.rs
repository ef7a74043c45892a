//! A disk that fails at any step: nothing acknowledged is lost, nothing is torn, and after a failed
//! write nothing more is written.

use super::super::disk::Disk;
use super::Tree;
use super::disk::SimulatedDisk;
use data::ErrorKind;
use data::store::{Durability, Outcome, Write};

#[test]
fn a_disk_that_fails_at_any_step_loses_nothing_acknowledged() {
    let mut steps = 0;
    for allowed in 0.. {
        let disk = SimulatedDisk::new();
        let mut tree = Tree::open(&disk, Durability::Power).unwrap();
        let first = vec![tree.word("kept", "old"), tree.word("gone", "old")];
        tree.committed(1, first);
        tree.committer.checkpoint().unwrap();
        disk.fail_after(Some(allowed));
        let gone = Write::Delete { key: tree.key("words", &["gone"]) };
        let batch = vec![tree.word("kept", "new"), tree.word("new", "new"), gone];
        let outcome = tree.commit(2, batch);
        let done = tree.committer.apply().and_then(|()| tree.committer.checkpoint());
        let is_whole = done.is_ok();
        if !is_whole {
            // Whoever asks again is told; nothing is written on a disk nobody can vouch for.
            disk.fail_after(None);
            let again = vec![tree.word("kept", "later")];
            let error = tree.commit(3, again).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Poisoned, "step {allowed}");
        }
        let disk = SimulatedDisk::with(&disk.image());
        let mut tree = Tree::open(&disk, Durability::Power).unwrap();
        let found = (tree.text("kept"), tree.text("new"), tree.text("gone"));
        let some = |text: &str| Some(text.to_string());
        let new = (some("new"), some("new"), None);
        let old = (some("old"), None, some("old"));
        match outcome {
            Ok(Outcome::Committed { .. }) => assert_eq!(found, new, "step {allowed}"),
            _ => assert!(found == new || found == old, "step {allowed}: {found:?}"),
        }
        if is_whole {
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "only {steps} steps failed");
}

#[test]
fn a_failed_sync_of_the_journal_answers_that_nobody_knows() {
    let disk = SimulatedDisk::new();
    let mut tree = Tree::open(&disk, Durability::Power).unwrap();
    // The journal is handed over, and then not synced.
    disk.fail_after(Some(1));
    let batch = vec![tree.word("kept", "text")];
    assert!(matches!(tree.commit(1, batch), Ok(Outcome::Indeterminate { .. })));
    disk.fail_after(None);
    let batch = vec![tree.word("kept", "text")];
    assert_eq!(tree.commit(1, batch).unwrap_err().kind(), ErrorKind::Poisoned);
    // Reads go on, and do not show what nobody vouches for.
    assert_eq!(tree.text("kept"), None);
}

#[test]
fn an_edit_that_a_commit_replaces_is_set_aside() {
    let disk = SimulatedDisk::new();
    let mut tree = Tree::open(&disk, Durability::Process).unwrap();
    let first = vec![tree.word("kept", "old")];
    tree.committed(1, first);
    tree.committer.checkpoint().unwrap();
    // Committed and not yet in its file, which somebody edits; and one that was not there.
    let second = vec![tree.word("kept", "new"), tree.word("more", "new")];
    tree.committed(2, second);
    for path in ["words/kept", "words/more"] {
        let _ = disk.remove(path);
        disk.write(path, b"mine").unwrap();
    }
    tree.committer.apply().unwrap();
    for word in ["kept", "more"] {
        assert_eq!(tree.text(word).as_deref(), Some("new"));
        let aside = format!(".keyway/quarantine/words~{word}");
        assert_eq!(disk.content(&aside).as_deref(), Some("mine"));
    }
    assert_eq!(tree.shared.problems().len(), 2);
}
