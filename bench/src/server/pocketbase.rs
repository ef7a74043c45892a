//! PocketBase, built from its module with the Go of this machine: a collection with the same
//! fields, indexes for the same questions, and a rule that everybody sees their own notes.

use super::notes::Note;
use super::process::{beside, free_address, is_installed, wait_for_port, word_after};
use super::served::{LISTED, READER, Server, Speaks, WRITER, members, note};
use super::ulid::ulid;
use super::wire::request;
use serde_json::Value as Json;
use servers::kept::Kept;
use servers::process::Folder;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = "v0.36.0";

/// Logs nothing, as the others do. Users are made where the server begins, since a password takes
/// long to hash and is no part of what is compared.
const PROGRAM: &str = r#"
package main

import (
	"fmt"
	"log"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/security"
	"github.com/pocketbase/pocketbase/tools/types"
)

func prepare(app core.App) error {
	settings := app.Settings()
	settings.Logs.MaxDays = 0
	if err := app.Save(settings); err != nil {
		return err
	}
	notes := core.NewBaseCollection("notes")
	id := notes.Fields.GetByName("id").(*core.TextField)
	id.Min, id.Max, id.Pattern, id.AutogeneratePattern = 26, 26, "^[0-9A-Z]+$", ""
	notes.Fields.Add(&core.TextField{Name: "owner", Required: true})
	for _, name := range []string{"title", "words", "tag"} {
		notes.Fields.Add(&core.TextField{Name: name})
	}
	notes.Fields.Add(&core.NumberField{Name: "lat"}, &core.NumberField{Name: "lon"})
	mine := types.Pointer("owner = @request.auth.id")
	notes.ListRule, notes.ViewRule, notes.CreateRule = mine, mine, mine
	notes.AddIndex("notes_by_owner", false, "owner, id", "")
	notes.AddIndex("notes_by_tag", false, "tag, id", "")
	notes.AddIndex("notes_by_place", false, "lat, lon", "")
	if err := app.Save(notes); err != nil {
		return err
	}
	users, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return err
	}
	for _, number := range []int{7, 8} {
		user := core.NewRecord(users)
		user.Set("id", fmt.Sprintf("user%011d", number))
		user.SetEmail(fmt.Sprintf("user%d@example.com", number))
		user.SetPassword(security.RandomString(30))
		if err := app.Save(user); err != nil {
			return err
		}
		token, err := user.NewAuthToken()
		if err != nil {
			return err
		}
		fmt.Printf("token of %d: %s\n", number, token)
	}
	return nil
}

func main() {
	app := pocketbase.New()
	app.OnServe().BindFunc(func(event *core.ServeEvent) error {
		event.InstallerFunc = nil
		if err := prepare(event.App); err != nil {
			return err
		}
		return event.Next()
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}
"#;

/// Starts it.
pub fn start() -> Result<Server, String> {
    let program = build()?;
    let mut kept = Kept::new("pocketbase");
    let address = free_address();
    let folder = kept.folder().join("data").display().to_string();
    let at = address.to_string();
    let arguments = ["serve", "--http", &at, "--dir", &folder].map(str::to_string);
    kept.start(&program.display().to_string(), &arguments);
    let tokens = [READER, WRITER].map(|user| word_after(&kept, &format!("token of {user}:")));
    wait_for_port(&kept, address);
    Ok(Server { address, processes: vec![kept], speaks: Box::new(Records { tokens }) })
}

/// The program; it is built once and kept beside this one.
fn build() -> Result<PathBuf, String> {
    if !is_installed("go") {
        return Err("PocketBase is built with Go, which this machine has not".to_string());
    }
    let mark: String = blake3::hash(PROGRAM.as_bytes()).to_hex().chars().take(8).collect();
    let name = format!("pocketbase-{VERSION}-{mark}");
    if let Some(built) = beside(&name) {
        return Ok(built);
    }
    let path = std::env::current_exe().unwrap().with_file_name(&name);
    println!("building PocketBase {VERSION}");
    let folder = Folder::new("pocketbase-source");
    let require = format!("require github.com/pocketbase/pocketbase {VERSION}");
    let module = format!("module notes\n\ngo 1.24\n\n{require}\n");
    std::fs::write(folder.path().join("go.mod"), module).unwrap();
    std::fs::write(folder.path().join("main.go"), PROGRAM).unwrap();
    go_build(folder.path(), &path)
}

fn go_build(folder: &Path, path: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new("go");
    command.current_dir(folder).args(["build", "-mod=mod", "-buildvcs=false", "-o"]).arg(path);
    let built = command.arg(".").env("CGO_ENABLED", "0").output();
    let built = built.map_err(|error| format!("Go cannot be started: {error}"))?;
    match built.status.success() {
        true => Ok(path.to_path_buf()),
        false => {
            let said = String::from_utf8_lossy(&built.stderr).into_owned();
            eprintln!("{said}");
            let last = said.lines().last().unwrap_or_default();
            Err(format!("PocketBase {VERSION} cannot be built here: {last}"))
        }
    }
}

struct Records {
    tokens: [String; 2],
}

const RECORDS: &str = "/api/collections/notes/records";

impl Records {
    fn token(&self, user: u64) -> &str {
        &self.tokens[usize::from(user == WRITER)]
    }
}

impl Speaks for Records {
    fn create(&self, note: &Note) -> Vec<u8> {
        let mut body = members(note, "id");
        body["owner"] = format!("user{:011}", note.author).into();
        request("POST", RECORDS, self.token(note.author), Some(&body.to_string()))
    }

    fn read(&self, author: u64, note_id: u128) -> Vec<u8> {
        let path = format!("{RECORDS}/{}", ulid(note_id));
        request("GET", &path, self.token(author), None)
    }

    fn list(&self, author: u64) -> Vec<u8> {
        // To count all of them is no part of the question.
        let path = format!("{RECORDS}?perPage={LISTED}&sort=-id&skipTotal=1");
        request("GET", &path, self.token(author), None)
    }

    fn row<'j>(&self, answer: &'j Json) -> &'j Json {
        answer
    }

    fn rows<'j>(&self, answer: &'j Json) -> &'j Json {
        &answer["items"]
    }

    fn note(&self, row: &Json) -> Note {
        let owner = row["owner"].as_str().and_then(|owner| owner.strip_prefix("user"));
        note(row, owner.unwrap().parse().unwrap(), "id")
    }
}
