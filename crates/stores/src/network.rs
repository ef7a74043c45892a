//! Whether a directory lies on a disk of this machine; Linux says it, elsewhere nothing is known.

use std::io;
use std::os::fd::AsFd;

/// Kinds of file systems that are reached over a network, shared by machines, or behind another
/// process: their locks, renames and syncs promise less, or nothing. (From `linux/magic.h` and
/// `statfs(2)`.)
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux says it"))]
const NETWORKS: [(u64, &str); 14] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xfe53_4d42, "SMB2"),
    (0xff53_4d42, "CIFS"),
    (0x6573_5546, FUSE),
    (0x0102_1997, "9P"),
    (0x5346_414f, "AFS"),
    (0x00c3_6400, "Ceph"),
    (0x7375_7245, "Coda"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x786f_4256, "VirtualBox"),
];

/// Another process of this machine, or what it reaches.
pub(crate) const FUSE: &str = "FUSE";

/// The name of the network or process behind a directory, if there is one.
pub(crate) fn behind(directory: impl AsFd) -> io::Result<Option<&'static str>> {
    #[cfg(target_os = "linux")]
    {
        let kind = rustix::fs::fstatfs(directory)?.f_type;
        Ok(name_of(kind.cast_unsigned()))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = directory;
        Ok(None)
    }
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux says it"))]
fn name_of(kind: u64) -> Option<&'static str> {
    // A 32-bit machine shows the number with its sign.
    let kind = kind & 0xffff_ffff;
    NETWORKS.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_known_by_their_numbers() {
        assert_eq!(name_of(0x6969), Some("NFS"));
        assert_eq!(name_of(0xffff_ffff_ff53_4d42), Some("CIFS"));
        assert_eq!(name_of(0xef53), None);
    }
}
