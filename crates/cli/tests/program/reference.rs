//! `keyway reference`: the pages of `docs/reference`, their list, and topics that are none.

use crate::{keyway, root};
use std::fs;

const TOPICS: [&str; 7] =
    ["keyspace", "templates", "patterns", "expressions", "stores", "commands", "key-encoding"];

#[test]
fn every_page_of_the_reference_is_printed() {
    for entry in fs::read_dir(root().join("docs/reference")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let topic = name.strip_suffix(".md").unwrap();
        assert!(TOPICS.contains(&topic), "{topic}");
        let page = fs::read_to_string(root().join("docs/reference").join(&name)).unwrap();
        let ran = keyway(&["reference", topic]);
        assert_eq!((ran.status, ran.output), (0, page.clone()), "{topic}");
        let ran = keyway(&["reference", topic, "--json"]);
        let object: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
        assert_eq!(object["topic"], topic);
        assert_eq!(object["page"], page.as_str());
        assert!(page.starts_with(&format!("# {}\n", object["title"].as_str().unwrap())));
    }
}

#[test]
fn the_list_has_a_line_for_each_and_says_where_to_begin() {
    let ran = keyway(&["reference"]);
    assert_eq!(ran.status, 0);
    let lines: Vec<&str> = ran.output.lines().collect();
    for (line, topic) in lines.iter().zip(TOPICS) {
        assert!(line.starts_with(topic), "{line}");
        assert!(line.len() > 30 && line.chars().count() <= 110, "{line}");
    }
    assert!(lines.last().unwrap().contains("keyway reference keyspace"), "{}", ran.output);
    let ran = keyway(&["reference", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
    let topics = object["topics"].as_array().unwrap();
    assert_eq!(topics.iter().map(|one| &one["topic"]).collect::<Vec<_>>(), TOPICS);
}

#[test]
fn an_unknown_topic_is_answered_with_the_list_and_the_nearest() {
    let ran = keyway(&["reference", "patern"]);
    assert_eq!((ran.status, ran.output.as_str()), (2, ""));
    assert!(ran.complaint.contains("did you mean `patterns`?"), "{}", ran.complaint);
    for topic in TOPICS {
        assert!(ran.complaint.contains(&format!("\n  {topic} ")), "{}", ran.complaint);
    }
    assert!(!keyway(&["reference", "xyz"]).complaint.contains("did you mean"));
    assert!(keyway(&["help"]).output.contains("keyway reference"));
}
