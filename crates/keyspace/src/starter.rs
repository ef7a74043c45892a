//! The file `keyway new` begins an application with.
//!
//! It is a whole small application, so that each part of the notation is seen at work; it must
//! always pass the checker without a warning.

const STARTER: &str = include_str!("starter.toml");
const NAME: &str = "name  = \"notes\"";

/// A commented keyspace file to begin with. `name` is the keyspace's name.
pub fn starter(name: &str) -> String {
    STARTER.replacen(NAME, &format!("name  = \"{name}\""), 1)
}

#[cfg(test)]
mod tests {
    use super::starter;

    #[test]
    fn it_has_the_name_and_is_formatted() {
        let text = starter("shop");
        assert!(text.contains("\nname  = \"shop\"\n"));
        let formatted = crate::format::format(&text).unwrap();
        assert!(
            text == formatted,
            "{:?}",
            text.lines().zip(formatted.lines()).find(|(a, b)| a != b)
        );
    }
}
