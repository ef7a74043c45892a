//! Every check of every state a row can be in. What must come of it is written out, never computed.

use self::Check::{Absent, OfFirst, OfNobody, OfRow, Present};
use self::State::{
    Dead, Deleted, EndedAnHourAgo, EndsInAMillisecond, EndsNow, Live, Nothing, Recreated, Rewritten,
};
use self::Wanted::{FindsNothing, FindsRow, Holds};
use super::cases;
use crate::store::{CommitId, Conflict, Expect, Found, Key, Row, Trail, Where, Write};
use crate::suite::Case;
use crate::suite::bench::{
    Bench, Checked, HOUR, add, add_until, check, delete, put, put_until, same, versioned,
};

/// What was done to a row before it is checked.
#[derive(Clone, Copy, Debug)]
enum State {
    Nothing,
    Live,
    EndsInAMillisecond,
    EndsNow,
    EndedAnHourAgo,
    Deleted,
    Rewritten,
    Recreated,
    Dead,
}

/// What is asked of it.
#[derive(Clone, Copy, Debug)]
enum Check {
    Absent,
    Present,
    /// The version the row has, or had when it was last there.
    OfRow,
    /// The version it had first.
    OfFirst,
    /// A version no row ever had.
    OfNobody,
    /// That nothing lies there.
    Bare,
    /// That what lies there has the row's version.
    LiesRow,
    /// That what lies there has a version no row ever had.
    LiesNobody,
}

/// What must come of it.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Holds,
    FindsNothing,
    FindsRow,
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = rows();
    all.extend(physical());
    all.extend(counters());
    all
}

fn rows() -> Vec<Case> {
    cases! {
        "P1" "check: absent, of nothing" => |b| row(b, Nothing, Absent, Holds);
        "P1" "check: absent, of a live row" => |b| row(b, Live, Absent, FindsRow);
        "P6" "check: absent, a millisecond before its end" =>
            |b| row(b, EndsInAMillisecond, Absent, FindsRow);
        "P6" "check: absent, at its end" => |b| row(b, EndsNow, Absent, Holds);
        "P6" "check: absent, after its end" => |b| row(b, EndedAnHourAgo, Absent, Holds);
        "P1" "check: absent, of a deleted row" => |b| row(b, Deleted, Absent, Holds);
        "P1" "check: absent, of a rewritten row" => |b| row(b, Rewritten, Absent, FindsRow);
        "P1" "check: absent, of a recreated row" => |b| row(b, Recreated, Absent, FindsRow);
        "P1" "check: absent, of a tombstone" => |b| row(b, Dead, Absent, Holds);
        "P1" "check: present, of nothing" => |b| row(b, Nothing, Present, FindsNothing);
        "P1" "check: present, of a live row" => |b| row(b, Live, Present, Holds);
        "P6" "check: present, a millisecond before its end" =>
            |b| row(b, EndsInAMillisecond, Present, Holds);
        "P6" "check: present, at its end" => |b| row(b, EndsNow, Present, FindsNothing);
        "P6" "check: present, after its end" => |b| row(b, EndedAnHourAgo, Present, FindsNothing);
        "P1" "check: present, of a deleted row" => |b| row(b, Deleted, Present, FindsNothing);
        "P1" "check: present, of a rewritten row" => |b| row(b, Rewritten, Present, Holds);
        "P1" "check: present, of a recreated row" => |b| row(b, Recreated, Present, Holds);
        "P1" "check: present, of a tombstone" => |b| row(b, Dead, Present, FindsNothing);
        "P1" "check: a version, of nothing" => |b| row(b, Nothing, OfNobody, FindsNothing);
        "P1" "check: its version, of a live row" => |b| row(b, Live, OfRow, Holds);
        "P1" "check: another version, of a live row" => |b| row(b, Live, OfNobody, FindsRow);
        "P6" "check: its version, a millisecond before its end" =>
            |b| row(b, EndsInAMillisecond, OfRow, Holds);
        "P6" "check: its version, at its end" => |b| row(b, EndsNow, OfRow, FindsNothing);
        "P6" "check: its version, after its end" => |b| row(b, EndedAnHourAgo, OfRow, FindsNothing);
        "P1" "check: its last version, of a deleted row" =>
            |b| row(b, Deleted, OfFirst, FindsNothing);
        "P1" "check: its version, of a rewritten row" => |b| row(b, Rewritten, OfRow, Holds);
        "P1" "check: its first version, of a rewritten row" =>
            |b| row(b, Rewritten, OfFirst, FindsRow);
        "P1" "check: its version, of a recreated row" => |b| row(b, Recreated, OfRow, Holds);
        "P1" "check: its first version, of a recreated row" =>
            |b| row(b, Recreated, OfFirst, FindsRow);
        "P1" "check: its version, of a tombstone" => |b| row(b, Dead, OfRow, FindsNothing);
    }
}

fn physical() -> Vec<Case> {
    use Check::{Bare, LiesNobody, LiesRow};
    cases! {
        "P1" "check: bare, of nothing" => |b| lies(b, Nothing, Bare, Holds);
        "P1" "check: bare, of a live row" => |b| lies(b, Live, Bare, FindsRow);
        "P1" "check: bare, of a deleted row" => |b| lies(b, Deleted, Bare, Holds);
        "P1" "check: bare, of a tombstone" => |b| lies(b, Dead, Bare, FindsRow);
        "P1" "check: what lies there, of nothing" => |b| lies(b, Nothing, LiesNobody, FindsNothing);
        "P1" "check: what lies there, of a live row" => |b| lies(b, Live, LiesRow, Holds);
        "P1" "check: what lies there, of another version" =>
            |b| lies(b, Live, LiesNobody, FindsRow);
        "P1" "check: what lies there, of a rewritten row" => |b| lies(b, Rewritten, LiesRow, Holds);
        "P1" "check: what lies there, of a deleted row" =>
            |b| lies(b, Deleted, LiesNobody, FindsNothing);
        "P1" "check: what lies there, of a tombstone" => |b| lies(b, Dead, LiesRow, Holds);
        "P1" "check: what lies there, of another tombstone" =>
            |b| lies(b, Dead, LiesNobody, FindsRow);
    }
}

