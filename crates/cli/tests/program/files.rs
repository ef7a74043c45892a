//! Commands that write files, and those that need none: format, new, why, completions.

use crate::{Directory, apps, command, keyway, keyway_with};
use std::process::Stdio;

const UNTIDY: &str = "[keyspace]\nname=\"shop\"   # kept\n[collection.a]\nkey='a:{id:text}'\n";
const TIDY: &str = "[keyspace]\nname = \"shop\" # kept\n\n[collection.a]\nkey = 'a:{id: text}'\n";

#[test]
fn format_writes_in_place_once() {
    let directory = Directory::new("format");
    let path = directory.write("keyspace.toml", UNTIDY);
    let ran = keyway(&["format", "--check", &path]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.output, format!("{path} is not formatted; run: keyway format {path}\n"));
    assert_eq!(directory.read("keyspace.toml"), UNTIDY);
    let ran = keyway(&["format", &path]);
    assert_eq!(ran.status, 0);
    assert!(ran.output.starts_with(&format!("{path} formatted\n")), "{}", ran.output);
    assert_eq!(directory.read("keyspace.toml"), TIDY);
    assert_eq!(keyway(&["format", "--check", &path]).status, 0);
    assert_eq!(keyway(&["format", &path]).output, "");
    assert_eq!(std::fs::read_dir(directory.path("")).unwrap().count(), 1, "nothing is left over");
}

#[test]
fn format_reads_standard_input() {
    let ran = keyway_with(&["format", "-"], UNTIDY, &[]);
    assert_eq!((ran.status, ran.output.as_str()), (0, TIDY));
}

#[test]
fn format_leaves_what_is_not_toml_and_does_the_rest() {
    let directory = Directory::new("format-bad");
    let bad = directory.write("bad.toml", "a = = 1\n");
    let good = directory.write("good.toml", UNTIDY);
    let ran = keyway(&["format", &bad, &good]);
    assert_eq!(ran.status, 1);
    assert!(ran.complaint.contains("error[KW001]"), "{}", ran.complaint);
    assert!(ran.complaint.contains("bad.toml:1:5"), "{}", ran.complaint);
    assert_eq!(directory.read("bad.toml"), "a = = 1\n");
    assert_eq!(directory.read("good.toml"), TIDY);
}

#[cfg(unix)]
#[test]
fn format_keeps_links_and_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new("format-link");
    let path = directory.write("real.toml", UNTIDY);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let link = directory.path("link.toml");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(keyway(&["format", &link]).status, 0);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(directory.read("real.toml"), TIDY);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn the_applications_are_formatted() {
    let apps = apps();
    let mut arguments = vec!["format", "--check"];
    arguments.extend(apps.iter().map(String::as_str));
    let ran = keyway(&arguments);
    assert_eq!((ran.status, ran.output.as_str()), (0, ""));
}

#[test]
fn new_prints_or_writes_and_never_overwrites() {
    let printed = keyway(&["new", "shop"]);
    assert_eq!(printed.status, 0);
    assert!(printed.output.contains("\nname  = \"shop\"\n"));
    let directory = Directory::new("new");
    let path = directory.path("keyspace.toml");
    let ran = keyway(&["new", "shop", "--output", &path]);
    assert_eq!(ran.status, 0);
    assert_eq!(ran.output, format!("{path} written; next: keyway check {path}\n"));
    assert_eq!(directory.read("keyspace.toml"), printed.output);
    let again = keyway(&["new", "other", "--output", &path]);
    assert_eq!(again.status, 2);
    assert!(again.complaint.contains("is there already"), "{}", again.complaint);
    assert_eq!(directory.read("keyspace.toml"), printed.output);
}

#[test]
fn new_refuses_names_and_suggests_one() {
    let ran = keyway(&["new", "My-Shop"]);
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("keyway new my_shop"), "{}", ran.complaint);
}

