//! Puts pages of `docs` into the program, for `keyway why` and `keyway reference`.
//!
//! ```text
//! docs/errors/KW103.md         ─▶ ERROR_PAGES       whatever is no code is left out
//! docs/reference/patterns.md   ─▶ REFERENCE_PAGES
//! ```

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let docs = Path::new(&root).join("../../docs");
    let errors = pages("ERROR_PAGES", &docs.join("errors"), is_code)?;
    let reference = pages("REFERENCE_PAGES", &docs.join("reference"), |_| true)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("errors.rs"), errors)?;
    fs::write(Path::new(&out).join("reference.rs"), reference)
}

/// A constant with the name and the text of every page of a folder, by name.
fn pages(constant: &str, folder: &Path, wanted: impl Fn(&str) -> bool) -> io::Result<String> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(".md").filter(|page| wanted(page)).map(String::from));
        }
    }
    names.sort();
    let entries: String = names
        .iter()
        .map(|name| {
            let path = folder.join(format!("{name}.md"));
            format!("    ({name:?}, include_str!({path:?})),\n")
        })
        .collect();
    Ok(format!("pub(crate) const {constant}: &[(&str, &str)] = &[\n{entries}];\n"))
}

fn is_code(name: &str) -> bool {
    let digits = name.strip_prefix("KW").unwrap_or_default();
    digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
}
