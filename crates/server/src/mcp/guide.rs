//! What a model can read beside the tools: the keyspace's description, and help with choosing.

use keyspace::document::markdown;
use keyspace::model::Keyspace;
use rmcp::model::{
    GetPromptResult, Prompt, PromptArgument, PromptMessage, ReadResourceResult, Resource,
    ResourceContents, Role, Tool,
};
use serde_json::{Value as Json, json};

/// The name of the prompt that helps with choosing.
pub const PROMPT: &str = "choose_pattern";

/// Its argument.
pub const TASK: &str = "task";

/// What a model is told first.
pub fn instructions(keyspace: &Keyspace) -> String {
    let about = keyspace.about.as_deref().unwrap_or("stored rows");
    format!(
        "The keyspace `{}`: {about}. Each tool is one access pattern, and there is no other way to \
         the data. Whose rows a call reaches follows from who calls: never give the caller's own \
         id. Lists answer a page; while `next` is not null, call again with it as `cursor`. The \
         resource {} describes the rows and keys.",
        keyspace.name.value,
        description_uri(keyspace),
    )
}

fn description_uri(keyspace: &Keyspace) -> String {
    format!("keyspace://{}/description.md", keyspace.name.value)
}

fn schema_uri(keyspace: &Keyspace) -> String {
    format!("keyspace://{}/schema.json", keyspace.name.value)
}

/// What can be read.
pub fn resources(keyspace: &Keyspace) -> Vec<Resource> {
    vec![
        Resource::new(description_uri(keyspace), "description")
            .with_description("What is stored, by which keys, and what can be asked and changed")
            .with_mime_type("text/markdown"),
        Resource::new(schema_uri(keyspace), "schema")
            .with_description("The arguments and answers of every tool, as JSON Schemas")
            .with_mime_type("application/json"),
    ]
}

/// One of them, as far as the caller's tools go.
pub fn resource(keyspace: &Keyspace, tools: &[Tool], uri: &str) -> Option<ReadResourceResult> {
    let (text, kind) = if uri == description_uri(keyspace) {
        (markdown(keyspace), "text/markdown")
    } else if uri == schema_uri(keyspace) {
        (format!("{:#}", schema(keyspace, tools)), "application/json")
    } else {
        return None;
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(kind);
    Some(ReadResourceResult::new(vec![contents]))
}

fn schema(keyspace: &Keyspace, tools: &[Tool]) -> Json {
    let patterns = tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "about": tool.description,
            "input": tool.input_schema,
            "output": tool.output_schema,
        })
    });
    json!({
        "keyspace": keyspace.name.value,
        "about": keyspace.about,
        "patterns": patterns.collect::<Vec<_>>(),
    })
}

/// The prompt that helps with choosing.
pub fn prompt() -> Prompt {
    let task = PromptArgument::new(TASK)
        .with_description("What is to be done, in words")
        .with_required(true);
    let about = "Which pattern, or which patterns one after the other, do a task";
    Prompt::new(PROMPT, Some(about), Some(vec![task]))
}

/// The prompt for a task.
pub fn messages(keyspace: &Keyspace, tools: &[Tool], task: &str) -> GetPromptResult {
    let lines: Vec<String> = tools.iter().map(line).collect();
    let text = format!(
        "{}\n\nThese are the patterns, each a tool of the same name:\n\n{}\n\nThe task: {task}\n\n\
         Choose the patterns that do this task, in the order in which to call them, with their \
         arguments. Use only patterns of this list. If an argument is not known, name the pattern \
         that finds it, or ask for it. If no pattern does the task, say so: there is no other way \
         to the data.",
        instructions(keyspace),
        lines.join("\n"),
    );
    GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
}

/// `- save_note(title, content): Save a note.` Arguments that may be left out have a `?`.
fn line(tool: &Tool) -> String {
    let required = tool.input_schema.get("required").and_then(Json::as_array);
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|known| known == name));
    let names = tool.input_schema.get("properties").and_then(Json::as_object);
    let names = names.into_iter().flat_map(|names| names.keys());
    let names = names.map(|name| match is_required(name) {
        true => name.clone(),
        false => format!("{name}?"),
    });
    let names = names.collect::<Vec<_>>().join(", ");
    format!("- {}({names}): {}", tool.name, tool.description.as_deref().unwrap_or_default())
}
