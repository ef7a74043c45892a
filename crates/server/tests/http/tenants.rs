//! What belongs to another tenant is answered exactly as what is not there: the same bytes,
//! wherever its id is given.

use crate::support::{Answered, Setup};
use axum::http::StatusCode;
use keyway::Keyway;
use serde_json::{Value as Json, json};
use server::Settings;
use server::access::NewToken;

const KEYSPACE: &str = include_str!("tenants.toml");

/// Ids that nobody has.
const NO_PROJECT: &str = "project_01M7ZZZZZZZZZZZZZZZZZZZZZZ";
const NO_FILE: &str = "file_01M7ZZZZZZZZZZZZZZZZZZZZZZ";

/// A server, somebody with rows, and others who want them.
struct Offices {
    setup: Setup,
    ann: String,
    /// Ann's namesake in another tenant, a colleague of hers, and a stranger.
    others: Vec<(&'static str, String)>,
    project: String,
    file: String,
}

impl Offices {
    async fn open() -> Offices {
        let keyway = Keyway::builder().check_bounds(true).open_text(KEYSPACE, "memory:").await;
        let settings = Settings { calls_a_second: None, ..Settings::default() };
        let setup = Setup::of(keyway.unwrap(), settings).await;
        let token = async |user: &str, tenant: Option<&str>| {
            let (user, tenant) = (Some(user.to_string()), tenant.map(str::to_string));
            let wanted = NewToken { user, tenant, ..NewToken::default() };
            setup.service.book.create(wanted).await.unwrap().0.reveal()
        };
        let ann = token("ann", Some("acme")).await;
        let others = vec![
            ("the namesake", token("ann", Some("other")).await),
            ("the colleague", token("bob", Some("acme")).await),
            ("a stranger", token("eve", Some("other")).await),
        ];
        let started = json!({"title": "secret", "tags": ["plan"]});
        let project = id(&setup.write(&ann, "/start_project", started).await, "project_id");
        let file = id(&setup.write(&ann, "/add_file", json!({"name": "secret"})).await, "file_id");
        Offices { setup, ann, others, project, file }
    }

    /// A request of somebody that names Ann's row, and the same that names no row.
    async fn both(&self, token: &str, ask: &Ask, ids: (&str, &str)) -> (Answered, Answered) {
        (ask.send(&self.setup, token, ids.0).await, ask.send(&self.setup, token, ids.1).await)
    }
}

/// A request with a place for an id.
enum Ask {
    Get(&'static str),
    Post(&'static str, fn(&str) -> Json),
}

impl Ask {
    async fn send(&self, setup: &Setup, token: &str, id: &str) -> Answered {
        match self {
            Ask::Get(path) => setup.get(token, &path.replace("ID", id)).await,
            Ask::Post(path, body) => setup.post(token, path, body(id)).await,
        }
    }
}

fn id(written: &Json, name: &str) -> String {
    written["row"][name].as_str().unwrap().to_string()
}

#[tokio::test]
async fn ids_of_another_tenant_are_ids_of_nothing() {
    let offices = Offices::open().await;
    let of_projects = [
        Ask::Get("/project?project_id=ID"),
        Ask::Get("/projects_of?rows=[%7B%22project_id%22:%22ID%22%7D]"),
        Ask::Post("/rename_project", |id| json!({"project_id": id, "title": "mine"})),
    ];
    let of_files = [
        Ask::Get("/file?file_id=ID"),
        Ask::Post("/rename_file", |id| json!({"file_id": id, "name": "mine"})),
        Ask::Post("/start_with_file", |id| json!({"file_id": id, "title": "x"})),
    ];
    let projects = of_projects.iter().map(|ask| (ask, (offices.project.as_str(), NO_PROJECT)));
    let files = of_files.iter().map(|ask| (ask, (offices.file.as_str(), NO_FILE)));
    for (ask, ids) in projects.chain(files) {
        let hers = ask.send(&offices.setup, &offices.ann, ids.0).await;
        assert_eq!(hers.status, StatusCode::OK, "{hers:?}");
        for (who, token) in &offices.others {
            let (foreign, missing) = offices.both(token, ask, ids).await;
            assert_eq!((foreign.status, &foreign.body), (missing.status, &missing.body), "{who}");
            assert_eq!(foreign.headers, missing.headers, "{who}");
            assert_ne!(foreign.body, hers.body, "{who}");
        }
    }
    // To delete nothing is no mistake; and nothing is deleted.
    let ask = Ask::Post("/end_project", |id| json!({"project_id": id}));
    for (who, token) in &offices.others {
        let ids = (offices.project.as_str(), NO_PROJECT);
        let (foreign, missing) = offices.both(token, &ask, ids).await;
        assert_eq!(foreign.status, missing.status, "{who}");
    }
    let path = format!("/project?project_id={}", offices.project);
    assert_eq!(offices.setup.get(&offices.ann, &path).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_tenant_is_no_argument() {
    let offices = Offices::open().await;
    for (_, token) in &offices.others {
        for name in ["tenant_id", "user_id"] {
            let body = json!({"title": "x", name: "acme"});
            let refused = offices.setup.post(token, "/start_project", body).await;
            assert_eq!(refused.json()["argument"], json!(name), "{refused:?}");
            let body = json!({"name": "x", name: "acme"});
            let refused = offices.setup.post(token, "/add_file", body).await;
            assert_eq!(refused.json()["argument"], json!(name), "{refused:?}");
            let path = format!("/tagged?tags=plan&{name}=acme");
            let refused = offices.setup.get(token, &path).await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
        }
    }
}

#[tokio::test]
async fn values_and_cursors_of_another_tenant_find_nothing() {
    let offices = Offices::open().await;
    let (setup, ann) = (&offices.setup, &offices.ann);
    for number in 0..3 {
        let started = json!({"title": format!("{number}"), "tags": ["plan"]});
        setup.write(ann, "/start_project", started).await;
    }
    for path in ["/projects?limit=1", "/tagged?tags=plan&limit=1"] {
        let page = setup.get(ann, path).await.json();
        let cursor = page["next"].as_str().unwrap();
        for (who, token) in &offices.others {
            let refused = setup.get(token, &format!("{path}&cursor={cursor}")).await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{who} {path}");
            assert_eq!(refused.problem(), "cursor", "{who} {path}");
        }
    }
    for (who, token) in &offices.others {
        let found = setup.get(token, "/tagged?tags=plan").await.json();
        // A colleague sees what the tenant shares, and others see nothing.
        let count = if *who == "the colleague" { 4 } else { 0 };
        assert_eq!(found["rows"].as_array().unwrap().len(), count, "{who}");
        let own = setup.get(token, "/projects").await.json();
        assert_eq!(own, json!({"rows": [], "next": null}), "{who}");
    }
}