#[test]
fn why_lists_explains_and_suggests() {
    let list = keyway(&["why"]);
    assert_eq!(list.status, 0);
    assert!(list.output.starts_with("KW001  error    the file is not TOML\n"));
    let page = keyway(&["why", "KW103"]);
    assert_eq!(page.status, 0);
    assert!(page.output.contains("KW103: a group that grows without end"), "{}", page.output);
    assert_eq!(keyway(&["why", "kw103"]).output, page.output);
    let unknown = keyway(&["why", "KW106"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.complaint.contains("KW105"), "{}", unknown.complaint);
    assert!(keyway(&["why", "bar"]).complaint.contains("KW025"));
    assert_eq!(keyway(&["why", "é"]).status, 2);
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = keyway(&["completions", shell]);
        assert_eq!(ran.status, 0);
        assert!(ran.output.contains("explain"), "{shell}");
    }
    assert_eq!(keyway(&["completions", "tcsh"]).status, 2);
}

#[test]
fn every_command_has_help_with_an_example() {
    let help = keyway(&["--help"]).output;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert_eq!(commands.len(), 21, "{commands:?}");
    for command in commands {
        let ran = keyway(&[command, "--help"]);
        assert_eq!(ran.status, 0);
        assert!(ran.output.contains("Example"), "{command}");
        assert!(ran.output.contains(&format!("keyway {command}")), "{command}");
    }
}

#[test]
fn wrong_usage_is_status_two_and_names_the_fix() {
    for (arguments, words) in [
        (&["chek", "x"][..], "check"),
        (&["check"][..], "<FILE>"),
        (&["check", "x", "--store", "casandra"][..], "cassandra"),
        (&["format", "nowhere.toml"][..], "keyway new"),
        (&["format", "apps"][..], "keyspace.toml"),
        (&["--color", "sometimes", "why"][..], "never"),
        (&[][..], "keyway check"),
    ] {
        let ran = keyway(arguments);
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert!(ran.complaint.contains(words), "{arguments:?}: {}", ran.complaint);
        assert_eq!(ran.output, "", "{arguments:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let directory = Directory::new("bytes");
    std::fs::write(directory.path("bytes.toml"), b"a = '\xff'").unwrap();
    let path = directory.path("bytes.toml");
    for command in ["format", "layout", "explain", "doc"] {
        let ran = keyway(&[command, &path]);
        assert_eq!(ran.status, 1, "{command}");
        assert!(ran.complaint.contains("error[KW001]"), "{command}: {}", ran.complaint);
        assert!(ran.complaint.contains("bytes.toml:1:6"), "{command}: {}", ran.complaint);
        assert_eq!(ran.output, "", "{command}");
    }
    let ran = keyway(&["check", &path]);
    assert_eq!((ran.status, ran.complaint.as_str()), (1, ""));
    assert!(ran.output.contains("1 | a = '\u{fffd}'"), "{}", ran.output);
    for (command, problems) in [("check", 0), ("format", 1)] {
        let ran = keyway(&[command, &path, "--json"]);
        let text = [ran.output, ran.complaint][problems].clone();
        let object: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(object["problems"][0]["code"], "KW001", "{command}");
    }
}

#[test]
fn formatting_says_what_else_it_changed() {
    let directory = Directory::new("remarks");
    let sound = keyway(&["new", "shop"]).output;
    let path = directory.write("sound.toml", &format!("\n\n\n{sound}"));
    assert_eq!(keyway(&["format", &path]).output, format!("{path} formatted\n"));
    let windows = format!("\u{feff}{}", sound.replace('\n', "\r\n"));
    let path = directory.write("windows.toml", &windows);
    let ran = keyway(&["format", &path]);
    assert!(ran.output.contains("\n  line ends are LF now"), "{}", ran.output);
    assert!(ran.output.contains("\n  the byte order mark"), "{}", ran.output);
    assert_eq!(directory.read("windows.toml"), sound);
    let path = directory.write("unsound.toml", "[keyspace]\nname='shop'\nnmae = 1\n");
    let ran = keyway(&["format", &path]);
    assert_eq!(ran.status, 0);
    assert!(
        ran.output.contains(&format!("keyway check {path} reports 2 errors")),
        "{}",
        ran.output
    );
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let mut child = command(&["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
