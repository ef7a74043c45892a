//! URLs that are taken apart, and those that are refused with what would do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use super::*;

fn engine(directory: &str, durability: Durability) -> StoreUrl {
    StoreUrl::Engine { directory: PathBuf::from(directory), durability, cache_mib: None }
}

fn sqlite(file: &str, durability: Durability) -> StoreUrl {
    StoreUrl::Sqlite { file: PathBuf::from(file), durability }
}

#[test]
fn a_cache_is_given_in_mebibytes() {
    let url = "engine:d?cache_mib=256&durability=none".parse::<StoreUrl>().unwrap();
    let StoreUrl::Engine { cache_mib, .. } = url else { unreachable!() };
    assert_eq!(cache_mib, Some(256));
}

#[test]
fn a_tree_of_files_may_be_told_to_be_on_a_network() {
    for (url, network) in
        [("files:d", false), ("file:d?network=allow", true), ("files:///d?network=allow", true)]
    {
        match url.parse::<StoreUrl>().unwrap() {
            StoreUrl::Files { network: found, durability, .. } => {
                assert_eq!((found, durability), (network, Durability::Power), "{url}");
            }
            other => panic!("{url}: {other:?}"),
        }
    }
}

#[test]
fn urls_and_paths_are_taken_apart() {
    let power = Durability::Power;
    let cases = [
        ("memory:", StoreUrl::Memory),
        ("MEMORY:", StoreUrl::Memory),
        ("memory://", StoreUrl::Memory),
        ("engine:./data", engine("./data", power)),
        ("engine:data", engine("data", power)),
        ("engine:/opt/x", engine("/opt/x", power)),
        ("engine:///opt/x", engine("/opt/x", power)),
        ("./data", engine("./data", power)),
        ("data", engine("data", power)),
        ("C:\\data", engine("C:\\data", power)),
        ("./a:b", engine("./a:b", power)),
        ("/opt/a:b", engine("/opt/a:b", power)),
        ("engine:my%20data%3f", engine("my data?", power)),
        ("./data?durability=none", engine("./data", Durability::None)),
        ("engine:d?durability=process", engine("d", Durability::Process)),
        ("engine:d?&durability=%70ower&", engine("d", power)),
        ("sqlite:x.db", sqlite("x.db", power)),
        ("sqlite:///opt/my%20x.db", sqlite("/opt/my x.db", power)),
        ("sqlite:./x.db?durability=none", sqlite("./x.db", Durability::None)),
    ];
    for (url, expected) in cases {
        assert_eq!(url.parse::<StoreUrl>().expect(url), expected, "{url}");
    }
}

#[test]
fn refusals_say_what_would_do() {
    let cases = [
        ("", ErrorKind::Argument, "engine:./data"),
        ("engine:", ErrorKind::Argument, "engine:./data"),
        ("engine://host/x", ErrorKind::Argument, "no host"),
        ("memory:x", ErrorKind::Argument, "no place"),
        ("memory:?durability=none", ErrorKind::Argument, "known: none"),
        ("engine:d?sync=1", ErrorKind::Argument, "known: durability, cache_mib"),
        ("engine:d?cache_mib=much", ErrorKind::Argument, "a number of MiB"),
        ("engine:d?durability=yes", ErrorKind::Argument, "`power`, `process` or `none`"),
        ("engine:d?durability=none&durability=power", ErrorKind::Argument, "twice"),
        ("engine:a%2", ErrorKind::Argument, "hexadecimal"),
        ("engine:a%00", ErrorKind::Argument, "hexadecimal"),
        ("da:ta", ErrorKind::Argument, "begins with ./"),
        ("files:", ErrorKind::Argument, "files:./tree"),
        ("files://host/x", ErrorKind::Argument, "no host"),
        ("files:d?network=yes", ErrorKind::Argument, "`allow`"),
        ("files:d?sync=1", ErrorKind::Argument, "known: durability, cache_mib, network"),
        ("sqlite:", ErrorKind::Argument, "sqlite:./data.db"),
        ("sqlite://host/x.db", ErrorKind::Argument, "no host"),
        ("sqlite:x.db?cache_mib=1", ErrorKind::Argument, "known: durability"),
        ("sqlite:x.db?durability=full", ErrorKind::Argument, "`power`, `process` or `none`"),
        ("postgres:", ErrorKind::Argument, "postgres://user:password@host"),
        ("postgres:x", ErrorKind::Argument, "postgres://user:password@host"),
        ("postgres://h/d?pool=1", ErrorKind::Argument, "known: durability, connections"),
        ("postgres://h/d?connections=0", ErrorKind::Argument, "from 1 to 1000"),
        ("postgresql://h/d?durability=x", ErrorKind::Argument, "`power`, `process`"),
        ("rediss://h", ErrorKind::Unsupported, "through a tunnel"),
        ("redis:h", ErrorKind::Argument, "redis://127.0.0.1"),
        ("redis://", ErrorKind::Argument, "redis://127.0.0.1"),
        ("redis://ann@h", ErrorKind::Argument, "behind a colon"),
        ("redis://h:port", ErrorKind::Argument, "65535"),
        ("redis://h/x", ErrorKind::Argument, "is a number"),
        ("redis://h?prefix=~x", ErrorKind::Argument, "braces"),
        ("redis://h?durability=yes", ErrorKind::Argument, "`power`, `process` or `none`"),
        ("redis://h?sync=1", ErrorKind::Argument, "known: prefix, durability"),
        ("redis-cluster://h/1", ErrorKind::Argument, "no numbered databases"),
        ("redis-cluster://h,", ErrorKind::Argument, "has a host"),
        ("indexeddb://h", ErrorKind::Unsupported, "store: indexeddb"),
    ];
    for (url, kind, part) in cases {
        let error = url.parse::<StoreUrl>().expect_err(url);
        assert_eq!(error.kind(), kind, "{url}: {error}");
        assert!(error.to_string().contains(part), "{url}: {error}");
    }
}

#[test]
fn an_error_shows_no_password() {
    for url in ["postgres://ann:secret@host/db?x=1", "mysql://ann:secret@host/db"] {
        let error = url.parse::<StoreUrl>().expect_err(url);
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}
