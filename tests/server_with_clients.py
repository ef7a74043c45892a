#!/usr/bin/env python3
"""Drives the built server with clients and checkers of other makers.

    "$(./scripts/python-tools)" tests/server_with_clients.py target/debug/keyway
    … tests/server_with_clients.py target/debug/keyway contract        only what is named

documents   every application's OpenAPI document is one, by openapi-spec-validator
contract    the server does what its document says, by schemathesis: chat and scaffold
tools       the scaffold end to end through the official client of the Model Context Protocol, over
            HTTP, with both lifecycles of the protocol, and over standard input

Everything runs on loopback and in memory, or below a folder that is removed again.
"""
import asyncio
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import httpx2
import openapi_spec_validator
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

ROOT = pathlib.Path(__file__).parent.parent
APPS = ["chat", "documents", "keri", "scaffold", "spreadapi"]
ANN = "11111111-1111-4111-8111-111111111111"


def file_of(app):
    return str(ROOT / "apps" / app / "keyspace.toml")


@contextlib.contextmanager
def serving(keyway, app, *options):
    """A server of an application on a free port; its address."""
    command = [keyway, "serve", file_of(app), "--listen", "127.0.0.1:0", *options]
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            for line in server.stdout:
                found = re.search(r"listening on (http://\S+)", line)
                if found:
                    break
            else:
                log.seek(0)
                raise SystemExit(f"{app}: the server did not start:\n{log.read()}")
            yield found.group(1)
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()


def trusting(keyway, app):
    return serving(keyway, app, "--store", "memory:", "--trust-callers")


def book(folder):
    """Where tokens are kept."""
    return ["--access", f"sqlite:{folder / 'access.sqlite'}", "--pepper", str(folder / "pepper")]


def token(keyway, app, folder, *options):
    """A new token."""
    command = [keyway, "token", "create", file_of(app), *book(folder), "--json", *options]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)["token"]


def same(found, wanted, what):
    assert found == wanted, f"{what}: {found!r} instead of {wanted!r}"


# ── documents ────────────────────────────────────────────────────────────────────────────────


def documents(keyway):
    for app in APPS:
        printed = subprocess.run(
            [keyway, "generate", "openapi", file_of(app)], capture_output=True, text=True
        )
        assert printed.returncode == 0, printed.stderr
        openapi_spec_validator.validate(json.loads(printed.stdout))
    with trusting(keyway, "chat") as address:
        served = httpx2.get(f"{address}/openapi.json")
        same(served.headers["content-type"], "application/json", "the document's type")
        openapi_spec_validator.validate(served.json())
    print(f"documents: {len(APPS)} are OpenAPI 3.1")


# ── contract ─────────────────────────────────────────────────────────────────────────────────

# A cursor is sealed by the server, so a made-up one is refused whatever it looks like, and a watched
# read never ends: neither can be given by whoever only knows the document.
NOT_MADE_UP = {"cursor", "watch"}

# A state that a request meets is not a mistake of the request: no row, a row that is there, another
# version, a key that was used before, a full window. Only 400 would say that valid data is refused.
STATES = ["2xx", "304", "403", "404", "409", "412", "422", "429"]

CONFIGURATION = f"""
seed = 7
[checks.positive_data_acceptance]
expected-statuses = {json.dumps(STATES)}
[phases.stateful]
enabled = false
"""


def checked_document(address, folder):
    document = httpx2.get(f"{address}/openapi.json").json()
    for path in document["paths"].values():
        for operation in path.values():
            parameters = operation.get("parameters", [])
            kept = [one for one in parameters if one["name"] not in NOT_MADE_UP]
            operation["parameters"] = kept
    place = folder / "openapi.json"
    place.write_text(json.dumps(document))
    return place


