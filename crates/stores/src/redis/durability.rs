//! What an acknowledged commit survives, by the settings of a server's log.
//!
//! | `appendonly` | `appendfsync` | the server is killed | the power is cut |
//! |---|---|---|---|
//! | `no` | | takes everything | takes everything |
//! | `yes` | `no` | takes nothing | up to half a minute |
//! | `yes` | `everysec` | up to two seconds, while a sync takes long | up to two seconds |
//! | `yes` | `always` | takes nothing | nothing; half a minute while a log is written anew |
//!
//! The last cell's second half is `no-appendfsync-on-rewrite yes`. More is never promised than the
//! settings give; what may be lost all the same is said in a remark.

use data::store::Durability;
use data::{Error, ErrorKind, Result};

/// What a server keeps that writes no log, where nothing was asked for.
const KEEPS_NOTHING: &str = "the server writes no log of its commits (`appendonly no`): when it \
                             ends, acknowledged ones may be lost. Set `appendonly yes`, or say \
                             `durability=none` in the URL";

/// What a server keeps that writes its log to the disk once a second: it holds back what it would
/// write while a sync is under way, and answers all the same.
const SYNCS_EACH_SECOND: &str = "the server writes its log to the disk once a second \
                                 (`appendfsync everysec`): a power cut may take the commits of the \
                                 last two seconds, and so may a kill while the disk is slow. Set \
                                 `appendfsync always`, or `appendfsync no` where only the end of \
                                 the server matters";

/// What a server keeps that leaves its log to the operating system.
const SYNCS_LATE: &str = "the server leaves it to the operating system when its log is on the disk \
                          (`appendfsync no`): a power cut may take the commits of up to half a \
                          minute. Set `appendfsync always`, or say `durability=process` in the URL";

/// What a server keeps that does not wait for its disk all the time.
const RESTS: &str = "the server does not wait for its disk while it writes its log anew \
                     (`no-appendfsync-on-rewrite yes`): a power cut may then take the commits of \
                     up to half a minute. Set `no-appendfsync-on-rewrite no`, or say \
                     `durability=process` in the URL";

/// What is known of a server that writes a log and hides its settings.
const SYNCS_UNKNOWN: &str = "the server does not show its settings: whether a commit survives a \
                             power cut is not known";

/// What is known of a server that tells nothing.
const UNKNOWN: &str = "the server does not show its settings: what a commit survives is not known";

/// The settings of a server's log, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// `appendonly`
    pub(super) appends: Option<String>,
    /// `appendfsync`
    pub(super) syncs: Option<String>,
    /// `no-appendfsync-on-rewrite`; servers that do not know it always sync.
    pub(super) rests: Option<String>,
}

