//! How Cassandra is run: which Java, which jars, and what they are told on the command line.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What Java 17 must show Cassandra of itself.
const EXPORTS: &str = "java.base/jdk.internal.misc java.base/jdk.internal.ref java.base/sun.nio.ch \
java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry \
java.rmi/sun.rmi.server java.rmi/sun.rmi.transport.tcp java.sql/java.sql jdk.unsupported/sun.misc";
/// And what it must let it reach into.
const OPENS: &str = "java.base/java.io java.base/java.lang java.base/java.lang.module \
java.base/java.lang.reflect java.base/java.math java.base/java.net java.base/java.nio \
java.base/java.nio.charset java.base/java.nio.file.spi java.base/java.util \
java.base/java.util.concurrent java.base/java.util.concurrent.atomic \
java.base/java.util.concurrent.locks java.base/jdk.internal.loader java.base/jdk.internal.math \
java.base/jdk.internal.module java.base/jdk.internal.ref java.base/jdk.internal.reflect \
java.base/jdk.internal.util.jar java.base/sun.nio.ch \
jdk.management/com.sun.management.internal jdk.management.jfr/jdk.management.jfr";

/// The Java and the folder of jars that run it.
pub(super) fn program() -> &'static (String, String) {
    static PROGRAM: OnceLock<(String, String)> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/cassandra");
        let brought = Command::new(script).stderr(Stdio::inherit()).output();
        let brought = brought.unwrap_or_else(|error| panic!("`{script}` cannot be run: {error}"));
        assert!(brought.status.success(), "`{script}` failed: run ./scripts/servers");
        let said = String::from_utf8_lossy(&brought.stdout).into_owned();
        let (java, jars) = said.trim().split_once('\n').expect("it prints two lines");
        (java.to_string(), jars.to_string())
    })
}

/// What Java is told to run a node whose files are in this folder.
pub(super) fn arguments(folder: &Path, jars: &str) -> Vec<String> {
    let show = |option: &'static str, packages: &'static str| {
        let each = packages.split_whitespace();
        each.map(move |package| format!("{option}={package}=ALL-UNNAMED"))
    };
    let folder = folder.display();
    let fixed = "-Xms512m -Xmx512m -Xss512k -XX:+UseSerialGC -Djava.net.preferIPv4Stack=true \
        -Djdk.attach.allowAttachSelf=true -Dcassandra-foreground=yes \
        -Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.ring_delay_ms=1000";
    let mut arguments: Vec<String> = fixed.split_whitespace().map(str::to_string).collect();
    arguments.extend(show("--add-exports", EXPORTS));
    arguments.extend(show("--add-opens", OPENS));
    arguments.extend([
        format!("-Dcassandra.config=file://{folder}/cassandra.yaml"),
        format!("-Dlogback.configurationFile={folder}/logback.xml"),
        format!("-Dcassandra.storagedir={folder}"),
        format!("-Dcassandra.logdir={folder}/logs"),
        "-cp".to_string(),
        format!("{folder}:{jars}/*"),
        "org.apache.cassandra.service.CassandraDaemon".to_string(),
    ]);
    arguments
}
