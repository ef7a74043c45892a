//! `near`: exact, nearest first, across cells, poles and the date line; within its bounds.

use crate::support::{Bench, ann};
use data::clock::SeededRandom;
use data::geo::distance;
use data::request::Answer;
use data::store::Write;
use data::{ErrorKind, Value};
use serde_json::json;

/// Places by S2 cells and by geohashes; with and without their coordinates in the entries.
fn places(rows_per_cell: u64) -> String {
    format!(
        r#"
    [collection.places]
    key = "place:{{id: u64}}"
    fields = {{ lat = "f64?", lon = "f64?", name = "text = ''" }}
    index.by_cell.key = "cell:{{area = cell(lat, lon, 9)}} | {{id}}"
    index.by_cell.expect = {{ rows_per_group = {rows_per_cell} }}
    index.by_hash.key = "hash:{{square = geohash(lat, lon, 4)}} | {{id}}"
    index.by_hash.expect = {{ rows_per_group = {rows_per_cell} }}
    index.by_kept.key = "kept:{{kept_cell = cell(lat, lon, 9)}} | {{id}}"
    index.by_kept.keep = ["lat", "lon"]
    index.by_kept.expect = {{ rows_per_group = {rows_per_cell} }}

    [pattern]
    add = {{ put = "places", allow = "user" }}
    around = {{ near = "places.by_cell", max_radius = 30_000, page = 100 }}
    around_hash = {{ near = "places.by_hash", max_radius = 30_000, page = 100 }}
    around_kept = {{ near = "places.by_kept", max_radius = 30_000, page = 100 }}
    around_ids.near = "places.by_kept"
    around_ids.max_radius = 30_000
    around_ids.page = 100
    around_ids.fields = ["id", "lat", "lon"]
"#
    )
}

const ALL: [&str; 4] = ["around", "around_hash", "around_kept", "around_ids"];

/// A number from 0 to 1.
fn chance(random: &SeededRandom) -> f64 {
    (random.number() >> 11) as f64 / (1u64 << 53) as f64
}

/// Half of the points anywhere, the others in a few crowded spots: poles and the date line too.
fn points(count: u64, seed: u64) -> Vec<(f64, f64)> {
    let random = SeededRandom::new(seed);
    let spots = [(52.5, 13.4), (0.0, 180.0), (0.0, 0.0), (84.5, 180.0), (89.0, 0.0), (-89.0, 0.0)];
    (0..count)
        .map(|number| match number % 2 {
            0 => {
                let latitude = (2.0 * chance(&random) - 1.0).asin().to_degrees();
                (latitude, 360.0 * chance(&random) - 180.0)
            }
            _ => {
                let (latitude, longitude) = spots[(random.number() % spots.len() as u64) as usize];
                let latitude: f64 = latitude + 2.0 * chance(&random) - 1.0;
                let wide: f64 = if latitude.abs() > 88.0 { 360.0 } else { 2.0 };
                let longitude = longitude + wide * (chance(&random) - 0.5);
                (latitude, (longitude + 540.0).rem_euclid(360.0) - 180.0)
            }
        })
        .collect()
}

fn fill(bench: &Bench, points: &[(f64, f64)]) {
    let rows = points.iter().enumerate().map(|(id, (latitude, longitude))| {
        let slots = vec![Value::F64(*latitude), Value::F64(*longitude), Value::Text(String::new())];
        (vec![Value::U64(id as u64)], slots)
    });
    bench.put_all("places", rows);
}

fn near(bench: &Bench, pattern: &str, at: (f64, f64), radius: f64, limit: usize) -> Vec<u64> {
    let arguments = json!({"lat": at.0, "lon": at.1, "radius": radius, "limit": limit});
    let reply = bench.call(pattern, arguments, &ann()).unwrap();
    let Answer::Page { rows, next } = reply.answer else { panic!() };
    assert!(next.is_none());
    let id = |value: Value| match value {
        Value::U64(id) => id,
        other => panic!("{other:?}"),
    };
    rows.iter().map(|row| id(row.get("id").unwrap())).collect()
}

fn brute(points: &[(f64, f64)], at: (f64, f64), radius: f64, limit: usize) -> Vec<u64> {
    let mut found: Vec<(f64, u64)> = points
        .iter()
        .enumerate()
        .map(|(id, point)| (distance(at.0, at.1, point.0, point.1), id as u64))
        .filter(|(far, _)| *far <= radius)
        .collect();
    found.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    found.truncate(limit);
    found.into_iter().map(|(_, id)| id).collect()
}

