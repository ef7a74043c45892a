//! `keyway doc`: the documents of a keyspace, printed or written into a directory.

use crate::answer::Answer;
use crate::arguments::Doc;
use crate::report::read_sound;
use keyspace::diagnostic::render::Style;
use keyspace::document::{markdown, mermaid, svg};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Prints one document, or writes the page and the drawing.
pub(crate) fn run(options: &Doc, style: Style) -> Answer {
    let keyspace = match read_sound(&options.file, false, style) {
        Ok(keyspace) => keyspace,
        Err(answer) => return answer,
    };
    if options.svg {
        return Answer::done(svg(&keyspace));
    }
    if options.mermaid {
        return Answer::done(mermaid(&keyspace));
    }
    let Some(directory) = &options.output else { return Answer::done(markdown(&keyspace)) };
    let name = &keyspace.name.value;
    let written = write(directory, &format!("{name}.md"), &markdown(&keyspace)).and_then(|page| {
        let drawing = write(directory, &format!("{name}.svg"), &svg(&keyspace))?;
        Ok(format!("{} and {} written\n", page.display(), drawing.display()))
    });
    match written {
        Ok(line) => Answer::done(line),
        Err(error) => {
            let problem = format!("cannot write into {directory}: {error}");
            Answer::usage(&problem, "name a directory that can be made and written")
        }
    }
}

fn write(directory: &str, name: &str, text: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let path = Path::new(directory).join(name);
    fs::write(&path, text)?;
    Ok(path)
}
