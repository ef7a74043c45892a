//! `keyway doc`: the documents of a keyspace, printed or written into a directory.

use crate::answer::{Answer, Form};
use crate::arguments::Doc;
use crate::json;
use crate::report::read_sound;
use keyspace::document::{markdown, mermaid, svg};
use keyspace::model::Keyspace;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What `--json` prints: the documents that were asked for, or the files that were written.
#[derive(Debug, Default, Serialize)]
struct Documents {
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    svg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mermaid: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    written: Vec<String>,
}

/// Prints one document, or writes the page and the drawing.
pub(crate) fn run(options: &Doc, form: Form) -> Answer {
    let keyspace = match read_sound(&options.file, form) {
        Ok(keyspace) => keyspace,
        Err(answer) => return answer,
    };
    let Some(directory) = &options.output else {
        let asked = asked(options, &keyspace);
        return Answer::done(match form.json {
            true => json::text(&asked),
            false => asked.markdown.or(asked.svg).or(asked.mermaid).unwrap_or_default(),
        });
    };
    let name = &keyspace.name.value;
    let written = write(directory, &format!("{name}.md"), &markdown(&keyspace)).and_then(|page| {
        let drawing = write(directory, &format!("{name}.svg"), &svg(&keyspace))?;
        Ok(vec![page.display().to_string(), drawing.display().to_string()])
    });
    match written {
        Ok(written) if form.json => {
            Answer::done(json::text(&Documents { written, ..Documents::default() }))
        }
        Ok(written) => Answer::done(format!("{} written\n", written.join(" and "))),
        Err(error) => {
            let problem = format!("cannot write into {directory}: {error}");
            Answer::usage(&problem, "name a directory that can be made and written")
        }
    }
}

/// The one document that is printed.
fn asked(options: &Doc, keyspace: &Keyspace) -> Documents {
    match (options.svg, options.mermaid) {
        (true, _) => Documents { svg: Some(svg(keyspace)), ..Documents::default() },
        (_, true) => Documents { mermaid: Some(mermaid(keyspace)), ..Documents::default() },
        _ => Documents { markdown: Some(markdown(keyspace)), ..Documents::default() },
    }
}

fn write(directory: &str, name: &str, text: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let path = Path::new(directory).join(name);
    fs::write(&path, text)?;
    Ok(path)
}
