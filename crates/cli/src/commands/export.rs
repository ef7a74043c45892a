//! `keyway export`: the rows of a store as JSON Lines.
//!
//! ```text
//! {"keyway":1,"keyspace":"chat","collections":["users",…]}     what follows
//! {"collection":"users","row":{…},"expires":…}                 a row a line
//! {"end":{"rows":2}}                                           so that a torn file is noticed
//! ```

use crate::answer::{Answer, Form};
use crate::arguments::Export;
use crate::failure::Failure;
use crate::json;
use crate::open::{Opened, Wanted, open};
use crate::progress::{Progress, summary};
use data::maintain;
use keyspace::diagnostic::nearest;
use keyspace::model::Keyspace;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// The version of the lines: a reader refuses those it does not know.
pub(crate) const FORMAT: u64 = 1;

/// Writes every row.
pub(crate) fn run(options: &Export, form: Form) -> Answer {
    let (file, store) = (options.stored.file.as_str(), options.stored.store.as_deref());
    let opened = match open(
        Wanted { file, store, option: "--store", may_make: false, stays: false },
        form,
    ) {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let answer = export(options, &opened, form).unwrap_or_else(Answer::failed);
    opened.close(answer)
}

fn export(options: &Export, opened: &Opened, form: Form) -> Result<Answer, Failure> {
    let keyspace = opened.keyway.keyspace();
    let names = names(keyspace, &options.collection)?;
    let path = options.output.as_deref().filter(|path| *path != "-");
    let mut output = Output::open(path)?;
    let progress = Progress::new("rows", None);
    let written = opened.wait(rows(opened, &names, &mut output, &progress));
    let time = progress.end();
    match written {
        Err(Stopped::Failed(failure)) => {
            output.discard();
            Err(failure)
        }
        // Whoever read the lines has enough.
        Err(Stopped::Closed) => Ok(Answer::done("")),
        Ok(rows) => {
            output.finish()?;
            let said = match (form.json, path) {
                (_, None) => String::new(),
                (true, Some(path)) => json::text(&json!({ "rows": rows, "output": path })),
                (false, Some(path)) => format!("{path}: {}\n", summary(rows, "rows", time)),
            };
            Ok(Answer::done(said))
        }
    }
}

/// The collections asked for, in the order of the file.
fn names(keyspace: &Keyspace, asked: &[String]) -> Result<Vec<String>, Failure> {
    let known = || keyspace.collections.iter().map(|collection| collection.name.value.as_str());
    if let Some(unknown) = asked.iter().find(|name| known().all(|known| known != **name)) {
        let fix = match nearest(unknown, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the collections are {}", known().collect::<Vec<_>>().join(", ")),
        };
        return Err(Failure::usage(format!("there is no collection `{unknown}`"), fix));
    }
    let wanted = known().filter(|name| asked.is_empty() || asked.iter().any(|one| one == name));
    Ok(wanted.map(str::to_string).collect())
}

/// Why an export ends early.
enum Stopped {
    /// Nobody reads on.
    Closed,
    /// Something went wrong.
    Failed(Failure),
}

impl From<data::Error> for Stopped {
    fn from(error: data::Error) -> Stopped {
        Stopped::Failed(Failure::from(error))
    }
}

async fn rows(
    opened: &Opened,
    names: &[String],
    output: &mut Output,
    progress: &Progress,
) -> Result<u64, Stopped> {
    let runtime = opened.keyway.runtime();
    let (store, clock) = (runtime.store().as_ref(), runtime.options().clock.as_ref());
    let name = &opened.keyway.keyspace().name.value;
    output.line(&json!({ "keyway": FORMAT, "keyspace": name, "collections": names }))?;
    let mut export = maintain::Export::new(store, runtime.schema(), clock, Some(names))?;
    let mut count = 0;
    while let Some(page) = export.next().await? {
        for row in &page {
            output.line(&row.to_json()?)?;
        }
        count += page.len() as u64;
        progress.at(count, 0);
    }
    output.line(&json!({ "end": { "rows": count } }))?;
    output.flush()?;
    Ok(count)
}

/// Where the lines go. A file gets its name when it is whole.
struct Output {
    stream: BufWriter<Box<dyn Write>>,
    paths: Option<(PathBuf, PathBuf)>,
}

impl Output {
    fn open(path: Option<&str>) -> Result<Output, Failure> {
        let Some(path) = path else {
            let stream = BufWriter::new(Box::new(io::stdout()) as Box<dyn Write>);
            return Ok(Output { stream, paths: None });
        };
        let part = PathBuf::from(format!("{path}.part"));
        let file = File::create(&part).map_err(|error| unwritable(path, &error))?;
        let stream = BufWriter::with_capacity(1 << 16, Box::new(file) as Box<dyn Write>);
        Ok(Output { stream, paths: Some((part, PathBuf::from(path))) })
    }

    fn line(&mut self, line: &serde_json::Value) -> Result<(), Stopped> {
        let written = writeln!(self.stream, "{line}");
        written.map_err(|error| self.stopped(&error))
    }

    fn flush(&mut self) -> Result<(), Stopped> {
        let written = self.stream.flush();
        written.map_err(|error| self.stopped(&error))
    }

    fn stopped(&self, error: &io::Error) -> Stopped {
        match (&self.paths, error.kind()) {
            (None, io::ErrorKind::BrokenPipe) => Stopped::Closed,
            (None, _) => Stopped::Failed(unwritable("standard output", error)),
            (Some((_, path)), _) => Stopped::Failed(unwritable(&path.display().to_string(), error)),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        let Some((part, path)) = self.paths else { return Ok(()) };
        drop(self.stream);
        let synced = File::open(&part).and_then(|file| file.sync_all());
        let named = synced.and_then(|()| fs::rename(&part, &path));
        named.map_err(|error| unwritable(&path.display().to_string(), &error))
    }

    fn discard(self) {
        if let Some((part, _)) = self.paths {
            drop(self.stream);
            // What is left over is not named as an export is.
            let _ = fs::remove_file(part);
        }
    }
}

fn unwritable(name: &str, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot write to {name}: {error}"), "name a file that can be written")
}