#[test]
fn x6_near_equals_brute_force_on_200_000_points() {
    const SEED: u64 = 11;
    let points = points(200_000, SEED);
    let bench = Bench::open(&places(6_000));
    fill(&bench, &points);
    let random = SeededRandom::new(SEED + 1);
    let mut found = 0;
    for round in 0..60 {
        let at = match round % 3 {
            0 => points[(random.number() % 200_000) as usize],
            1 => (180.0 * chance(&random) - 90.0, 360.0 * chance(&random) - 180.0),
            _ => [(90.0, 0.0), (-90.0, 7.0), (0.0, 180.0), (0.0, -180.0), (84.95, 180.0)]
                [round / 3 % 5],
        };
        let radius = [0.0, 500.0, 5_000.0, 30_000.0][round % 4];
        let limit = 1 + (random.number() % 100) as usize;
        let expected = brute(&points, at, radius, limit);
        found += expected.len();
        for pattern in ALL {
            if pattern == "around_hash" && at.0.abs() > 85.0 {
                continue;
            }
            let answer = near(&bench, pattern, at, radius, limit);
            assert_eq!(answer, expected, "seed {SEED}: {pattern} {at:?} {radius} {limit}");
        }
    }
    assert!(found > 500, "{found} rows were compared");
}

#[test]
fn borders_of_cells_are_no_borders() {
    let bench = Bench::open(&places(1_000));
    // A cross of points a metre apart, over the border of every cell that meets at 0, 0.
    let step = 0.000_009;
    let points: Vec<(f64, f64)> =
        (-20..=20).flat_map(|n| [(f64::from(n) * step, 0.0), (0.0, f64::from(n) * step)]).collect();
    fill(&bench, &points);
    for pattern in ALL {
        assert_eq!(
            near(&bench, pattern, (0.0, 0.0), 10.0, 100),
            brute(&points, (0.0, 0.0), 10.0, 100)
        );
        assert_eq!(near(&bench, pattern, (0.0, 0.0), 30_000.0, 100).len(), points.len());
    }
}

#[test]
fn rows_at_one_place_come_by_their_key() {
    let bench = Bench::open(&places(1_000));
    fill(&bench, &[(1.0, 1.0); 10]);
    for pattern in ALL {
        assert_eq!(near(&bench, pattern, (1.0, 1.0), 0.0, 100), (0..10).collect::<Vec<_>>());
        assert_eq!(near(&bench, pattern, (1.0, 1.0), 0.0, 3), [0, 1, 2]);
    }
}

#[test]
fn a_row_that_moves_after_its_entry_was_read_is_measured_where_it_is() {
    let bench = Bench::open(&places(100));
    fill(&bench, &[(52.5, 13.4), (52.501, 13.4)]);
    let collection = bench.collection("places");
    // The row changes, its entries stay: what a reader meets between its scan and its fetch.
    let rewrite = |(latitude, longitude): (f64, f64)| {
        let slots = [Value::F64(latitude), Value::F64(longitude), Value::Text(String::new())];
        bench.commit(vec![Write::Put {
            key: collection.key.encode(&[Value::U64(0)]).unwrap(),
            value: collection.encode(&slots).unwrap(),
            expires: None,
            versioned: collection.mode.has_version(),
            trail: None,
        }]);
    };
    for pattern in ["around", "around_hash", "around_kept"] {
        let found = || near(&bench, pattern, (52.5, 13.4), 1_000.0, 10);
        rewrite((52.5, 13.4));
        assert_eq!(found(), [0, 1], "{pattern}");
        // Within its cell, and farther away than the other.
        rewrite((52.502, 13.4));
        assert_eq!(found(), [1, 0], "{pattern}");
        // Within its cell, and too far away; then in another cell.
        rewrite((52.52, 13.4));
        assert_eq!(found(), [1], "{pattern}");
        rewrite((-52.5, 13.4));
        assert_eq!(found(), [1], "{pattern}");
    }
}

#[test]
fn a_row_without_a_place_is_nowhere() {
    let bench = Bench::open(&places(1_000));
    bench.put("places", json!({"id": 1, "lat": null, "lon": 1.0}));
    bench.put("places", json!({"id": 2, "lat": 1.0, "lon": 1.0}));
    for pattern in ALL {
        assert_eq!(near(&bench, pattern, (1.0, 1.0), 30_000.0, 10), [2]);
    }
}

