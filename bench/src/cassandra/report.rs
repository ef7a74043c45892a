//! The words of the report.

pub const HEAD: &str = "\
# The chat on Cassandra, beside the driver by hand

`cargo run --release -p bench --bin cassandra` makes this report. It starts one node of its own
(Cassandra 5.0, `commitlog_sync: batch`, on the machine of its callers); both contenders have a
keyspace on it, with the same tables, and use the same driver with prepared statements at
LOCAL_QUORUM. They answer the same and write the same before they are measured, and have both worked
for a while on everything that is. Both have four clients, each with connections of its own, among
whom sixteen callers are shared out; one caller has the first of them. All of it is measured twice:
with the server on processors of its own, and with all processors shared.

- **Keyway**: typed calls of the chat's keyspace. Who may make a call is asked, a message gets its
  id and its time slice, the slice is in the directory, a page says whether more follow.
- **by hand**: statements written for these three questions alone, with the same time slices and
  directory, the same timestamps, and one message more read to know whether more follow.

Both make a struct of each message, with its ids and its text, and have the allocator of the program
`keyway`. Calls a second; the ratio is the median over rounds in which both took turns, with its
quartiles. Processor time is that of the client and of the server, in µs a call.
";

pub const APART: &str = "
## The server has processors of its own

As if it were on a machine of its own. Where that is a single processor, sixteen callers keep it
busy and leave their own idle: what they do besides costs nothing then, so such lines say little.
";

pub const SHARED: &str = "
## The server and its callers share the processors

Whatever a client does is taken from the server too.
";

pub const LINES_HEAD: &str = "
| what | Keyway | by hand | ratio | quartiles | target |
|---|---|---|---|---|---|
";

pub const SPENT_HEAD: &str = "
| processor time | Keyway | by hand | its server | by hand's server |
|---|---|---|---|---|
";

pub const SIZES_HEAD: &str = "
## A page of a growing channel

What the newest page of 50 costs, as a multiple of what it costs in the first channel. The channels
are asked in turns, in an order that changes, and only once all of them are filled.

| messages in the channel | slices in its directory | a page |
|---|---|---|
";

pub const WHY: &str = "
The messages of all lines but the last are really there, in the slice of today, since they were
written today. A channel of 10 M messages grows over years: its messages lie in slices of five days,
of which a page reads the newest, and what grows with the channel is the directory of slices. That
is simulated: the last line has a directory as long as 10 M messages would make it.

## Where lines are lost

Both contenders send one request for a message, a LOGGED BATCH for a join and two requests for a
page, counted at the server for pages; once Keyway has asked a channel's directory it sends these
two at once, so that one caller waits once. What a call costs Keyway's side more stands above. It
finds out which partition and which statement a key or a range is, it makes the key of each row and
holds it against the range, it judges who may call, and it answers the message that it wrote. Where
the processors are shared, many callers feel that twice: the server has less of them, and the same
requests cost it more time than where it has its own, presumably as both push each other out of the
caches.
";
