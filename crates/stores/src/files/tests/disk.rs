//! A disk in memory that remembers what was synced, so that every state a power cut could leave can
//! be looked at; and that fails, or forgets to sync, when it is told to.
//!
//! ```text
//! file        content │ content when it was last synced
//! directory   names   │ every value each name had since it was last synced
//! image       for each name one of its values, for each file: old, half, zeros or new
//! ```

use super::super::disk::{Disk, Kind, Log, Stamp, parent};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// What a disk that was built wrong does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    JournalSync,
    /// A sync of the journal is done when the next change is made, after its caller was answered.
    LateJournalSync,
    OwnDirectorySync,
    FileSync,
    DirectorySync,
    /// The names of directories in a directory; those of files are synced.
    NewDirectorySync,
    /// Everything at once.
    SyncAll,
    Journal,
}

#[derive(Clone, Debug)]
enum Inode {
    File { now: Vec<u8>, synced: Vec<u8>, modified: i128, changed: i128 },
    Directory { now: BTreeMap<String, Name>, past: BTreeMap<String, Vec<Option<Name>>> },
}

/// What a name stands for, and how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    shown: String,
    inode: usize,
}

#[derive(Clone, Debug, Default)]
pub struct State {
    inodes: Vec<Inode>,
    clock: i128,
}

#[derive(Debug)]
struct Simulation {
    state: State,
    folds: bool,
    skip: Option<Skip>,
    /// A file that will be synced with the next change.
    late: Option<usize>,
    /// Changes before every one fails.
    left: Option<usize>,
    /// Every state since recording began.
    record: Option<Vec<State>>,
}

/// A disk in memory; clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Mutex<Simulation>>);

/// The files of a tree, by path; none is a directory.
pub type Image = BTreeMap<String, Option<Vec<u8>>>;

impl SimulatedDisk {
    pub fn new() -> Self {
        let root = Inode::Directory { now: BTreeMap::new(), past: BTreeMap::new() };
        let state = State { inodes: vec![root], clock: 0 };
        let disk = SimulatedDisk::of(state);
        disk.make_directory(".keyway").unwrap();
        disk
    }

    fn of(state: State) -> Self {
        SimulatedDisk(Arc::new(Mutex::new(Simulation {
            state,
            folds: false,
            skip: None,
            late: None,
            left: None,
            record: None,
        })))
    }

    /// A disk with these files, all of them synced.
    pub fn with(image: &Image) -> Self {
        let disk = SimulatedDisk::new();
        for (path, content) in image {
            match content {
                None => drop(disk.make_directory(path)),
                Some(content) => {
                    let mut above = Vec::new();
                    let mut directory = parent(path);
                    while !directory.is_empty() {
                        above.push(directory);
                        directory = parent(directory);
                    }
                    above.into_iter().rev().for_each(|path| drop(disk.make_directory(path)));
                    disk.write(path, content).unwrap();
                }
            }
        }
        disk.sync_all().unwrap();
        disk
    }

    fn lock(&self) -> MutexGuard<'_, Simulation> {
        self.0.lock().unwrap()
    }

    pub fn folding(self) -> Self {
        self.lock().folds = true;
        self
    }

    pub fn skip(&self, skip: Option<Skip>) {
        self.lock().skip = skip;
    }

    /// Every change after so many more fails.
    pub fn fail_after(&self, changes: Option<usize>) {
        self.lock().left = changes;
    }

    /// From now on every state is remembered.
    pub fn record(&self) {
        let mut simulation = self.lock();
        simulation.record = Some(vec![simulation.state.clone()]);
    }

    /// How many states were remembered.
    pub fn recorded(&self) -> usize {
        self.lock().record.as_ref().map_or(0, Vec::len)
    }

    pub fn states(&self) -> Vec<State> {
        self.lock().record.clone().unwrap_or_default()
    }

    /// The tree as it is, as if nothing had happened to the power.
    pub fn image(&self) -> Image {
        let mut image = Image::new();
        self.lock().state.image(0, "", &mut image, &|state, inode| match &state.inodes[inode] {
            Inode::File { now, .. } => now.clone(),
            Inode::Directory { .. } => Vec::new(),
        });
        image
    }

    /// What a file holds, for tests that look or write as somebody else would.
    pub fn content(&self, path: &str) -> Option<String> {
        self.read(path).ok().map(|(content, _)| String::from_utf8(content).unwrap())
    }
}

impl State {
    /// Every tree a power cut could leave.
    pub fn images(&self, seen: &mut HashSet<Image>) -> Vec<Image> {
        self.some_images(seen, None)
    }

