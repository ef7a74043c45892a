//! Places around a point, nearest first: `cargo run -p keyway --example nearby`.

keyway::include_keyspace!("examples/nearby.toml");

/// On both sides of the date line, which no distance cares about.
const PLACES: [(&str, f64, f64); 4] = [
    ("Taveuni east", -16.80, -179.97),
    ("Taveuni west", -16.80, 179.97),
    ("the line", -16.80, 180.0),
    ("Suva", -18.14, 178.44),
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> keyway::Result<()> {
    let map = Map::open("memory:").await?;
    let ann = map.as_user("ann");
    for (name, lat, lon) in PLACES {
        ann.add_place(name, lat, lon).await?;
    }
    println!("within 5 km of the line:");
    for place in ann.find_nearby(-16.80, 179.999, 5_000.0).await? {
        println!("  {}", place.name);
    }
    println!("the nearest one:");
    for place in ann.find_nearby(-16.80, -179.98, 5_000.0).limit(1).await? {
        println!("  {}", place.name);
    }
    map.close().await
}
