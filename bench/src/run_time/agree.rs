//! Whether all contenders answer the same, on a small data set, before anything is measured.

use super::contender::{Contender, Entrant, Sync};
use super::notes::{Note, Numbers, Page, RADIUS, any_key, any_point, note};
use std::path::Path;
use std::sync::Arc;

const NOTES: u64 = 20_000;
const QUESTIONS: usize = 50;

/// Loads every contender with the same notes and compares what they answer.
pub fn check(folder: &Path, entrants: &[Entrant]) {
    let mut expected: Option<Answers> = None;
    for entrant in entrants {
        let path = folder.join(format!("agree {}", entrant.name).replace(' ', "_"));
        let opened = (entrant.open)(&path, Sync::Process);
        load(&opened);
        let answers = Answers::of(&opened);
        drop(opened);
        match &expected {
            None => expected = Some(answers),
            Some(expected) => expected.compare(&answers, entrant.name),
        }
    }
}

fn load(contender: &Arc<dyn Contender>) {
    for start in (0..NOTES - 100).step_by(100) {
        contender.load((start..start + 100).map(|number| note(number, NOTES)).collect());
    }
    for number in NOTES - 100..NOTES {
        contender.insert(note(number, NOTES));
    }
}

/// What a contender says.
struct Answers {
    got: Vec<Option<Note>>,
    pages: Vec<Page>,
    tagged: Vec<Page>,
    near: Option<Vec<Vec<Note>>>,
}

impl Answers {
    fn of(contender: &Arc<dyn Contender>) -> Answers {
        let mut numbers = Numbers(7);
        let mut answers =
            Answers { got: Vec::new(), pages: Vec::new(), tagged: Vec::new(), near: None };
        for _ in 0..QUESTIONS {
            let (author, note_id) = any_key(&mut numbers, NOTES);
            answers.got.push(contender.get(author, note_id));
            answers.got.push(contender.get(author, note_id + 1));
            answers.pages.push(contender.page(author, 50));
            let tag = note(numbers.below(NOTES), NOTES).tag;
            answers.tagged.push(contender.tagged(&tag, 20));
            let (lat, lon) = any_point(&mut numbers);
            if let Some(near) = contender.near(lat, lon, RADIUS * 2.0) {
                answers.near.get_or_insert_default().push(near);
            }
        }
        answers
    }

    fn compare(&self, other: &Answers, name: &str) {
        let is_found = |found: &Option<Note>| found.is_some();
        assert_eq!(self.got.iter().filter(|found| is_found(found)).count(), QUESTIONS);
        assert!(self.tagged.iter().all(|page| page.notes.len() > 1));
        assert!(self.near.iter().flatten().any(|notes| notes.len() > 10));
        assert_eq!(self.got, other.got, "{name} gets something else");
        assert_eq!(self.pages, other.pages, "{name} has other pages");
        assert_eq!(self.tagged, other.tagged, "{name} finds others by tag");
        if let Some(near) = &other.near {
            assert_eq!(self.near.as_ref(), Some(near), "{name} finds others around a point");
        }
    }
}