    /// So many trees that a power cut could leave, the emptiest and the fullest among them; all of
    /// them without a number.
    pub fn some_images(&self, seen: &mut HashSet<Image>, most: Option<usize>) -> Vec<Image> {
        let mut open: Vec<(usize, String, Vec<Option<Name>>)> = Vec::new();
        let mut files: Vec<(usize, Vec<Vec<u8>>)> = Vec::new();
        for (number, inode) in self.inodes.iter().enumerate() {
            match inode {
                Inode::Directory { now, past } => {
                    for (name, values) in past {
                        let mut values = values.clone();
                        values.push(now.get(name).cloned());
                        let mut distinct: Vec<Option<Name>> = Vec::new();
                        for value in values {
                            if !distinct.contains(&value) {
                                distinct.push(value);
                            }
                        }
                        if distinct.len() > 1 {
                            open.push((number, name.clone(), distinct));
                        }
                    }
                }
                Inode::File { now, synced, .. } if now != synced => {
                    files.push((number, variants(now, synced)));
                }
                Inode::File { .. } => {}
            }
        }
        let names: Vec<usize> = open.iter().map(|(_, _, values)| values.len()).collect();
        let contents: Vec<usize> = files.iter().map(|(_, values)| values.len()).collect();
        let total: usize = names.iter().chain(&contents).product();
        let mut images = Vec::new();
        for mut choice in choices(total, most) {
            let mut chosen = self.clone();
            for (directory, name, values) in &open {
                let value = values[choice % values.len()].clone();
                choice /= values.len();
                let Inode::Directory { now, .. } = &mut chosen.inodes[*directory] else { panic!() };
                match value {
                    Some(value) => now.insert(name.clone(), value),
                    None => now.remove(name),
                };
            }
            for (file, values) in &files {
                let value = values[choice % values.len()].clone();
                choice /= values.len();
                let Inode::File { now, .. } = &mut chosen.inodes[*file] else { panic!() };
                *now = value;
            }
            let mut image = Image::new();
            chosen.image(0, "", &mut image, &|state, inode| match &state.inodes[inode] {
                Inode::File { now, .. } => now.clone(),
                Inode::Directory { .. } => Vec::new(),
            });
            if seen.insert(image.clone()) {
                images.push(image);
            }
        }
        images
    }

    fn image(
        &self,
        directory: usize,
        path: &str,
        image: &mut Image,
        content: &dyn Fn(&State, usize) -> Vec<u8>,
    ) {
        let Inode::Directory { now, .. } = &self.inodes[directory] else { panic!() };
        for name in now.values() {
            let path = match path {
                "" => name.shown.clone(),
                path => format!("{path}/{}", name.shown),
            };
            match &self.inodes[name.inode] {
                Inode::File { .. } => {
                    image.insert(path, Some(content(self, name.inode)));
                }
                Inode::Directory { .. } => {
                    image.insert(path.clone(), None);
                    self.image(name.inode, &path, image, content);
                }
            }
        }
    }

    fn find(&self, path: &str, folds: bool) -> io::Result<usize> {
        let mut inode = 0;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            match &self.inodes[inode] {
                Inode::Directory { now, .. } => {
                    let found = now.get(&folded(name, folds));
                    inode = found.ok_or(io::ErrorKind::NotFound)?.inode;
                }
                Inode::File { .. } => return Err(io::ErrorKind::NotADirectory.into()),
            }
        }
        Ok(inode)
    }

    fn name(&mut self, path: &str, folds: bool, inode: Option<usize>) -> io::Result<()> {
        let directory = self.find(parent(path), folds)?;
        let shown = path.rsplit('/').next().unwrap().to_string();
        let name = folded(&shown, folds);
        let Inode::Directory { now, past } = &mut self.inodes[directory] else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        past.entry(name.clone()).or_default().push(now.get(&name).cloned());
        match inode {
            Some(inode) => now.insert(name, Name { shown, inode }),
            None => now.remove(&name),
        };
        Ok(())
    }

    fn sync_names(&mut self, inode: usize) {
        if let Inode::Directory { past, .. } = &mut self.inodes[inode] {
            past.clear();
        }
    }

    /// Forgets to sync the names of directories.
    fn sync_names_of_files(&mut self, inode: usize) {
        let is_directory = |name: &Name| matches!(self.inodes[name.inode], Inode::Directory { .. });
        let Inode::Directory { now, past } = &self.inodes[inode] else { return };
        let kept: BTreeMap<String, Vec<Option<Name>>> = past
            .iter()
            .filter(|(name, _)| now.get(*name).is_some_and(is_directory))
            .map(|(name, values)| (name.clone(), values.clone()))
            .collect();
        if let Inode::Directory { past, .. } = &mut self.inodes[inode] {
            *past = kept;
        }
    }

    fn sync_content(&mut self, inode: usize) {
        if let Inode::File { now, synced, .. } = &mut self.inodes[inode] {
            synced.clone_from(now);
        }
    }
}

