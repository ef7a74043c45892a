//! The protocol's requests, answered.

use super::{guide, tools};
use crate::access::{Book, Token};
use crate::describe::Description;
use crate::http::problem::Problem;
use crate::http::{Asked, Known, call};
use crate::service::Service;
use axum::http::request::Parts;
use data::request::{Answer, Given, Prepared, Reply, Runtime};
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
    /// Whoever's token it is, as long as it is worth something.
    Token(Arc<Book>, Arc<Token>),
}

impl Handler {
    /// For a server's keyspace.
    pub fn new(service: Arc<Service>, who: Who) -> Handler {
        Handler { of: Of::Server(service), who }
    }

    /// For a keyspace without a server.
    pub fn alone(keyway: Keyway, description: Description, who: Who) -> Handler {
        Handler { of: Of::Alone(keyway, Arc::new(description)), who }
    }

    fn keyway(&self) -> &Keyway {
        match &self.of {
            Of::Server(service) => &service.keyway,
            Of::Alone(keyway, _) => keyway,
        }
    }

    fn description(&self) -> &Description {
        match &self.of {
            Of::Server(service) => service.description(),
            Of::Alone(_, description) => description,
        }
    }

    /// Who makes a request. It is looked at in each of them, so that nothing of an earlier one,
    /// such as the id of a session, gives anybody more than their own token.
    async fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller> {
        match &self.who {
            Who::Always(caller) => Ok(caller.clone()),
            Who::Token(book, token) => {
                let principal = book.principal(token).await?;
                principal.map(|known| Caller::clone(&known.caller)).ok_or_else(super::worthless)
            }
            Who::Each => {
                let parts = context.extensions.get::<Parts>();
                let known = parts.and_then(|parts| parts.extensions.get::<Known>());
                Ok(known.map_or_else(Caller::nobody, |known| Caller::clone(&known.0.caller)))
            }
        }
    }

    /// The tools of whoever makes a request.
    async fn tools(&self, context: &RequestContext<RoleServer>) -> Result<Vec<Tool>, ErrorData> {
        let caller = self
            .caller(context)
            .await
            .map_err(|error| ErrorData::invalid_request(Problem::from(&error).sentence(), None))?;
        Ok(tools::of(self.description(), &caller))
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
        let answered = reply.and_then(|(reply, runtime)| answered(runtime, &reply.answer));
        answered.unwrap_or_else(|error| tools::refused(&error))
    }

    async fn call(
        &self,
        position: usize,
        prepared: Arc<Prepared>,
        given: Vec<Given>,
        caller: Caller,
    ) -> Result<(Reply, &Runtime)> {
        match &self.of {
            Of::Alone(keyway, _) => keyway.call_on(position, given, &caller, None).await,
            Of::Server(service) => {
                let caller = Arc::new(caller);
                call(service, Asked { position, prepared, given, caller, id: None }).await
            }
        }
    }
}

fn answered(runtime: &Runtime, answer: &Answer) -> Result<CallToolResult> {
    let json = answer.to_json(runtime.schema())?;
    let mut result = CallToolResult::structured(json);
    if matches!(answer, Answer::Row(None)) {
        result.content = vec![ContentBlock::text("There is no such row.")];
    }
    Ok(result)
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
        Ok(ListToolsResult::with_all_items(self.tools(&context).await?))
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
        let arguments = request.arguments.unwrap_or_default();
        let answered = match self.caller(&context).await {
            Ok(caller) => self.run(caller, &request.name, arguments).await,
            Err(error) => tools::refused(&error),
        };
        Ok(answered.into())
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
        let tools = self.tools(&context).await?;
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
        let tools = self.tools(&context).await?;
        Ok(guide::messages(self.keyway().keyspace(), &tools, task).into())
    }
}