fn counters() -> Vec<Case> {
    cases! {
        "P1" "check: absent, of no counter" => |b| counter(b, Nothing, Absent, Holds);
        "P1" "check: absent, of a counter" => |b| counter(b, Live, Absent, FindsRow);
        "P6" "check: absent, of an ended counter" => |b| counter(b, EndsNow, Absent, Holds);
        "P1" "check: present, of no counter" => |b| counter(b, Nothing, Present, FindsNothing);
        "P1" "check: present, of a counter" => |b| counter(b, Live, Present, Holds);
        "P6" "check: present, of an ended counter" =>
            |b| counter(b, EndsNow, Present, FindsNothing);
        "P1" "check: a version, of a counter" => |b| counter(b, Live, OfNobody, FindsRow);
    }
}

/// Brings a row into a state; answers its first version and the one it has, or had last.
async fn arrange(bench: &Bench, state: State) -> Checked<(Key, CommitId, CommitId)> {
    let (note, lease) = (bench.key("notes", "row")?, bench.key("leases", "row")?);
    let put_lease = |end| vec![put_until(&lease, "first", Some(end))];
    Ok(match state {
        Nothing => (note, bench.id(), bench.id()),
        Live => {
            let id = bench.write(vec![put(&note, "first")]).await?;
            (note, id, id)
        }
        EndsInAMillisecond | EndsNow | EndedAnHourAgo => {
            let end = match state {
                EndsInAMillisecond => bench.now + 1,
                EndsNow => bench.now,
                _ => bench.now - HOUR,
            };
            // Written while it was still there, two hours ago.
            let batch = bench.batch_at(bench.now - 2 * HOUR, Vec::new(), put_lease(end));
            bench.committed(&batch).await?;
            (lease, batch.id, batch.id)
        }
        Deleted => {
            let id = bench.write(vec![put(&note, "first")]).await?;
            bench.write(vec![delete(&note)]).await?;
            (note, id, id)
        }
        Rewritten => {
            let first = bench.write(vec![put(&note, "first")]).await?;
            let second = bench.write(vec![put(&note, "second")]).await?;
            (note, first, second)
        }
        Recreated => {
            let first = bench.write(vec![put(&note, "first")]).await?;
            bench.write(vec![delete(&note)]).await?;
            let second = bench.write(vec![put(&note, "first")]).await?;
            (note, first, second)
        }
        Dead => {
            bench.with_trails()?;
            let id = bench.write(vec![tombstone(&note)]).await?;
            (note, id, id)
        }
    })
}

fn tombstone(key: &Key) -> Write {
    let trail = Some(Box::new(Trail { dead: true, ..Trail::default() }));
    let value = bytes::Bytes::new();
    Write::Put { key: key.clone(), value, expires: None, versioned: true, trail }
}

async fn lies(bench: &Bench, state: State, asked: Check, wanted: Wanted) -> Checked {
    bench.with_trails()?;
    row(bench, state, asked, wanted).await
}

async fn row(bench: &Bench, state: State, asked: Check, wanted: Wanted) -> Checked {
    let (key, first, last) = arrange(bench, state).await?;
    let expect = match asked {
        Absent => Expect::Absent,
        Present => Expect::Present,
        OfRow => Expect::Version(last),
        OfFirst => Expect::Version(first),
        OfNobody => Expect::Version(bench.id()),
        Check::Bare => Expect::Physical(None),
        Check::LiesRow => Expect::Physical(Some(last)),
        Check::LiesNobody => Expect::Physical(Some(bench.id())),
    };
    try_it(bench, &key, expect, wanted, Some(last)).await
}

async fn counter(bench: &Bench, state: State, asked: Check, wanted: Wanted) -> Checked {
    let mut key = bench.key("counts", "count")?;
    match state {
        Live => {
            bench.write(vec![add(&key, 1)]).await?;
        }
        EndsNow => {
            key = bench.key("hours", "count")?;
            let writes = vec![add_until(&key, 1, Some(bench.now))];
            bench.committed(&bench.batch_at(bench.now - HOUR, Vec::new(), writes)).await?;
        }
        _ => {}
    }
    let expect = match asked {
        Absent => Expect::Absent,
        Present => Expect::Present,
        _ => Expect::Version(bench.id()),
    };
    try_it(bench, &key, expect, wanted, None).await
}

/// Sends a batch with the check and a write beside it, and looks at both.
async fn try_it(
    bench: &Bench,
    key: &Key,
    expect: Expect,
    wanted: Wanted,
    version: Option<CommitId>,
) -> Checked {
    let witness = bench.key("notes", "witness")?;
    let before: Option<Row> = bench.unended(key).await?;
    let batch = bench.batch(vec![check(key, expect)], vec![put(&witness, "there")]);
    let at = Where::Check(0);
    match wanted {
        Holds => {
            same("totals", bench.committed(&batch).await?, Vec::new())?;
            bench.expect_row("the write", &witness, versioned("there", batch.id)).await?;
        }
        FindsNothing | FindsRow => {
            let found = match wanted {
                FindsRow => Found::Row(version),
                _ => Found::Absent,
            };
            same("the conflict", bench.conflict(&batch).await?, Conflict { at, found })?;
            bench.expect_row("the write of a conflict", &witness, None).await?;
        }
    }
    same("the checked row afterwards", bench.unended(key).await?, before)
}