/// Numbers below `total`: so many of them, the first and the last among them, or all.
fn choices(total: usize, most: Option<usize>) -> Vec<usize> {
    match most {
        Some(most) if most < total => {
            // Far apart, and the same ones each time.
            let far = |number: usize| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % total;
            (0..most).map(far).chain([total - 1]).collect()
        }
        _ => {
            assert!(total < 2_000_000, "{total} images of one state");
            (0..total).collect()
        }
    }
}

fn folded(name: &str, folds: bool) -> String {
    if folds { name.to_lowercase() } else { name.to_string() }
}

/// What may be left of a content that was not synced: what was there, half of what is new, zeros
/// in its place, or all of it. Room that was made with zeros tells nothing.
fn variants(now: &[u8], synced: &[u8]) -> Vec<Vec<u8>> {
    let before = |place: usize| synced.get(place).copied().unwrap_or(0);
    let is_new = |place: &usize| now[*place] != before(*place);
    let first = (0..now.len()).find(is_new).unwrap_or(now.len().min(synced.len()));
    let end = (0..now.len()).rfind(is_new).map_or(now.len(), |last| last + 1);
    let half = first + (end - first) / 2;
    let mut torn = now[..half].to_vec();
    torn.extend_from_slice(synced.get(half..).unwrap_or_default());
    let mut zeros = now.to_vec();
    zeros[first..end].fill(0);
    let all = [synced.to_vec(), torn, zeros, now.to_vec()];
    let distinct: BTreeSet<Vec<u8>> = all.into_iter().collect();
    distinct.into_iter().collect()
}

impl Simulation {
    /// Lets a change happen, or fail.
    fn change<T>(&mut self, work: impl FnOnce(&mut State, bool) -> io::Result<T>) -> io::Result<T> {
        if self.left == Some(0) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.left = self.left.map(|left| left - 1);
        self.state.clock += 1;
        if let Some(inode) = self.late.take() {
            self.state.sync_content(inode);
        }
        let done = work(&mut self.state, self.folds)?;
        if let Some(record) = &mut self.record {
            record.push(self.state.clone());
        }
        Ok(done)
    }

    fn add_file(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        self.change(|state, folds| {
            if state.find(path, folds).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let (modified, changed) = (state.clock, state.clock);
            let (now, synced) = (content.to_vec(), Vec::new());
            state.inodes.push(Inode::File { now, synced, modified, changed });
            state.name(path, folds, Some(state.inodes.len() - 1))
        })
    }
}

