//! Whether a path lies on a disk of this machine.
//!
//! A write-ahead log has an index in memory that all its processes share, which two machines
//! cannot. Linux says of every place which file system it is; elsewhere nothing is refused.

use data::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// File systems that another machine serves.
const NETWORK: [&str; 13] = [
    "9p",
    "afs",
    "ceph",
    "cifs",
    "coda",
    "fuse.sshfs",
    "glusterfs",
    "gfs2",
    "lustre",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
];

/// Refuses a path on a network.
pub(super) fn refuse_network(path: &Path) -> Result<()> {
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mountinfo") else { return Ok(()) };
    match file_system(&mounts, path).filter(|found| NETWORK.contains(&found.as_str())) {
        None => Ok(()),
        Some(found) => Err(Error::new(
            ErrorKind::Unsupported,
            "SQLite needs a disk of this machine; put the file there, or use a server's store",
        )
        .with("file_system", found)
        .with("file", path.display())),
    }
}

/// The file system that holds a path: the longest mount that it lies below.
fn file_system(mounts: &str, path: &Path) -> Option<String> {
    let mut found: Option<(usize, String)> = None;
    for line in mounts.lines() {
        // 36 35 98:0 /root /mount options … - type source options
        let mut words = line.split(' ');
        let Some(mount) = words.nth(4).map(unescaped) else { continue };
        let Some(kind) = words.skip_while(|word| *word != "-").nth(1) else { continue };
        let length = mount.components().count();
        // A later mount on the same place hides the earlier one.
        if path.starts_with(&mount) && found.as_ref().is_none_or(|(most, _)| length >= *most) {
            found = Some((length, kind.to_string()));
        }
    }
    found.map(|(_, kind)| kind)
}

/// A path in which spaces and the like are written as `\040`.
fn unescaped(text: &str) -> PathBuf {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let (digits, behind) = after.split_at_checked(3).unwrap_or((after, ""));
        match u8::from_str_radix(digits, 8) {
            Ok(byte) => plain.push(char::from(byte)),
            Err(_) => plain.push_str(digits),
        }
        rest = behind;
    }
    PathBuf::from(plain + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 disk rw
30 21 0:40 / /team rw shared:2 - nfs4 server:/team rw
31 30 0:41 / /team/own rw - xfs disk rw
32 21 0:42 / /a\\040b rw - cifs //server/share rw
33 21 0:43 / /twice rw - nfs4 server:/twice rw
34 33 8:3 / /twice rw - ext4 disk rw
";

    #[test]
    fn the_longest_and_latest_mount_counts() {
        let at = |path: &str| file_system(MOUNTS, Path::new(path)).unwrap_or_default();
        assert_eq!(at("/x.db"), "ext4");
        assert_eq!(at("/team/ann/x.db"), "nfs4");
        assert_eq!(at("/teams/x.db"), "ext4");
        assert_eq!(at("/team/own/x.db"), "xfs");
        assert_eq!(at("/a b/x.db"), "cifs");
        assert_eq!(at("/twice/x.db"), "ext4");
    }

    #[test]
    fn this_machines_disks_are_taken() {
        assert!(refuse_network(&std::env::temp_dir().join("x.db")).is_ok());
    }
}
