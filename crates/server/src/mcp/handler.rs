//! The protocol's requests, answered.

use super::{guide, tools};
use crate::describe::Description;
use crate::http::{Asked, Known, call};
use crate::service::Service;
use axum::http::request::Parts;
use data::request::{Answer, Given, Prepared, Reply};
use data::{Caller, Result};
use keyway::Keyway;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, Implementation, JsonObject, ListPromptsResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::sync::Arc;

/// What answers.
#[derive(Clone, Debug)]
pub struct Handler {
    of: Of,
    who: Who,
}

/// What is served.
#[derive(Clone, Debug)]
enum Of {
    /// A server's keyspace; calls are counted.
    Server(Arc<Service>),
    /// A keyspace without a server.
    Alone(Keyway, Arc<Description>),
}

/// Who calls.
#[derive(Clone, Debug)]
pub enum Who {
    /// Each request says it, at the door.
    Each,
    /// Always the same.
    Always(Caller),
}

impl Handler {
    /// For a server's keyspace.
    pub fn new(service: Arc<Service>, who: Who) -> Handler {
        Handler { of: Of::Server(service), who }
    }

    /// For a keyspace without a server, all calls made by one caller.
    pub fn alone(keyway: Keyway, description: Description, caller: Caller) -> Handler {
        Handler { of: Of::Alone(keyway, Arc::new(description)), who: Who::Always(caller) }
    }

    fn keyway(&self) -> &Keyway {
        match &self.of {
            Of::Server(service) => &service.keyway,
            Of::Alone(keyway, _) => keyway,
        }
    }

    fn description(&self) -> &Description {
        match &self.of {
            Of::Server(service) => &service.description,
            Of::Alone(_, description) => description,
        }
    }

    /// Who makes a request. It is looked at in each of them, so that nothing of an earlier one,
    /// such as the id of a session, gives anybody more than their own token.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        match &self.who {
            Who::Always(caller) => caller.clone(),
            Who::Each => {
                let parts = context.extensions.get::<Parts>();
                let known = parts.and_then(|parts| parts.extensions.get::<Known>());
                known.map_or_else(Caller::nobody, |known| Caller::clone(&known.0.caller))
            }
        }
    }

    /// Where a pattern is, if it is a tool.
    fn tool(&self, name: &str) -> Option<(usize, Arc<Prepared>)> {
        self.description().pattern(name).filter(|described| tools::is_tool(described))?;
        let patterns = self.keyway().runtime().patterns();
        let position = patterns.iter().position(|prepared| prepared.name() == name)?;
        Some((position, patterns.get(position)?.clone()))
    }

    async fn run(&self, caller: Caller, name: &str, arguments: JsonObject) -> CallToolResult {
        let Some((position, prepared)) = self.tool(name) else {
            let names = self.description().patterns.iter();
            let names = names.filter(|described| tools::may(&described.pattern, &caller));
            return tools::unknown(name, names.map(|known| known.pattern.name.value.as_str()));
        };
        let given = prepared.given_from_json(self.keyway().keyspace(), &arguments);
        let reply = match given {
            Ok(given) => self.call(position, prepared.clone(), given, caller).await,
            Err(error) => Err(error),
        };
        let answered = reply.and_then(|reply| self.answered(&reply.answer));
        answered.unwrap_or_else(|error| tools::refused(&error))
    }

    async fn call(
        &self,
        position: usize,
        prepared: Arc<Prepared>,
        given: Vec<Given>,
        caller: Caller,
    ) -> Result<Reply> {
        match &self.of {
            Of::Alone(keyway, _) => keyway.call_at(position, given, &caller, None).await,
            Of::Server(service) => {
                let caller = Arc::new(caller);
                call(service, Asked { position, prepared, given, caller, id: None }).await
            }
        }
    }

    fn answered(&self, answer: &Answer) -> Result<CallToolResult> {
        let json = answer.to_json(self.keyway().runtime().schema())?;
        let mut result = CallToolResult::structured(json);
        if matches!(answer, Answer::Row(None)) {
            result.content = vec![ContentBlock::text("There is no such row.")];
        }
        Ok(result)
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let abilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts();
        let keyspace = self.keyway().keyspace();
        ServerConfig::new(abilities.build())
            .with_server_info(Implementation::new("keyway", env!("CARGO_PKG_VERSION")))
            .with_instructions(guide::instructions(keyspace))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.caller(&context);
        Ok(ListToolsResult::with_all_items(tools::of(self.description(), &caller)))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let described = self.description().pattern(name)?;
        tools::is_tool(described).then(|| tools::tool(described))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context);
        let arguments = request.arguments.unwrap_or_default();
        Ok(self.run(caller, &request.name, arguments).await.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(guide::resources(self.keyway().keyspace())))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let tools = tools::of(self.description(), &self.caller(&context));
        let found = guide::resource(self.keyway().keyspace(), &tools, &request.uri);
        found.map(Into::into).ok_or_else(|| {
            ErrorData::resource_not_found("there is no such resource: list them first", None)
        })
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(vec![guide::prompt()]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != guide::PROMPT {
            return Err(ErrorData::invalid_params(
                "there is no such prompt: list them first",
                None,
            ));
        }
        let arguments = request.arguments.unwrap_or_default();
        let task = arguments.get(guide::TASK).and_then(|task| task.as_str());
        let task = task.ok_or_else(|| {
            ErrorData::invalid_params("the prompt needs `task`: what is to be done, in words", None)
        })?;
        let tools = tools::of(self.description(), &self.caller(&context));
        Ok(guide::messages(self.keyway().keyspace(), &tools, task).into())
    }
}
