//! The secret that hashes of tokens are keyed with. It lies apart from the store of tokens: whoever
//! reads one of them can do nothing with it.
//!
//! The file has a line for each pepper, `ID KEY`, newest first: new tokens are hashed with the
//! first, and those of the others go on working until they are gone.

use super::secret;
use data::clock::Random;
use data::{Error, ErrorKind, Result};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

const KEY_LETTERS: usize = 64;

/// Every pepper that is known.
#[derive(Clone)]
pub struct Peppers(Vec<(String, [u8; 32])>);

impl Peppers {
    /// One pepper for as long as the program runs.
    pub fn random(random: &dyn Random) -> Peppers {
        let mut key = [0; 32];
        random.fill(&mut key);
        Peppers(vec![("memory".to_string(), key)])
    }

    /// Those of a file, which is made if it is not there and can then be read by its owner alone.
    pub fn at(path: &Path, random: &dyn Random) -> Result<Peppers> {
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Unavailable, "the pepper of the tokens cannot be read or made")
                .with("file", path.display())
                .with("reason", &error)
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                make(path, random).map_err(failed)?;
                // Whoever else made it at the same time was first or second, but not both.
                fs::read_to_string(path).map_err(failed)?
            }
            Err(error) => return Err(failed(error)),
        };
        Peppers::parse(&text).ok_or_else(|| {
            Error::new(ErrorKind::Argument, "the pepper of the tokens is not written as one")
                .with("file", path.display())
                .with("expected", "lines of an id, a space and 64 hexadecimal digits")
        })
    }

    fn parse(text: &str) -> Option<Peppers> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let peppers = lines.map(|line| {
            let (id, key) = line.trim().split_once(' ')?;
            Some((id.to_string(), *blake3::Hash::from_hex(key.trim()).ok()?.as_bytes()))
        });
        let peppers: Vec<_> = peppers.collect::<Option<_>>()?;
        (!peppers.is_empty()).then_some(Peppers(peppers))
    }

    /// The one that new tokens are hashed with.
    pub fn newest(&self) -> (&str, &[u8; 32]) {
        self.0.first().map_or(("", &[0; 32]), |(id, key)| (id, key))
    }

    /// The one with this id.
    pub fn key(&self, id: &str) -> Option<&[u8; 32]> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, key)| key)
    }
}

impl fmt::Debug for Peppers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|(id, _)| id)).finish()
    }
}

/// Makes the file whole or not at all: another program may read it at any moment.
fn make(path: &Path, random: &dyn Random) -> std::io::Result<()> {
    let mut key = [0; 32];
    random.fill(&mut key);
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    debug_assert_eq!(digits.len(), KEY_LETTERS);
    let beside = path.with_extension(format!("new-{}", secret::letters(random, 8)));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(&beside)?;
    file.write_all(format!("{} {digits}\n", secret::letters(random, 6)).as_bytes())?;
    file.sync_all()?;
    // A link, unlike a renaming, leaves alone what is there.
    let linked = fs::hard_link(&beside, path);
    fs::remove_file(&beside)?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::clock::SystemRandom;

    #[test]
    fn a_pepper_is_made_once_and_read_again() {
        let random = SystemRandom::start().unwrap();
        let name = format!("keyway-pepper-{}", secret::letters(&random, 8));
        let path = std::env::temp_dir().join(name);
        let made = Peppers::at(&path, &random).unwrap();
        let read = Peppers::at(&path, &random).unwrap();
        assert_eq!(made.newest(), read.newest());
        let written = fs::read_to_string(&path).unwrap();
        let key = written.split_whitespace().next_back().unwrap();
        assert!(!format!("{made:?}").contains(key));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(&path, "nonsense\n").unwrap();
        let error = Peppers::at(&path, &random).unwrap_err();
        assert!(error.to_string().contains("64 hexadecimal digits"), "{error}");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn older_peppers_stay_known() {
        let (new, old) = ("ab".repeat(32), "cd".repeat(32));
        let peppers = Peppers::parse(&format!("b {new}\n\na {old}\n")).unwrap();
        assert_eq!(peppers.newest().0, "b");
        assert_eq!(peppers.key("a"), Some(&[0xcd; 32]));
        assert_eq!(peppers.key("c"), None);
    }
}
