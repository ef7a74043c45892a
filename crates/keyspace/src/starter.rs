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
    fn it_has_the_name_and_nothing_to_say_about_it() {
        let text = starter("shop");
        assert!(text.contains("\nname  = \"shop\"\n"));
        let reading = crate::read(&text);
        assert_eq!(reading.keyspace.map(|keyspace| keyspace.name.value), Some("shop".to_string()));
        let said: Vec<&str> = reading.diagnostics.iter().map(|one| one.message.as_str()).collect();
        assert!(said.is_empty(), "{said:?}");
    }

    #[test]
    fn it_is_formatted() {
        let text = starter("shop");
        let formatted = crate::format::format(&text).unwrap();
        let differs = text.lines().zip(formatted.lines()).find(|(left, right)| left != right);
        assert!(text == formatted, "{differs:?}");
    }
}
