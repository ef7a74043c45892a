//! A keyspace as Rust: enums, rows, the client, and a function for each pattern.
//!
//! ```text
//! keyspace.toml ─read─▶ keyspace ─name─▶ names ─write─▶ Rust text
//!                  └─ errors ─▶ compile_error!, drawn as `keyway check` draws them
//! ```
//!
//! Text in, text out; the file is read by whoever calls.

use crate::code::{Code, sentence};
use crate::naming::{Naming, runnable};
use crate::patterns::{Function, is_callable, is_of_history};
use crate::rows;
use keyspace::diagnostic::Severity;
use keyspace::diagnostic::render::{Style, render};
use keyspace::model::Keyspace;
use keyspace::plan::plans;

/// The Rust of a keyspace file. `path` is how the macro names it, `shown` how messages do.
pub fn expand(text: &str, path: &str, shown: &str) -> String {
    let reading = keyspace::read(text);
    match &reading.keyspace {
        Some(keyspace) => module(keyspace, path),
        None => {
            let errors = reading.diagnostics.iter().filter(|d| d.severity == Severity::Error);
            let drawn: Vec<String> =
                errors.map(|error| render(error, shown, text, Style::PLAIN)).collect();
            let count = match drawn.len() {
                1 => "an error".to_string(),
                many => format!("{many} errors"),
            };
            let message = format!("the keyspace file has {count}\n\n{}\n", drawn.join("\n\n"));
            refusal(&message, Some(path))
        }
    }
}

/// A compile error; of a file that is there, one that goes away when the file changes.
pub fn refusal(message: &str, path: Option<&str>) -> String {
    let mut code = Code::default();
    code.line(format!("::std::compile_error!({message:?});"));
    if let Some(path) = path {
        code.line(format!("const _: &[u8] = ::std::include_bytes!({});", included(path)));
    }
    code.into_text()
}

/// The place of the file, so that the compiler builds again when it changes.
fn included(path: &str) -> String {
    match std::path::Path::new(path).is_absolute() {
        true => format!("{path:?}"),
        false => format!("::std::concat!(::std::env!(\"CARGO_MANIFEST_DIR\"), \"/\", {path:?})"),
    }
}

fn module(keyspace: &Keyspace, path: &str) -> String {
    let mut code = Code::default();
    let mut naming = Naming::new(keyspace);
    let plans = plans(keyspace);
    let callable = plans.iter().enumerate().filter(|(_, plan)| is_callable(&plan.pattern));
    let functions: Vec<Function<'_>> = callable
        .map(|(position, plan)| Function::new(&mut naming, keyspace, plan, position))
        .collect();
    client(&mut code, &naming, keyspace, path);
    let (client, caller) = (&naming.client, &naming.caller);
    code.docs([format!("[`{client}`] as somebody: each pattern is a function.")]);
    code.line("#[allow(dead_code)]");
    code.line("#[derive(Clone, Debug)]");
    code.line(format!("pub struct {caller}(::keyway::typed::Scope);"));
    code.line("");
    code.open(format!("impl {caller} {{"));
    functions.iter().for_each(|function| function.function(&mut code, &naming));
    code.close("}");
    code.line("");
    for collection in runnable(keyspace) {
        rows::row(&mut code, &naming, keyspace, collection);
    }
    naming.enums().iter().for_each(|named| rows::enumeration(&mut code, named));
    functions.iter().for_each(|function| function.types(&mut code, &naming));
    code.into_text()
}

/// The type a keyspace is opened as.
fn client(code: &mut Code, naming: &Naming, keyspace: &Keyspace, path: &str) {
    let client = &naming.client;
    let caller = &naming.caller;
    code.docs(client_docs(keyspace));
    code.line("#[allow(dead_code)]");
    code.line("#[derive(Clone, Debug)]");
    code.line(format!("pub struct {client}(::keyway::Keyway);"));
    code.line("");
    code.line("#[allow(dead_code)]");
    code.open(format!("impl {client} {{"));
    code.docs(["The keyspace file, as it was when this was compiled."]);
    let file = included(path);
    code.line(format!("pub const KEYSPACE: &'static str = ::std::include_str!({file});"));
    code.line("");
    code.docs(["Opens the keyspace on a store, such as `memory:` or `engine:./data`."]);
    code.open("pub async fn open(url: &str) -> ::keyway::Result<Self> {");
    code.line("Self::open_with(::keyway::Keyway::builder(), url).await");
    code.close("}");
    code.line("");
    code.docs(["Opens the keyspace on a store, with options."]);
    code.open(
        "pub async fn open_with(options: ::keyway::Builder, url: &str) -> ::keyway::Result<Self> {",
    );
    code.line("let keyway = options.open_text(Self::KEYSPACE, url).await?;");
    code.line(format!("::std::result::Result::Ok({client}(keyway))"));
    code.close("}");
    code.line("");
    code.docs(["The keyspace for calls by name."]);
    code.open("pub fn keyway(&self) -> &::keyway::Keyway {");
    code.line("&self.0");
    code.close("}");
    code.line("");
    code.docs(["The keyspace as a caller sees it."]);
    code.open(format!("pub fn by(&self, caller: &::keyway::Caller) -> {caller} {{"));
    code.line(format!("{caller}(::keyway::typed::Scope::new(&self.0, caller.clone()))"));
    code.close("}");
    code.line("");
    code.docs(["The keyspace as a user sees it, by the text of their id."]);
    code.open(format!(
        "pub fn as_user(&self, id: impl ::std::convert::Into<::std::string::String>) -> {caller} {{"
    ));
    code.line(format!(
        "{caller}(::keyway::typed::Scope::new(&self.0, ::keyway::Caller::user(id)))"
    ));
    code.close("}");
    code.line("");
    code.docs(["Writes what is still to be written and lets go of the store."]);
    code.open("pub async fn close(&self) -> ::keyway::Result<()> {");
    code.line("self.0.close().await");
    code.close("}");
    code.close("}");
    code.line("");
}

fn client_docs(keyspace: &Keyspace) -> Vec<String> {
    let mut docs = Vec::new();
    docs.push(match &keyspace.about {
        Some(about) => sentence(about),
        None => format!("The keyspace `{}`.", keyspace.name.value),
    });
    let left_out: Vec<String> = keyspace
        .patterns
        .iter()
        .filter(|pattern| is_of_history(pattern))
        .map(|pattern| format!("`{}`", pattern.name.value))
        .collect();
    if !left_out.is_empty() {
        docs.push(format!(
            "Histories can be declared and planned, but not run yet: {} have no function here.",
            left_out.join(", ")
        ));
    }
    docs
}
