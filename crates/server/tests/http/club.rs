//! Who may by more than being the owner: tenants, members, and windows that are full.

use crate::support::{Setup, get};
use axum::body::Body;
use axum::http::StatusCode;
use data::clock::ManualClock;
use keyway::Keyway;
use serde_json::json;
use server::{Callers, Settings};

/// Clubs, projects of tenants, a window, places.
pub const CLUB: &str = include_str!("club.toml");

const HOUR: i64 = 3_600_000;

/// A server of clubs, and its clock.
pub async fn club(settings: Settings) -> (Setup, ManualClock) {
    let clock = ManualClock::at(1_800_000_000_000);
    let builder = Keyway::builder().clock(clock.clone()).sweep_every(None);
    (Setup::on(builder, CLUB, "memory:", settings).await, clock)
}

#[tokio::test]
async fn the_tenant_comes_from_the_token_alone() {
    let (setup, _) = club(Settings::default()).await;
    let (red, blue) = (setup.token_of("ann", "red").await, setup.token_of("ann", "blue").await);
    let started = json!({"project_id": "p", "name": "Rockets"});
    let row = setup.write(&red, "/start_project", started.clone()).await["row"].clone();
    assert_eq!((&row["tenant_id"], &row["user_id"]), (&json!("red"), &json!("ann")));
    assert_eq!(setup.get(&red, "/projects").await.json()["rows"], json!([row]));
    // The same user of another tenant is somebody else.
    assert_eq!(setup.get(&blue, "/projects").await.json()["rows"], json!([]));
    let foreign = setup.get(&blue, "/project?project_id=p").await;
    let missing = setup.get(&blue, "/project?project_id=q").await;
    assert_eq!((foreign.status, &foreign.body), (StatusCode::NOT_FOUND, &missing.body));
    let row = setup.write(&blue, "/start_project", started).await["row"].clone();
    assert_eq!(row["tenant_id"], "blue");
    // Neither an argument nor a header says which tenant it is.
    let said = setup.get(&red, "/projects?tenant_id=blue").await;
    assert_eq!(
        (said.status, &said.json()["argument"]),
        (StatusCode::BAD_REQUEST, &json!("tenant_id"))
    );
    let said = get(&red, "/projects").header("keyway-tenant", "blue").body(Body::empty()).unwrap();
    assert_eq!(setup.send(said).await.json()["rows"][0]["tenant_id"], "red");
    // Whoever has no tenant has no projects.
    let without = setup.get(&setup.ann, "/projects").await;
    assert_eq!((without.status, without.problem().as_str()), (StatusCode::FORBIDDEN, "denied"));
}

#[tokio::test]
async fn whoever_is_believed_says_the_tenant() {
    let settings = Settings { callers: Callers::Trusted, ..Settings::default() };
    let (setup, _) = club(settings).await;
    let list = async |tenant: &str| {
        let request = get("", "/projects").header("keyway-user", "ann");
        let request = request.header("keyway-tenant", tenant);
        setup.send(request.body(Body::empty()).unwrap()).await.json()["rows"].clone()
    };
    let request = crate::support::post("", "/start_project").header("keyway-user", "ann");
    let request = request.header("keyway-tenant", "red");
    let body = Body::from(r#"{"project_id": "p", "name": "Rockets"}"#);
    let started = setup.send(request.body(body).unwrap()).await.json();
    assert_eq!(started["row"]["tenant_id"], "red");
    assert_eq!(list("red").await, json!([started["row"]]));
    assert_eq!(list("blue").await, json!([]));
}

#[tokio::test]
async fn members_may_and_others_may_not() {
    let (setup, _) = club(Settings::default()).await;
    let party = json!({"club_id": "chess", "event_id": "e", "title": "Party"});
    setup.write(&setup.ann, "/join_club", json!({"club_id": "chess"})).await;
    setup.write(&setup.bob, "/join_club", json!({"club_id": "golf"})).await;
    // A guest may look, and only an administrator may add.
    assert_eq!(setup.get(&setup.ann, "/events?club_id=chess").await.json()["rows"], json!([]));
    let refused = setup.post(&setup.ann, "/add_event", party.clone()).await;
    assert_eq!((refused.status, refused.problem().as_str()), (StatusCode::FORBIDDEN, "denied"));
    let rank = json!({"club_id": "chess", "user_id": "ann", "rank": "admin"});
    setup.write(&setup.admin, "/promote", rank).await;
    setup.write(&setup.ann, "/add_event", party.clone()).await;
    let events = setup.get(&setup.ann, "/events?club_id=chess").await.json();
    assert_eq!(events["rows"][0]["title"], "Party");
    // A member of another club learns nothing, not even whether there is such a club.
    let refused = setup.get(&setup.bob, "/events?club_id=chess").await;
    let nowhere = setup.get(&setup.bob, "/events?club_id=nowhere").await;
    assert_eq!((refused.status, refused.problem().as_str()), (StatusCode::FORBIDDEN, "denied"));
    assert_eq!(refused.body, nowhere.body);
    let refused = setup.post(&setup.bob, "/add_event", party).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_full_window_says_when_to_come_again() {
    let (setup, clock) = club(Settings::default()).await;
    for remaining in [2, 1, 0] {
        let knocked = setup.write(&setup.ann, "/knock", json!({})).await;
        assert_eq!((&knocked["allowed"], &knocked["remaining"]), (&json!(true), &json!(remaining)));
    }
    for (passed, wait) in [(0, "3600"), (HOUR / 2, "1800"), (HOUR / 2 - 1, "1")] {
        clock.advance(passed);
        let full = setup.post(&setup.ann, "/knock", json!({})).await;
        assert_eq!(full.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!((full.problem().as_str(), full.header("retry-after")), ("limited", Some(wait)));
        assert_eq!(full.json()["retryable"], true);
    }
    // Another's window is another.
    assert_eq!(setup.write(&setup.bob, "/knock", json!({})).await["remaining"], 2);
    clock.advance(1);
    assert_eq!(setup.write(&setup.ann, "/knock", json!({})).await["remaining"], 2);
}
