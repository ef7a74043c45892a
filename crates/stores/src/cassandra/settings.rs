//! What the nodes are set to, asked of each: a setting holds for the node that has it.
//!
//! | setting | why we look at it | what counts |
//! |---|---|---|
//! | `paxos_variant` | some variants are not linearizable; `v1` is twice as slow | the worst |
//! | `commitlog_sync` | what an acknowledged commit survives where few nodes keep it | the least |
//!
//! A node that is down is not asked, and that is said. ScyllaDB shows no such settings: there
//! nothing is known, and that is said too.

use super::Options;
use super::client::{Client, Fault, rows_of};
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use futures_util::future::join_all;
use scylla::cluster::Node;
use scylla::policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy};
use scylla::statement::Statement;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::time::Instant;

const ASKED: &str = "SELECT name, value FROM system_views.settings \
                     WHERE name IN ('paxos_variant', 'commitlog_sync')";

/// What a cluster is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cluster {
    pub(super) durability: Durability,
    /// What people should know, in sentences.
    pub(super) remarks: Vec<String>,
}

/// What a node answers.
#[derive(Debug)]
struct Told {
    /// Its address.
    node: String,
    /// Its settings by their names, none if it does not show them; nothing if it did not answer.
    settings: Option<BTreeMap<String, String>>,
}

impl Told {
    fn setting(&self, name: &str) -> Option<&str> {
        self.settings.as_ref()?.get(name).map(String::as_str)
    }

    /// What a commit survives that it acknowledged, if it shows that.
    fn gives(&self) -> Option<Durability> {
        match self.setting("commitlog_sync")? {
            "batch" | "group" => Some(Durability::Power),
            _ => Some(Durability::Process),
        }
    }
}

/// Looks at the settings; refuses a cluster that cannot keep our promises, or not those asked for.
pub(super) async fn inspect(client: &Client, options: &Options, until: Instant) -> Result<Cluster> {
    let state = client.session.get_cluster_state();
    let told = join_all(state.get_nodes_info().iter().map(|node| ask(client, node, until))).await;
    judge(&told, options.durability)
}

async fn ask(client: &Client, node: &Arc<Node>, until: Instant) -> Told {
    let settings = match settings(client, node, until).await {
        Ok(settings) => Some(settings),
        Err(Fault::Refused(_)) => Some(BTreeMap::new()),
        Err(Fault::Unsent(_) | Fault::Lost(_)) => None,
    };
    Told { node: node.address.to_string(), settings }
}

/// The settings of one node: no other may answer for it.
async fn settings(
    client: &Client,
    node: &Arc<Node>,
    until: Instant,
) -> Result<BTreeMap<String, String>, Fault> {
    let mut statement = Statement::new(ASKED);
    let alone = SingleTargetLoadBalancingPolicy::new(NodeIdentifier::Node(node.clone()), None);
    statement.set_load_balancing_policy(Some(alone));
    let answer = client.run(statement, until).await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let each = |columns: &[Option<&[u8]>]| match columns {
        [Some(name), Some(value)] => Ok(Some((text(name), text(value)))),
        _ => Ok(None),
    };
    Ok(rows_of(answer, each).map_err(Fault::Refused)?.into_iter().flatten().collect())
}

/// What the nodes' settings come to, if a commit must survive so much.
fn judge(told: &[Told], wanted: Option<Durability>) -> Result<Cluster> {
    let (asked, silent): (Vec<&Told>, Vec<&Told>) =
        told.iter().partition(|told| told.settings.is_some());
    let mut remarks = judge_paxos(&asked)?;
    let that_give = |gives: Option<Durability>| -> Vec<&Told> {
        asked.iter().copied().filter(|told| told.gives() == gives).collect()
    };
    let (hidden, late) = (that_give(None), that_give(Some(Durability::Process)));
    if let (Some(wanted @ Durability::Power), Some(weakest)) = (wanted, late.first()) {
        return Err(Error::new(
            ErrorKind::Mismatch,
            "a node of this cluster keeps less than was asked for when it loses power: set \
             commitlog_sync: batch, or ask for less",
        )
        .with("node", &weakest.node)
        .with("durability", wanted)
        .with("it_gives", Durability::Process));
    }
    if !hidden.is_empty() || asked.is_empty() {
        let whose = at(&hidden, &asked);
        remarks.push(format!(
            "the cluster does not show its settings{whose}: what a commit survives where power \
             fails is not known"
        ));
    }
    if !late.is_empty() {
        let whose = at(&late, &asked);
        remarks.push(format!(
            "commitlog_sync is periodic{whose}: a commit is lost if all its copies lose power \
             within 10 seconds"
        ));
    }
    if let Some(first) = silent.first() {
        let nodes = and_others(first, silent.len());
        remarks.push(format!("{nodes} did not answer, and was not asked for its settings"));
    }
    // Of what is not shown people are taken at their word.
    let is_known = late.is_empty() && hidden.is_empty() && !asked.is_empty();
    let given = if is_known { Durability::Power } else { Durability::Process };
    Ok(Cluster { durability: wanted.unwrap_or(given), remarks })
}

