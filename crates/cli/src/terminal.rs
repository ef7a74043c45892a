//! Whether to use colours, and how wide the terminal is.

use clap::ValueEnum;
use keyspace::diagnostic::render::Style;
use std::env;
use std::io::{self, IsTerminal};

/// What `--color` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// How problems are drawn on this terminal, pipe or file.
pub(crate) fn style(color: Color) -> Style {
    let colour = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => wants_colour(|name| env::var(name).ok(), io::stdout().is_terminal()),
    };
    let told = told_width().filter(|_| io::stdout().is_terminal());
    Style { colour, width: told.unwrap_or(Style::PLAIN.width) }
}

/// How wide the terminal is, if standard output is one.
pub(crate) fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let asked = || console::Term::stdout().size_checked().map(|(_, width)| usize::from(width));
    told_width().or_else(asked).filter(|width| *width > 0)
}

fn told_width() -> Option<usize> {
    env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok())
}

/// NO_COLOR goes before CLICOLOR_FORCE: who asked for none must not get any.
fn wants_colour(variable: impl Fn(&str) -> Option<String>, is_terminal: bool) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    if is_set("NO_COLOR") {
        return false;
    }
    if is_set("CLICOLOR_FORCE") && variable("CLICOLOR_FORCE").as_deref() != Some("0") {
        return true;
    }
    is_terminal && variable("TERM").as_deref() != Some("dumb")
}

#[cfg(test)]
mod tests {
    use super::wants_colour;

    fn with(pairs: &[(&str, &str)], is_terminal: bool) -> bool {
        let find = |name: &str| pairs.iter().find(|(key, _)| *key == name);
        wants_colour(|name| find(name).map(|(_, value)| (*value).to_string()), is_terminal)
    }

    #[test]
    fn variables_and_terminals() {
        assert!(with(&[], true));
        assert!(!with(&[], false));
        assert!(!with(&[("NO_COLOR", "1")], true));
        assert!(with(&[("NO_COLOR", "")], true));
        assert!(with(&[("CLICOLOR_FORCE", "1")], false));
        assert!(!with(&[("CLICOLOR_FORCE", "0")], false));
        assert!(!with(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true));
        assert!(!with(&[("TERM", "dumb")], true));
    }
}
