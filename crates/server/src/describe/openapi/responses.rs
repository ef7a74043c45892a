//! Problems, as responses tell them.

use serde_json::{Map, Value as Json, json};

/// Every status beside 200, its name among the components, and when it occurs.
const STATUSES: [(u16, &str, &str); 17] = [
    (304, "NotModified", "The version named by If-None-Match is still the row's"),
    (400, "BadRequest", "An argument, a cursor or the request is wrong; the problem names it"),
    (401, "Unauthorized", "No token, or one that is not known, has ended or was revoked"),
    (403, "Forbidden", "The caller may not do this"),
    (404, "NotFound", "The row is not there, or is another's"),
    (405, "MethodNotAllowed", "Reads are GET, writes are POST"),
    (408, "RequestTimeout", "The body took too long to arrive"),
    (409, "Conflict", "The row is there, has changed, or does not fulfil the condition"),
    (412, "PreconditionFailed", "The row has another version than If-Match names"),
    (413, "ContentTooLarge", "The body, a key or a value is larger than it may be"),
    (415, "UnsupportedMediaType", "The body is not JSON, or is encoded"),
    (421, "MisdirectedRequest", "The server has not this name"),
    (422, "UnprocessableContent", "The Idempotency-Key was used with another body"),
    (429, "TooManyRequests", "Too many requests in a short time, or a window is full"),
    (500, "InternalServerError", "The server cannot do this; its log says why"),
    (503, "ServiceUnavailable", "Too busy, or the store does not answer; nothing was done"),
    (504, "GatewayTimeout", "Not known whether it was done: the same Idempotency-Key tells"),
];

/// A reference to the response with a status.
pub fn reference(status: u16) -> Json {
    let found = STATUSES.iter().find(|(known, ..)| *known == status);
    let name = found.map_or("InternalServerError", |(_, name, _)| name);
    json!({ "$ref": format!("#/components/responses/{name}") })
}

/// Every response that is referred to.
pub fn components() -> Json {
    let all = STATUSES
        .into_iter()
        .map(|(status, name, description)| (name.to_string(), response(status, description)));
    Json::Object(all.collect())
}

fn response(status: u16, description: &str) -> Json {
    let mut response = Map::new();
    response.insert("description".to_string(), json!(description));
    let headers = match status {
        304 => Some("ETag"),
        401 => Some("WWW-Authenticate"),
        405 => Some("Allow"),
        429 | 503 | 504 => Some("Retry-After"),
        _ => None,
    };
    if let Some(name) = headers {
        let header = json!({ name: { "$ref": format!("#/components/headers/{name}") } });
        response.insert("headers".to_string(), header);
    }
    if status != 304 {
        let schema = json!({ "$ref": "#/components/schemas/Problem" });
        let content = json!({ "application/problem+json": { "schema": schema } });
        response.insert("content".to_string(), content);
    }
    Json::Object(response)
}

/// The headers of responses.
pub fn headers() -> Json {
    let header =
        |description: &str, schema: Json| json!({ "description": description, "schema": schema });
    json!({
        "ETag": header("The row's version, in quotes", json!({ "type": "string" })),
        "Allow": header("The method to ask with", json!({ "type": "string" })),
        "WWW-Authenticate": header("How to show a token", json!({ "type": "string" })),
        "Retry-After": header(
            "Seconds to wait before the same request",
            json!({ "type": "integer", "minimum": 0 }),
        ),
    })
}

/// What a problem is: RFC 9457, with whatever varies as further members.
pub fn problem() -> Json {
    json!({
        "type": "object",
        "description": "A problem, as RFC 9457 has it",
        "properties": {
            "type": {
                "type": "string",
                "description": "Which problem it is",
                "pattern": "^urn:keyway:problem:[a-z_]+$",
            },
            "title": { "type": "string", "description": "What is wrong, in a sentence" },
            "status": { "type": "integer" },
            "argument": { "type": "string", "description": "The argument that is wrong" },
            "expected": { "type": "string", "description": "What it should look like" },
            "retryable": {
                "type": "boolean",
                "description": "Whether the same request may succeed later",
            },
        },
        "required": ["type", "title", "status"],
    })
}