def schemathesis(address, folder, headers, *options):
    settings = folder / "schemathesis.toml"
    settings.write_text(CONFIGURATION)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(settings), "run"]
    command += [str(checked_document(address, folder)), "--url", address, "--no-color"]
    command += ["--request-timeout", "10", "--suppress-health-check", "all", *options]
    for name, value in headers.items():
        command += ["--header", f"{name}: {value}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return int(re.search(r"(\d+) generated", done.stdout).group(1))


def strangers_are_refused(address):
    """Without a token, every operation that asks for one answers 401."""
    document = httpx2.get(f"{address}/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if {} not in (operation["security"] or [{}]):
                body = {"json": {}} if method == "post" else {}
                answer = httpx2.request(method, address + path, **body)
                same(answer.status_code, 401, f"{method} {path} without a token")


def contract(keyway):
    for app, roles, probed in [
        ("chat", ["login"], ["send_message", "read_messages", "create_guild"]),
        ("scaffold", ["admin"], ["save_note", "list_notes", "put_config"]),
    ]:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            given = [word for role in roles for word in ("--role", role)]
            shown = token(keyway, app, folder, "--as", ANN, *given)
            header = {"Authorization": f"Bearer {shown}"}
            options = ["--store", "memory:", "--rate", "0", *book(folder)]
            with serving(keyway, app, *options) as address:
                strangers_are_refused(address)
                # Wrong tokens are limited by address, so this check looks at a few operations only.
                only = [word for one in probed for word in ("--include-operation-id", one)]
                schemathesis(address, folder, header, "--checks", "ignored_auth", *only)
                options = ["--exclude-checks", "ignored_auth", "--max-examples", "25"]
                count = schemathesis(address, folder, header, *options)
        print(f"contract: {app} does what its document says, in {count} cases")


# ── tools ────────────────────────────────────────────────────────────────────────────────────


@contextlib.asynccontextmanager
async def over_http(address, headers, mode="auto"):
    async with httpx2.AsyncClient(headers=headers) as web:
        transport = streamable_http_client(f"{address}/mcp", http_client=web)
        async with Client(transport, mode=mode) as client:
            yield client


@contextlib.asynccontextmanager
async def over_stdio(keyway, store, *options, mode="auto"):
    arguments = ["mcp", file_of("scaffold"), "--store", store, *options]
    server = StdioServerParameters(command=keyway, args=arguments)
    async with Client(stdio_client(server), mode=mode) as client:
        yield client


async def call(client, name, /, **arguments):
    """What a tool answers; the client holds it against the tool's output schema."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, f"{name}: {result.content}"
    return result.structured_content


async def refused(client, name, /, *words, **arguments):
    """A refusal is a result that a model can read, never an error of the protocol."""
    result = await client.call_tool(name, arguments)
    text = result.content[0].text
    assert result.is_error, f"{name} answered {text}"
    for word in words:
        assert word in text, f"{name}: no {word!r} in {text!r}"


async def notes(ann, bob):
    saved = await call(ann, "save_note", title="Milk", content="two bottles")
    note = saved["row"]["note_id"]
    listed = await call(ann, "list_notes")
    same([row["note_id"] for row in listed["rows"]], [note], "Ann's notes")
    same((await call(bob, "list_notes"))["rows"], [], "Bob's notes")
    missing = await bob.call_tool("get_note", {"note_id": note})
    same(missing.is_error, False, "a row that is not there")
    same(missing.structured_content, {"row": None, "version": None}, "another's note")
    same(missing.content[0].text, "There is no such row.", "what a model reads")
    await refused(bob, "edit_note", "not there", note_id=note, title="mine")


async def posts(ann, bob):
    await call(ann, "create_post", content="one", tags=["x", "y"])
    await call(bob, "create_post", content="two", tags=["x"])
    recent = await call(ann, "recent_posts")
    same([row["content"] for row in recent["rows"]], ["two", "one"], "the newest posts")
    page = await call(ann, "posts_by_tag", tags="x", limit=1)
    rest = await call(ann, "posts_by_tag", tags="x", cursor=page["next"])
    same([row["content"] for row in page["rows"] + rest["rows"]], ["two", "one"], "posts with x")
    await refused(bob, "posts_by_tag", "cursor", tags="x", cursor=page["next"])


async def places(ann):
    near = await call(ann, "save_location", name="Central", lat=59.911, lon=10.753)
    await call(ann, "save_location", name="Bergen", lat=60.39, lon=5.32)
    found = await call(ann, "find_nearby", lat=59.912, lon=10.75, radius=2000)
    same([row["location_id"] for row in found["rows"]], [near["row"]["location_id"]], "nearby")
    await refused(ann, "find_nearby", "radius", "5000", lat=0, lon=0, radius=9000)


async def addresses(ann, bob, admin):
    await call(ann, "register", email="Ann@example.org", name="Ann")
    await refused(bob, "register", "another value", email="ann@EXAMPLE.org", name="Bob")
    await call(ann, "change_email", email="ann@example.net")
    found = await call(admin, "find_user_by_email", email="ANN@example.net")
    same(found["row"]["name"], "Ann", "the new address")
    gone = await call(admin, "find_user_by_email", email="ann@example.org")
    same(gone["row"], None, "the old address")


async def templates(ann, admin):
    value = {"greeting": "Hello", "parts": [1, None]}
    await call(admin, "put_template", name="letter", value=value)
    read = await call(ann, "get_template", name="letter")
    same(read["row"]["value"], value, "the template")
    await refused(ann, "put_template", "role", name="letter", value=1)


async def wrong(ann):
    await refused(ann, "save_note", "argument", "content", title="no content")
    await refused(ann, "save_note", "argument: title", "text", title=5, content="c")
    await refused(ann, "save_note", "never an argument", title="t", content="c", user_id="bob")
    await refused(ann, "list_notes", "limit", "100", limit=1000)
    await refused(ann, "save_notes", "did you mean `save_note`")


# Texts that break programs: each is kept exactly as it is, or is the id of nothing.
HOSTILE = [
    "", ":", "/", "..", "%2e%2e", "{}", "a\0b", "\ufeffx", "\u202ex", "e\u0301", "\u00e9",
    "\U0001f9ea", "CON", "space ", "'; DROP TABLE notes; --", "redis.call('FLUSHALL')", "(a+)+$",
    "$(reboot)", "<script>alert(1)</script>", "{{7*7}}", "\r\nX-Evil: 1", "null", "NaN", "-0",
    "\U0010ffff", "\x7f\x80", "user:bob:notes", "k" * 1025, "x:" * 10_000,
]


async def hostile(ann, bob):
    for text in HOSTILE:
        saved = await call(ann, "save_note", title=text, content=text)
        read = await call(ann, "get_note", note_id=saved["row"]["note_id"])
        same(read["row"]["content"], text, "a text that is kept")
        asked = await bob.call_tool("get_note", {"note_id": text})
        nothing = {"row": None, "version": None}
        too_long = asked.is_error and "longer than keys may be" in asked.content[0].text
        assert too_long or asked.structured_content == nothing, asked
    for amount in [2**63, -(2**63) - 1, 0.5, "1e3", "x", True, [], {}, None]:
        await refused(ann, "count", "amount", name="n", amount=amount)


async def guide(ann, admin):
    names = {tool.name for tool in (await ann.list_tools()).tools}
    for name in ["save_note", "list_notes", "get_template", "create_post", "recent_posts"]:
        assert name in names, name
    assert "put_template" not in names, "a tool of a role that Ann has not"
    tools = {tool.name: tool for tool in (await admin.list_tools()).tools}
    assert tools["list_notes"].annotations.read_only_hint
    assert tools["delete_note"].annotations.destructive_hint
    assert not tools["save_note"].annotations.destructive_hint
    assert "put_template" in tools and tools["put_template"].annotations.idempotent_hint
    resources = {one.name: str(one.uri) for one in (await ann.list_resources()).resources}
    page = await ann.read_resource(resources["description"])
    assert "save_note" in page.contents[0].text and "# " in page.contents[0].text
    schema = json.loads((await ann.read_resource(resources["schema"])).contents[0].text)
    same({pattern["name"] for pattern in schema["patterns"]}, names, "the patterns of the schema")
    prompts = [one.name for one in (await ann.list_prompts()).prompts]
    same(prompts, ["choose_pattern"], "the prompts")
    prompt = await ann.get_prompt("choose_pattern", {"task": "remember the milk"})
    text = prompt.messages[0].content.text
    assert "remember the milk" in text and "save_note(title, content)" in text, text


async def everything(ann, bob, admin):
    await guide(ann, admin)
    await templates(ann, admin)
    await notes(ann, bob)
    await posts(ann, bob)
    await places(ann)
    await addresses(ann, bob, admin)
    await wrong(ann)
    await hostile(ann, bob)


async def through_http(address, headers_of, mode):
    async with contextlib.AsyncExitStack() as stack:
        people = []
        for who in ["ann", "bob", "admin"]:
            client = over_http(address, headers_of(who), mode)
            people.append(await stack.enter_async_context(client))
        await everything(*people)


def nobody_comes_in(address):
    """Without a token, and with a wrong one, nothing is answered but 401."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    for more in [{}, {"Authorization": "Bearer wrong"}]:
        answer = httpx2.post(f"{address}/mcp", json=body, headers={**accept, **more})
        same(answer.status_code, 401, f"a stranger at /mcp with {more}")
        same(answer.headers["content-type"], "application/problem+json", "the answer's type")


def hostile_bodies(address, headers):
    """What only strangers send is refused before anybody looks for a tool in it."""
    headers = {**headers, "Accept": "application/json, text/event-stream"}
    front = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"put_preferences",'
    deep = "[" * 5000 + "]" * 5000
    bodies = {
        "too deep": (f'{front}"arguments":{{"value":{deep}}}}}}}', 400),
        "a name twice": (f'{front}"arguments":{{"value":1,"value":2}}}}}}', 400),
        "no JSON": ("{", 400),
        "too large": (f'{front}"arguments":{{"value":"{"x" * (2 << 20)}"}}}}}}', 413),
    }
    for what, (body, status) in bodies.items():
        kind = {"Content-Type": "application/json"}
        answer = httpx2.post(f"{address}/mcp", content=body, headers={**headers, **kind})
        same(answer.status_code, status, f"a body that is {what}")
    form = httpx2.post(f"{address}/mcp", data={"a": "b"}, headers=headers)
    same(form.status_code, 415, "a form")


async def through_stdio(keyway, folder):
    """One process at a time has the store; each call is by whoever the command names."""
    store = f"engine:{folder / 'stdio'}"
    async with over_stdio(keyway, store, "--as", "root", "--role", "admin") as admin:
        await call(admin, "put_template", name="letter", value={"a": 1})
    async with over_stdio(keyway, store, "--as", "ann", mode="legacy") as ann:
        read = await call(ann, "get_template", name="letter")
        same(read["row"]["value"], {"a": 1}, "the template")
        await notes_alone(ann)
        await places(ann)
        await wrong(ann)
    async with over_stdio(keyway, store, "--as", "bob") as bob:
        same((await call(bob, "list_notes"))["rows"], [], "Bob's notes")
    async with over_stdio(keyway, store) as nobody:
        same((await nobody.list_tools()).tools, [], "what nobody in particular may call")
        await refused(nobody, "list_notes", "who calls")


async def notes_alone(ann):
    await call(ann, "save_note", title="Milk", content="two bottles")
    listed = await call(ann, "list_notes")
    same([row["title"] for row in listed["rows"]], ["Milk"], "Ann's notes")
    text = (await ann.get_prompt("choose_pattern", {"task": "x"})).messages[0].content.text
    assert "list_notes" in text
    resources = (await ann.list_resources()).resources
    same(len(resources), 2, "resources")


def tools(keyway):
    def said(who):
        roles = {"Keyway-Roles": "admin"} if who == "admin" else {}
        return {"Keyway-User": who, **roles}

    for mode in ["auto", "legacy"]:
        with trusting(keyway, "scaffold") as address:
            asyncio.run(through_http(address, said, mode))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shown = {who: token(keyway, "scaffold", folder, "--as", who) for who in ["ann", "bob"]}
        given = ("--as", "root", "--role", "admin")
        shown["admin"] = token(keyway, "scaffold", folder, *given)
        with serving(keyway, "scaffold", "--store", "memory:", *book(folder)) as address:
            nobody_comes_in(address)
            hostile_bodies(address, {"Authorization": f"Bearer {shown['ann']}"})
            shows = lambda who: {"Authorization": f"Bearer {shown[who]}"}
            asyncio.run(through_http(address, shows, "auto"))
        asyncio.run(through_stdio(keyway, folder))
    print("tools: the scaffold works end to end over HTTP and over standard input")


def main():
    keyway, *wanted = sys.argv[1:]
    keyway = str(pathlib.Path(keyway).resolve())
    for part in [documents, contract, tools]:
        if not wanted or part.__name__ in wanted:
            part(keyway)


if __name__ == "__main__":
    main()