/// Refuses variants that are not linearizable; what else is to be said of them.
fn judge_paxos(asked: &[&Told]) -> Result<Vec<String>> {
    let of = |told: &Told| told.setting("paxos_variant").unwrap_or_default().to_string();
    let wrong = asked.iter().find(|told| of(told).contains("without_linearizable"));
    if let Some(wrong) = wrong {
        return Err(Error::new(
            ErrorKind::Mismatch,
            "conditional writes of this cluster are not linearizable: set paxos_variant: v2",
        )
        .with("node", &wrong.node)
        .with("paxos_variant", of(wrong)));
    }
    let old: Vec<&Told> = asked.iter().copied().filter(|told| of(told) == "v1").collect();
    if old.is_empty() {
        return Ok(Vec::new());
    }
    let whose = at(&old, asked);
    Ok(vec![format!(
        "paxos_variant is v1{whose}: conditional writes take twice the round trips of v2"
    )])
}

/// At which nodes, where it is not all of them.
fn at(some: &[&Told], all: &[&Told]) -> String {
    match some.first() {
        Some(first) if some.len() < all.len() => format!(" at {}", and_others(first, some.len())),
        _ => String::new(),
    }
}

/// A node, and how many others there are.
fn and_others(first: &Told, count: usize) -> String {
    match count {
        0 | 1 => first.node.clone(),
        _ => format!("{} (and {} more)", first.node, count - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [&str; 2] = ["v2", "batch"];

    /// A node with its `paxos_variant` and `commitlog_sync`.
    fn node(number: usize, [variant, sync]: [&str; 2]) -> Told {
        let pairs = [("paxos_variant", variant), ("commitlog_sync", sync)];
        let settings = pairs.map(|(name, value)| (name.to_string(), value.to_string()));
        Told { node: format!("n{number}"), settings: Some(BTreeMap::from(settings)) }
    }

    fn hidden(number: usize) -> Told {
        Told { node: format!("n{number}"), settings: Some(BTreeMap::new()) }
    }

    fn silent(number: usize) -> Told {
        Told { node: format!("n{number}"), settings: None }
    }

    fn remarks(told: &[Told]) -> String {
        judge(told, None).unwrap().remarks.join("; ")
    }

    #[test]
    fn the_weakest_node_says_what_a_commit_survives() {
        let given = |told: &[Told], wanted| judge(told, wanted).map(|cluster| cluster.durability);
        let (power, process) = (Durability::Power, Durability::Process);
        for place in 0..3 {
            let sync = |number| if number == place { "periodic" } else { "group" };
            let told = [0, 1, 2].map(|number| node(number, ["v2", sync(number)]));
            assert_eq!(given(&told, None).unwrap(), process);
            assert_eq!(given(&told, Some(process)).unwrap(), process);
            let error = given(&told, Some(power)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            assert!(error.to_string().contains(&format!("n{place}")), "{error}");
            let told = remarks(&told);
            assert!(
                told.starts_with(&format!("commitlog_sync is periodic at n{place}: ")),
                "{told}"
            );
        }
        let good = [node(1, GOOD), node(2, ["v2", "group"])];
        assert_eq!(given(&good, None).unwrap(), power);
        assert_eq!(given(&good, Some(power)).unwrap(), power);
        // Who asks for less is told nothing that is not so.
        let less = judge(&good, Some(process)).unwrap();
        assert_eq!(less, Cluster { durability: process, remarks: Vec::new() });
    }

    #[test]
    fn no_node_may_have_a_paxos_that_is_not_linearizable() {
        for variant in
            ["v1_without_linearizable_reads_or_rejected_writes", "v2_without_linearizable_reads"]
        {
            for place in 0..3 {
                let of = |number| if number == place { variant } else { "v2" };
                let error =
                    judge(&[0, 1, 2].map(|number| node(number, [of(number), "batch"])), None);
                let error = error.unwrap_err().to_string();
                assert!(error.contains(variant) && error.contains(&format!("n{place}")), "{error}");
            }
        }
        let (old, new) = (|number| node(number, ["v1", "batch"]), node(4, GOOD));
        assert!(remarks(&[old(1), old(2)]).starts_with("paxos_variant is v1: "));
        let some = remarks(&[old(1), old(2), old(3), new]);
        assert!(some.starts_with("paxos_variant is v1 at n1 (and 2 more): "), "{some}");
    }

    #[test]
    fn what_a_node_does_not_say_is_said() {
        let told = "n2 did not answer, and was not asked for its settings";
        assert_eq!(remarks(&[node(1, GOOD), silent(2)]), told);
        assert_eq!(judge(&[node(1, GOOD), silent(2)], None).unwrap().durability, Durability::Power);
        let told = remarks(&[hidden(1), hidden(2)]);
        assert!(told.starts_with("the cluster does not show its settings: "), "{told}");
        let told = remarks(&[node(1, GOOD), hidden(2)]);
        assert!(told.starts_with("the cluster does not show its settings at n2: "), "{told}");
        for told in [[hidden(1), node(2, GOOD)], [silent(1), silent(2)], [hidden(1), hidden(2)]] {
            assert_eq!(judge(&told, None).unwrap().durability, Durability::Process);
            // People are taken at their word.
            let wanted = Some(Durability::Power);
            assert_eq!(judge(&told, wanted).unwrap().durability, Durability::Power);
        }
        let wanted = Some(Durability::Power);
        assert!(judge(&[hidden(1), node(2, ["v2", "periodic"])], wanted).is_err());
    }
}