impl Disk for SimulatedDisk {
    fn read(&self, path: &str) -> io::Result<(Vec<u8>, Stamp)> {
        let (kind, stamp) = self.stamp(path)?;
        let simulation = self.lock();
        match &simulation.state.inodes[usize::try_from(stamp.inode).unwrap()] {
            Inode::File { now, .. } if kind == Kind::File => Ok((now.clone(), stamp)),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn stamp(&self, path: &str) -> io::Result<(Kind, Stamp)> {
        let simulation = self.lock();
        let inode = simulation.state.find(path, simulation.folds)?;
        let (kind, bytes, modified, changed) = match &simulation.state.inodes[inode] {
            Inode::File { now, modified, changed, .. } => {
                (Kind::File, now.len(), *modified, *changed)
            }
            Inode::Directory { .. } => (Kind::Directory, 0, 0, 0),
        };
        let (inode, bytes) = (inode as u64, bytes as u64);
        Ok((kind, Stamp { device: 1, inode, bytes, modified, changed }))
    }

    fn list(&self, directory: &str) -> io::Result<Vec<(String, Kind)>> {
        let simulation = self.lock();
        let state = &simulation.state;
        let Inode::Directory { now, .. } =
            &state.inodes[state.find(directory, simulation.folds)?]
        else {
            return Err(io::ErrorKind::NotADirectory.into());
        };
        let kind = |name: &Name| match &state.inodes[name.inode] {
            Inode::File { .. } => Kind::File,
            Inode::Directory { .. } => Kind::Directory,
        };
        Ok(now.values().map(|name| (name.shown.clone(), kind(name))).collect())
    }

    fn make_directory(&self, path: &str) -> io::Result<()> {
        self.lock().change(|state, folds| {
            if state.find(path, folds).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            state.find(parent(path), folds)?;
            state.inodes.push(Inode::Directory { now: BTreeMap::new(), past: BTreeMap::new() });
            state.name(path, folds, Some(state.inodes.len() - 1))
        })
    }

    fn write(&self, path: &str, content: &[u8]) -> io::Result<()> {
        self.lock().add_file(path, content)
    }

    fn log(&self, path: &str) -> io::Result<Box<dyn Log>> {
        if self.stamp(path).is_err() {
            self.lock().add_file(path, b"")?;
        }
        Ok(Box::new(SimulatedLog { disk: self.clone(), path: path.to_string() }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<Stamp> {
        self.lock().change(|state, folds| {
            let inode = state.find(from, folds)?;
            state.find(parent(to), folds)?;
            let clock = state.clock;
            if let Inode::File { changed, .. } = &mut state.inodes[inode] {
                *changed = clock;
            }
            state.name(from, folds, None)?;
            state.name(to, folds, Some(inode))
        })?;
        self.stamp(to).map(|(_, stamp)| stamp)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.stamp(path)?;
        self.lock().change(|state, folds| state.name(path, folds, None))
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        if !self.list(path)?.is_empty() {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.lock().change(|state, folds| state.name(path, folds, None))
    }

    fn sync(&self, path: &str) -> io::Result<()> {
        let mut simulation = self.lock();
        let is_own = path.starts_with(".keyway/");
        let is_skipped = simulation.skip == Some(Skip::FileSync) && !is_own;
        simulation.change(|state, folds| {
            let inode = state.find(path, folds)?;
            if !is_skipped {
                state.sync_content(inode);
            }
            Ok(())
        })
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        let mut simulation = self.lock();
        let is_skipped = match path {
            ".keyway" => simulation.skip == Some(Skip::OwnDirectorySync),
            _ => simulation.skip == Some(Skip::DirectorySync),
        };
        let is_of_files = simulation.skip == Some(Skip::NewDirectorySync);
        simulation.change(|state, folds| {
            let inode = state.find(path, folds)?;
            match (is_skipped, is_of_files) {
                (true, _) => {}
                (false, true) => state.sync_names_of_files(inode),
                (false, false) => state.sync_names(inode),
            }
            Ok(())
        })
    }

    fn sync_all(&self) -> io::Result<bool> {
        let mut simulation = self.lock();
        let is_skipped = simulation.skip == Some(Skip::SyncAll);
        simulation.change(|state, _| {
            let all = if is_skipped { 0 } else { state.inodes.len() };
            for inode in 0..all {
                state.sync_content(inode);
                state.sync_names(inode);
            }
            Ok(true)
        })
    }
}

#[derive(Debug)]
struct SimulatedLog {
    disk: SimulatedDisk,
    path: String,
}

impl SimulatedLog {
    fn is_journal(&self) -> bool {
        self.path.contains("journal-")
    }
}

impl Log for SimulatedLog {
    fn put(&mut self, at: usize, content: &[u8]) -> io::Result<()> {
        let mut simulation = self.disk.lock();
        if simulation.skip == Some(Skip::Journal) && self.is_journal() {
            return Ok(());
        }
        simulation.change(|state, folds| {
            let inode = state.find(&self.path, folds)?;
            let clock = state.clock;
            if let Inode::File { now, modified, changed, .. } = &mut state.inodes[inode] {
                let end = now.len().max(at + content.len());
                now.resize(end, 0);
                now[at..at + content.len()].copy_from_slice(content);
                (*modified, *changed) = (clock, clock);
            }
            Ok(())
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut simulation = self.disk.lock();
        let is_late = simulation.skip == Some(Skip::LateJournalSync) && self.is_journal();
        let is_skipped = simulation.skip == Some(Skip::JournalSync) && self.is_journal();
        let inode = simulation.change(|state, folds| {
            let inode = state.find(&self.path, folds)?;
            if !is_skipped && !is_late {
                state.sync_content(inode);
            }
            Ok(inode)
        })?;
        simulation.late = is_late.then_some(inode);
        Ok(())
    }

    fn again(&self) -> io::Result<Box<dyn Log>> {
        Ok(Box::new(SimulatedLog { disk: self.disk.clone(), path: self.path.clone() }))
    }
}