#[test]
fn what_is_wrong_with_a_circle_is_said() {
    let bench = Bench::open(&places(1_000));
    for (arguments, named) in [
        (json!({"lat": 1.0, "lon": 1.0, "radius": 30_000.1}), "radius"),
        (json!({"lat": 1.0, "lon": 1.0, "radius": -0.1}), "radius"),
        (json!({"lat": 90.1, "lon": 1.0, "radius": 1.0}), "latitude"),
        (json!({"lat": 1.0, "lon": -180.1, "radius": 1.0}), "longitude"),
        (json!({"lat": 1.0, "lon": 1.0, "radius": 1.0, "limit": 101}), "argument"),
        (json!({"lat": 1.0, "lon": 1.0}), "argument"),
        (json!({"lat": "x", "lon": 1.0, "radius": 1.0}), "argument"),
    ] {
        let error = bench.error("around", arguments.clone(), &ann());
        assert_eq!(error.kind(), ErrorKind::Argument, "{arguments}: {error}");
        assert!(error.value(named).is_some(), "{arguments}: {error}");
    }
    // Whoever calls without JSON may say what JSON cannot.
    let prepared = bench.pattern("around");
    for radius in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let given = [Value::F64(1.0), Value::F64(1.0), Value::F64(radius), Value::Null];
        let given = given.map(data::request::Given::Value).to_vec();
        let caller = ann();
        let call = data::request::Call::new(&prepared, given, &caller);
        let error = crate::support::block_on(bench.runtime.call(call)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{radius}");
    }
    let error = bench.error("around_hash", json!({"lat": 85.1, "lon": 1.0, "radius": 1.0}), &ann());
    assert_eq!(error.kind(), ErrorKind::Argument);
}

#[test]
fn a_cell_that_is_too_full_is_an_error_and_no_guess() {
    let bench = Bench::open(&places(50));
    let points: Vec<(f64, f64)> = (0..50).map(|n| (f64::from(n) / 1e6, 0.5)).collect();
    fill(&bench, &points);
    for pattern in ALL {
        assert_eq!(near(&bench, pattern, (0.0, 0.5), 1_000.0, 100).len(), 50);
    }
    bench.put("places", json!({"id": 50, "lat": 0.0, "lon": 0.5}));
    for pattern in ALL {
        let arguments = json!({"lat": 0.0, "lon": 0.5, "radius": 1_000.0});
        let error = bench.error(pattern, arguments, &ann());
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert_eq!(error.value("rows_per_group"), Some("50"));
    }
}

#[test]
fn entries_that_keep_the_point_save_the_records_of_the_others() {
    let bench = Bench::open(&places(1_000));
    let points: Vec<(f64, f64)> = (0..300).map(|n| (f64::from(n) / 1e5, 0.5)).collect();
    fill(&bench, &points);
    let usage = |pattern: &str| {
        let arguments = json!({"lat": 0.0, "lon": 0.5, "radius": 30_000.0, "limit": 5});
        bench.call(pattern, arguments, &ann()).unwrap().usage
    };
    assert_eq!(usage("around").rows_read, 600);
    assert_eq!(usage("around_kept").rows_read, 305);
    assert_eq!(usage("around_ids").rows_read, 300);
    assert_eq!(usage("around_ids").round_trips, 1);
}

#[test]
fn a_group_before_the_cell_is_given() {
    let bench = Bench::open(
        r#"
        [collection.shops]
        key = "shop:{id: u64}"
        fields = { kind = "text", lat = "f64", lon = "f64" }
        ttl = "1d"
        index.shops_by_kind.key = "kind:{kind}:{area = cell(lat, lon, 10)} | {id}"
        index.shops_by_kind.expect = { rows_per_group = 100 }

        [pattern.add]
        put = "shops"
        allow = "user"

        [pattern.around]
        near = "shops.shops_by_kind"
        max_radius = 5_000
        page = 10
        "#,
    );
    for (id, kind) in [(1, "a"), (2, "b"), (3, "a")] {
        let row = json!({"id": id, "kind": kind, "lat": 48.0, "lon": 9.0});
        bench.put_until("shops", row, crate::support::NOW + id * 1_000);
    }
    let around = |kind: &str| {
        let arguments = json!({"kind": kind, "lat": 48.0, "lon": 9.001, "radius": 1_000.0});
        bench.page("around", arguments, &ann(), "id")
    };
    assert_eq!(around("a"), [json!(1), json!(3)]);
    assert_eq!(around("b"), [json!(2)]);
    assert!(around("c").is_empty());
    bench.clock.advance(1_000);
    assert_eq!(around("a"), [json!(3)]);
}
