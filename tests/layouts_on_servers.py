#!/usr/bin/env python3
"""Feeds every printed table layout to the real thing.

    tests/layouts_on_servers.py                                    SQLite, in memory
    tests/layouts_on_servers.py --postgres="-h 127.0.0.1 -U me"    also psql with these arguments
    tests/layouts_on_servers.py --cassandra="127.0.0.1 9042"       also cqlsh with these arguments

The layouts are the golden files of crates/keyspace/tests/layouts.rs. Every script is run twice,
since it must be repeatable. On the servers each keyspace is dropped first: use throw-away ones.
"""
import argparse
import pathlib
import re
import sqlite3
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).parent.parent / "crates/keyspace/tests/golden/layout"


def on_sqlite(name, text):
    database = sqlite3.connect(":memory:")
    database.executescript(text + text)
    return orders_without_sorting(database)


def orders_without_sorting(database):
    """Each table must give its own key order, directions included, without a sort."""
    tables = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
    for table, statement in tables.fetchall():
        key = re.search(r"PRIMARY KEY \((.*)\)\n", statement).group(1)
        query = f'EXPLAIN QUERY PLAN SELECT * FROM "{table}" ORDER BY {key}'
        if any("TEMP B-TREE" in step[3] for step in database.execute(query)):
            return f"{table} sorts by {key}"
    return None


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    # cqlsh goes on after an error and still answers 0.
    bad = [line for line in done.stderr.splitlines() if "arning" not in line and line.strip()]
    return "\n".join(bad[:5]) if done.returncode or bad else None


def on_postgres(arguments, name, text):
    drop = f'SET client_min_messages = error;\nDROP SCHEMA IF EXISTS "{name}" CASCADE;\n'
    return run(["psql", "-q", "-v", "ON_ERROR_STOP=1", *arguments.split()], drop + text + text)


def on_cassandra(arguments, name, text):
    begin = f"""DROP KEYSPACE IF EXISTS "{name}";
        CREATE KEYSPACE "{name}" WITH replication =
            {{'class': 'SimpleStrategy', 'replication_factor': 1}};
        USE "{name}";\n"""
    return run(["cqlsh", *arguments.split()], begin + text + text)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--postgres", metavar="ARGUMENTS")
    options.add_argument("--cassandra", metavar="ARGUMENTS")
    given = options.parse_args()
    stores = {"sqlite": on_sqlite}
    if given.postgres is not None:
        stores["postgres"] = lambda *script: on_postgres(given.postgres, *script)
    if given.cassandra is not None:
        stores["cassandra"] = lambda *script: on_cassandra(given.cassandra, *script)
    failures = 0
    for folder in sorted(path for path in GOLDEN.iterdir() if path.is_dir()):
        for store, feed in stores.items():
            text = (folder / f"{store}.txt").read_text()
            schema = re.search(r"CREATE SCHEMA IF NOT EXISTS \"?(\w+)", text)
            name = schema.group(1) if schema else "layout_" + folder.name
            try:
                problem = feed(name, text)
            except (sqlite3.Error, OSError) as error:
                problem = str(error)
            tables = text.count("CREATE TABLE")
            print(f"{folder.name:10} {store:10} {tables:3} tables  {problem or 'ok'}")
            failures += problem is not None
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