impl Log {
    /// What a commit survives; refused if that is less than was asked for. What the server does not
    /// show cannot be checked: there the caller is taken at their word.
    pub(super) fn durability(
        &self,
        wanted: Option<Durability>,
        remarks: &mut Vec<String>,
    ) -> Result<Durability> {
        let given = match (self.appends.as_deref(), self.syncs.as_deref()) {
            (Some("yes"), Some("always")) if self.is_resting() => Durability::Process,
            (Some("yes"), Some("always")) => Durability::Power,
            (Some("yes"), Some(_)) => Durability::Process,
            (Some("yes"), None) => {
                remarks.push(SYNCS_UNKNOWN.to_string());
                return Ok(wanted.unwrap_or(Durability::Process));
            }
            (Some(_), _) => Durability::None,
            (None, _) => {
                remarks.push(UNKNOWN.to_string());
                return Ok(wanted.unwrap_or(Durability::None));
            }
        };
        // What was asked for is what is promised.
        let promised = wanted.unwrap_or(given);
        if given < promised {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "the Redis server keeps less than was asked for: change its settings, or ask for \
                 less",
            )
            .with("durability", promised)
            .with("it_gives", given)
            .with("set", self.lacks(promised)));
        }
        self.remark(given, wanted, remarks);
        Ok(promised)
    }

    fn is_resting(&self) -> bool {
        self.rests.as_deref() == Some("yes")
    }

    /// The settings that would give what was asked for.
    fn lacks(&self, wanted: Durability) -> String {
        let is_power = wanted == Durability::Power;
        let settings = [
            ("appendonly yes", self.appends.as_deref() != Some("yes")),
            ("appendfsync always", is_power && self.syncs.as_deref() != Some("always")),
            ("no-appendfsync-on-rewrite no", is_power && self.is_resting()),
        ];
        let lacking: Vec<&str> =
            settings.into_iter().filter(|(_, lacks)| *lacks).map(|(set, _)| set).collect();
        lacking.join(" and ")
    }

    /// Says what may be lost. Whoever has named what is enough is told only of what takes of that:
    /// a server that is killed may keep less than `process` sounds like.
    fn remark(&self, given: Durability, wanted: Option<Durability>, remarks: &mut Vec<String>) {
        let syncs = self.syncs.as_deref();
        let mut add = |remark: &str| remarks.push(remark.to_string());
        match (given, wanted) {
            (Durability::Process, None | Some(Durability::Process))
                if syncs == Some("everysec") =>
            {
                add(SYNCS_EACH_SECOND);
            }
            (Durability::Process, None) if syncs != Some("always") => add(SYNCS_LATE),
            (Durability::None, None) => add(KEEPS_NOTHING),
            _ => {}
        }
        let is_synced = matches!(syncs, Some("always" | "everysec"));
        if given == Durability::Process && wanted.is_none() && is_synced && self.is_resting() {
            add(RESTS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(appends: &str, syncs: &str, rests: &str) -> Log {
        let known = |word: &str| Some(word.to_string()).filter(|word| !word.is_empty());
        Log { appends: known(appends), syncs: known(syncs), rests: known(rests) }
    }

    /// What is promised, and what is said about it.
    fn told(log: &Log, wanted: Option<Durability>) -> (Durability, String) {
        let mut remarks = Vec::new();
        (log.durability(wanted, &mut remarks).unwrap(), remarks.join("\n"))
    }

    #[test]
    fn what_is_promised_is_what_the_settings_give() {
        use Durability::{None as Nothing, Power, Process};
        let both = [SYNCS_EACH_SECOND, RESTS].join("\n");
        for (settings, given, remark) in [
            (("yes", "always", "no"), Power, ""),
            // Servers that do not know the setting.
            (("yes", "always", ""), Power, ""),
            (("yes", "always", "yes"), Process, RESTS),
            (("yes", "everysec", "no"), Process, SYNCS_EACH_SECOND),
            (("yes", "everysec", "yes"), Process, &both),
            (("yes", "no", "no"), Process, SYNCS_LATE),
            (("yes", "no", "yes"), Process, SYNCS_LATE),
            (("no", "everysec", "yes"), Nothing, KEEPS_NOTHING),
            (("no", "", ""), Nothing, KEEPS_NOTHING),
        ] {
            let log = log(settings.0, settings.1, settings.2);
            assert_eq!(told(&log, None), (given, remark.to_string()), "{settings:?}");
        }
        let always = log("yes", "always", "no");
        assert_eq!(told(&always, Some(Nothing)), (Nothing, String::new()));
    }

    #[test]
    fn whoever_says_what_is_enough_is_told_what_takes_of_that() {
        use Durability::{None as Nothing, Process};
        for (syncs, rests, remark) in
            [("everysec", "no", SYNCS_EACH_SECOND), ("no", "no", ""), ("always", "yes", "")]
        {
            let log = log("yes", syncs, rests);
            assert_eq!(told(&log, Some(Process)), (Process, remark.to_string()), "{syncs}");
            assert_eq!(told(&log, Some(Nothing)), (Nothing, String::new()), "{syncs}");
        }
    }

    #[test]
    fn what_is_lacking_is_named() {
        use Durability::{Power, Process};
        for (settings, wanted, set) in [
            (("yes", "everysec", "no"), Power, "appendfsync always"),
            (("yes", "always", "yes"), Power, "no-appendfsync-on-rewrite no"),
            (("yes", "no", "yes"), Power, "appendfsync always and no-appendfsync-on-rewrite no"),
            (("no", "everysec", "no"), Power, "appendonly yes and appendfsync always"),
            (("no", "always", "yes"), Process, "appendonly yes"),
        ] {
            let log = log(settings.0, settings.1, settings.2);
            let error = log.durability(Some(wanted), &mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            assert_eq!(log.lacks(wanted), set, "{settings:?}");
            assert!(error.to_string().contains(set), "{error}");
        }
    }

    #[test]
    fn settings_that_are_not_shown_are_remarked_upon() {
        use Durability::{None as Nothing, Power, Process};
        let hidden = log("", "", "");
        assert_eq!(told(&hidden, None), (Nothing, UNKNOWN.to_string()));
        assert_eq!(told(&hidden, Some(Power)), (Power, UNKNOWN.to_string()));
        let half = log("yes", "", "");
        assert_eq!(told(&half, None), (Process, SYNCS_UNKNOWN.to_string()));
        assert_eq!(told(&half, Some(Power)), (Power, SYNCS_UNKNOWN.to_string()));
    }
}
