//! A server that follows another, and takes over from it.
//!
//! ```text
//! primary ─copy of its folder─▶ standby ◀─every commit waits for it─ primary     promote: writes
//! ```

use super::{Postgres, START_WITHIN, fail};
use std::path::Path;
use std::time::{Duration, Instant};

impl Postgres {
    /// A new server that follows this one. From now on a commit here is answered once it is there
    /// too.
    pub fn follow(&self) -> Postgres {
        let standby = Postgres::in_new_folder(self.settings.clone());
        let mut copy = standby.command(Path::new("pg_basebackup"));
        copy.arg("-D").arg(standby.data());
        copy.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "keyway"]);
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]);
        let output = copy.output().unwrap_or_else(|error| fail("run pg_basebackup", &error));
        if !output.status.success() {
            fail("copy its folder", &String::from_utf8_lossy(&output.stderr));
        }
        standby.run();
        let waits = "ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()";
        self.psql("postgres", waits);
        let followed = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        let end = Instant::now() + START_WITHIN;
        while self.psql("postgres", followed) != "1\n" {
            if Instant::now() > end {
                fail("be followed", &"no standby is waited for");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        standby
    }

    /// Makes a standby a server that writes, once it has done what it was sent.
    pub fn promote(&self) {
        if self.psql("postgres", "SELECT pg_promote()") != "t\n" {
            fail("take over", &"it goes on as a standby");
        }
    }
}
