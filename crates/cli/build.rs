//! Puts the pages of `docs/errors` into the program, for `keyway why`.
//!
//! Each page is `KW103.md`; whatever else lies there is left out.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let pages = Path::new(&root).join("../../docs/errors");
    println!("cargo:rerun-if-changed={}", pages.display());
    let mut names: Vec<String> = Vec::new();
    if pages.is_dir() {
        for entry in fs::read_dir(&pages)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(".md").filter(|code| is_code(code)).map(String::from));
        }
    }
    names.sort();
    let entries: String = names
        .iter()
        .map(|code| {
            let path = pages.join(format!("{code}.md"));
            format!("    ({code:?}, include_str!({path:?})),\n")
        })
        .collect();
    let list = format!("pub(crate) const PAGES: &[(&str, &str)] = &[\n{entries}];\n");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("pages.rs"), list)
}

fn is_code(name: &str) -> bool {
    let digits = name.strip_prefix("KW").unwrap_or_default();
    digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
}
