//! A real disk: every open begins at the tree's own handle, stays beneath it, and meets no link.
//!
//! On Linux the kernel is asked for that (`openat2`). Where it cannot be, a path is opened name by
//! name, each without following a link. Whoever may write in the tree can still swap directories
//! under us, but no path made of a key leads out of it.

use super::{Disk, Kind, Log, Stamp, parent};
use crate::network;
use keyspace::layout::files::OWN_DIRECTORY;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A directory of this machine.
#[derive(Debug)]
pub(in super::super) struct RealDisk {
    root: OwnedFd,
    /// Keyway's own directory, through which every new file goes.
    own: OwnedFd,
    /// The directory that a file was put into last, until the disk rests: many go into one. Kept
    /// longer, it might be one that somebody has moved away.
    last: Mutex<Option<(String, OwnedFd)>>,
}

impl RealDisk {
    /// The directory at a path, which may be anywhere, with Keyway's own in it.
    pub(in super::super) fn open(path: &Path) -> io::Result<RealDisk> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty())?;
        let own =
            open_by_names(root.as_fd(), OWN_DIRECTORY, flags | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(RealDisk { root, own, last: Mutex::default() })
    }

    /// The name of the network or process behind the directory, if there is one.
    pub(in super::super) fn network(&self) -> io::Result<Option<&'static str>> {
        network::behind(&self.root)
    }

    fn open_at(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = match flags.contains(OFlags::CREATE) {
            true => Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH,
            false => Mode::empty(),
        };
        // Every new file is made there: the kernel need not look for a directory that is open.
        if let Some((OWN_DIRECTORY, name)) = path.rsplit_once('/') {
            return open_by_names(self.own.as_fd(), name, flags, mode);
        }
        let path = if path.is_empty() { "." } else { path };
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{ResolveFlags, openat2};
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            // A path is looked up again if the tree moved meanwhile.
            for _ in 0..4 {
                match openat2(&self.root, path, flags, mode, resolve) {
                    Err(Errno::AGAIN) => {}
                    Err(Errno::NOSYS | Errno::PERM) => break,
                    opened => return Ok(opened?),
                }
            }
        }
        open_by_names(self.root.as_fd(), path, flags, mode)
    }

    /// A file, open, and what the disk says of it.
    fn open_file(&self, path: &str) -> io::Result<(File, Stamp)> {
        let file = File::from(self.open_at(path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file, stamp_of(&stat))),
            _ => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        }
    }

    fn directory(&self, path: &str) -> io::Result<OwnedFd> {
        self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// Does something to the last name of a path, from the directory it lies in.
    fn within<T>(
        &self,
        path: &str,
        work: impl FnOnce(BorrowedFd<'_>, &str) -> rustix::io::Result<T>,
    ) -> io::Result<T> {
        let name = path.rsplit('/').next().unwrap_or(path);
        Ok(match parent(path) {
            "" => work(self.root.as_fd(), name)?,
            OWN_DIRECTORY => work(self.own.as_fd(), name)?,
            parent => work(self.directory(parent)?.as_fd(), name)?,
        })
    }

    /// Gives a new file its name, in the directory where that lies.
    fn put(
        &self,
        from: &str,
        to: &str,
        rename: impl Fn(BorrowedFd<'_>, &str, BorrowedFd<'_>, &str) -> rustix::io::Result<()>,
    ) -> io::Result<Stamp> {
        let placed = |from_at: BorrowedFd<'_>, from_name: &str, to_at: BorrowedFd<'_>| {
            let to_name = to.rsplit('/').next().unwrap_or(to);
            rename(from_at, from_name, to_at, to_name)?;
            rustix::fs::statat(to_at, to_name, AtFlags::SYMLINK_NOFOLLOW)
        };
        let stat = self.within(from, |from_at, from_name| match parent(to) {
            "" => placed(from_at, from_name, self.root.as_fd()),
            OWN_DIRECTORY => placed(from_at, from_name, self.own.as_fd()),
            parent => {
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.as_ref().is_none_or(|(known, _)| known != parent) {
                    let opened = self
                        .directory(parent)
                        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                    *last = Some((parent.to_string(), opened));
                }
                let directory = last.as_ref().map_or(self.root.as_fd(), |(_, at)| at.as_fd());
                placed(from_at, from_name, directory)
            }
        })?;
        Ok(stamp_of(&stat))
    }
}

/// Opens a path name by name, each without following a link.
fn open_by_names(
    root: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    let mut directory: Option<OwnedFd> = None;
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        if name == ".." || name.is_empty() {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let at = directory.as_ref().map_or(root, AsFd::as_fd);
        if names.peek().is_none() {
            return Ok(rustix::fs::openat(at, name, flags, mode)?);
        }
        let through = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        directory = Some(rustix::fs::openat(at, name, through, Mode::empty())?);
    }
    Err(io::Error::from(io::ErrorKind::InvalidInput))
}

/// As many bytes as the disk says there are: the standard library would ask it once more.
fn read_all(mut file: File, stamp: Stamp) -> io::Result<Vec<u8>> {
    let mut content = vec![0; usize::try_from(stamp.bytes).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while let Some(rest) = content.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    content.truncate(filled);
    Ok(content)
}

#[allow(clippy::unnecessary_cast, reason = "the types are others on other systems")]
fn stamp_of(stat: &Stat) -> Stamp {
    let instant = |seconds: i64, nanoseconds: i64| {
        i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
    };
    Stamp {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        bytes: stat.st_size as u64,
        modified: instant(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: instant(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    }
}

fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

impl Disk for RealDisk {
    fn read(&self, path: &str) -> io::Result<(Vec<u8>, Stamp)> {
        let (file, stamp) = self.open_file(path)?;
        Ok((read_all(file, stamp)?, stamp))
    }

    fn read_if(&self, path: &str, stamp: Stamp) -> io::Result<Option<Vec<u8>>> {
        let (file, found) = self.open_file(path)?;
        match found == stamp {
            true => read_all(file, stamp).map(Some),
            false => Ok(None),
        }
    }

    fn stamp(&self, path: &str) -> io::Result<(Kind, Stamp)> {
        // A link on the way would show another file, whose inode is then another too.
        let stat = rustix::fs::statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((kind_of(FileType::from_raw_mode(stat.st_mode)), stamp_of(&stat)))
    }

    fn list(&self, directory: &str) -> io::Result<Vec<(String, Kind)>> {
        let handle = self.directory(directory)?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&handle)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = rustix::fs::statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                kind => kind,
            };
            names.push((name.to_string_lossy().into_owned(), kind_of(kind)));
        }
        Ok(names)
    }

    fn make_directory(&self, path: &str) -> io::Result<()> {
        let mode = Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
        self.within(path, |at, name| rustix::fs::mkdirat(at, name, mode))
    }

    fn write(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        File::from(self.open_at(path, flags)?).write_all(content)
    }

    fn log(&self, path: &str) -> io::Result<Box<dyn Log>> {
        let flags = OFlags::WRONLY | OFlags::CREATE;
        Ok(Box::new(RealLog(File::from(self.open_at(path, flags)?))))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<Stamp> {
        self.put(from, to, |from_at, from_name, to_at, to_name| {
            rustix::fs::renameat(from_at, from_name, to_at, to_name)
        })
    }

    #[cfg(target_os = "linux")]
    fn rename_new(&self, from: &str, to: &str) -> io::Result<Option<Stamp>> {
        use rustix::fs::{RenameFlags, renameat_with};
        let put = self.put(from, to, |from_at, from_name, to_at, to_name| {
            match renameat_with(from_at, from_name, to_at, to_name, RenameFlags::NOREPLACE) {
                // Not every disk can be asked for both at once.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    match rustix::fs::statat(to_at, to_name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(_) => Err(Errno::EXIST),
                        Err(_) => rustix::fs::renameat(from_at, from_name, to_at, to_name),
                    }
                }
                renamed => renamed,
            }
        });
        match put {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            put => put.map(Some),
        }
    }

    fn rest(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.within(path, |at, name| rustix::fs::unlinkat(at, name, AtFlags::empty()))
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        self.within(path, |at, name| rustix::fs::unlinkat(at, name, AtFlags::REMOVEDIR))
    }

    fn sync(&self, path: &str) -> io::Result<()> {
        File::from(self.open_at(path, OFlags::RDONLY)?).sync_all()
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        File::from(self.directory(path)?).sync_all()
    }

    fn sync_all(&self) -> io::Result<bool> {
        #[cfg(target_os = "linux")]
        {
            rustix::fs::syncfs(&self.root)?;
            Ok(true)
        }
        #[cfg(not(target_os = "linux"))]
        {
            Ok(false)
        }
    }
}

/// A file of this machine that is added to.
#[derive(Debug)]
struct RealLog(File);

impl Log for RealLog {
    fn put(&mut self, at: usize, content: &[u8]) -> io::Result<()> {
        self.0.write_all_at(content, at as u64)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn again(&self) -> io::Result<Box<dyn Log>> {
        Ok(Box::new(RealLog(self.0.try_clone()?)))
    }
}
