#!/usr/bin/env python3
"""Drives the built server with clients and checkers of other makers.

    "$(./scripts/python-tools)" tests/server_with_clients.py target/debug/keyway
    … tests/server_with_clients.py target/debug/keyway contract        only what is named

documents   every application's OpenAPI document is one, by openapi-spec-validator
contract    the server does what every document says, by schemathesis
tools       the scaffold end to end through the official client of the Model Context Protocol, over
            HTTP, with both lifecycles of the protocol, and over standard input

Everything runs on loopback and in memory, or below a folder that is removed again.
"""
import asyncio
import base64
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
# What an update leaves out is asked for if it has to make the row: that is a state too, and told as
# an argument that is missing.
[[operations]]
include-operation-id = "publish"
[operations.checks.positive_data_acceptance]
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


# Of each application: who asks, which operations are asked without a token and with a wrong one, and
# how many examples an operation gets.
ASKED = {
    "chat": (["--role", "login"], ["send_message", "read_messages", "create_guild"], 25),
    "documents": ([], ["save_chunk", "load_chunk", "remove_chunk"], 25),
    "keri": (["--role", "store"], ["put_credential", "kel_of", "set_alias"], 10),
    "scaffold": (["--role", "admin"], ["save_note", "list_notes", "put_config"], 25),
    "spreadapi": (
        ["--tenant", "acme", "--role", "admin", "--role", "gateway", "--role", "login"],
        ["create_service", "my_services", "put_tenant"],
        10,
    ),
}


def contract(keyway):
    for app in APPS:
        who, probed, examples = ASKED[app]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shown = token(keyway, app, folder, "--as", ANN, *who)
            header = {"Authorization": f"Bearer {shown}"}
            options = ["--store", "memory:", "--rate", "0", *book(folder)]
            with serving(keyway, app, *options) as address:
                strangers_are_refused(address)
                # Wrong tokens are limited by address, so this check looks at a few operations only.
                only = [word for one in probed for word in ("--include-operation-id", one)]
                schemathesis(address, folder, header, "--checks", "ignored_auth", *only)
                options = ["--exclude-checks", "ignored_auth", "--max-examples", str(examples)]
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
    "", ":", "/", "\\", "..", ".", "%2e%2e", "{}", "}{", "a\0b", "a\0", "\ufeffx", "\u202ex",
    "e\u0301", "\u00e9", "\ufb00", "\u0131\u0130\u00df", "\U0001f9ea", "CON", "aux.json", "dot.",
    "space ", "A", "a", "'; DROP TABLE notes; --", "redis.call('FLUSHALL')", "(a+)+$", "$(reboot)",
    "<script>alert(1)</script>", "{{7*7}}", "${jndi:ldap://x}", "\r\nX-Evil: 1", "null", "NaN",
    "-0", "1E+2", "\U0010ffff", "\x7f\x80\x9f", "user:bob:notes", "k" * 255, "k" * 256, "k" * 1024,
    "k" * 1025, "\u00e9" * 700, "x:" * 10_000,
]

# Numbers of a counter, and what is answered as its total: beyond 2^53 as a text.
AMOUNTS = [
    (0, 0), (-1, -1), (1.0, 1), (-0.0, 0), (1e2, 100), (2**53, 2**53),
    (2**53 + 1, "9007199254740993"), (-(2**53) - 1, "-9007199254740993"),
    ("9007199254740993", "9007199254740993"), (2**63 - 1, "9223372036854775807"),
    (-(2**63), "-9223372036854775808"),
]
NO_AMOUNTS = [
    2**63, -(2**63) - 1, 2**64, 0.5, float(2**63), "1e3", "0x10", " 1", "", "x", True, [],
    {}, None,
]


async def hostile(ann, bob, admin):
    for text in HOSTILE:
        saved = await call(ann, "save_note", title=text, content=text)
        read = await call(ann, "get_note", note_id=saved["row"]["note_id"])
        same(read["row"]["content"], text, "a text that is kept")
        asked = await bob.call_tool("get_note", {"note_id": text})
        nothing = {"row": None, "version": None}
        too_long = asked.is_error and "longer than keys may be" in asked.content[0].text
        assert too_long or asked.structured_content == nothing, asked
    await keys(ann, admin)
    await numbers(ann)
    await cursors(ann, bob)


async def keys(ann, admin):
    """A text that is a key leads to its own row and to no other."""
    kept = []
    for text in HOSTILE:
        put = await admin.call_tool("put_template", {"name": text, "value": text})
        if put.is_error:
            refusals = ["longer than keys may be", "may not be empty"]
            assert any(words in put.content[0].text for words in refusals), put
        else:
            kept.append(text)
    assert len(kept) > 35, len(kept)
    for text in kept:
        read = await call(ann, "get_template", name=text)
        same(read["row"]["value"], text, "the template of a name")
    await refused(admin, "put_template", "longer than keys may be", name="k" * 900_000, value=1)


async def numbers(ann):
    for number, (amount, total) in enumerate(AMOUNTS):
        counted = await call(ann, "count", name=f"at the limit {number}", amount=amount)
        same(counted["total"], total, f"a counter after {amount!r}")
    for amount in NO_AMOUNTS:
        await refused(ann, "count", "amount", name="n", amount=amount)
    same((await call(ann, "get_stat", name="n"))["row"]["value"], 0, "what was never counted")
    await call(ann, "count", name="full", amount=2**63 - 1)
    await refused(ann, "count", "Give less", name="full", amount=1)
    for wrong in ["NaN", "Infinity", "1e999", "1", True, [], None]:
        await refused(ann, "save_location", "lat", name="x", lat=wrong, lon=0)
    nowhere = await call(ann, "save_location", name="x", lat=-0.0, lon=5e-324)
    same(json.dumps(nowhere["row"]["lat"]), "0.0", "negative zero")


async def cursors(ann, bob):
    """A cursor is whole, of this caller and of this list, or it is refused with the same words."""
    for text in ["one", "two"]:
        await call(ann, "create_post", content=text, tags=["cursors"])
    page = await call(ann, "posts_by_tag", tags="cursors", limit=1)
    cursor = page["next"]
    sealed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    forged = [cursor[:length] for length in range(1, len(cursor), 7)] + ["A" * 900_000, "\0", "é"]
    for bit in range(0, len(sealed) * 8, 5):
        flipped = bytearray(sealed)
        flipped[bit // 8] ^= 1 << (bit % 8)
        forged.append(base64.urlsafe_b64encode(flipped).decode().rstrip("="))
    words = set()
    for one in forged:
        asked = await ann.call_tool("posts_by_tag", {"tags": "cursors", "cursor": one})
        assert asked.is_error, asked
        words.add(asked.content[0].text)
    same(len(words), 1, "the words for cursors that are wrong")
    await refused(bob, "posts_by_tag", "cursor", tags="cursors", cursor=cursor)
    await refused(ann, "posts_by_tag", "cursor", tags="other", cursor=cursor)
    await refused(ann, "list_my_posts", "cursor", cursor=cursor)
    rest = await call(ann, "posts_by_tag", tags="cursors", cursor=cursor)
    same(len(rest["rows"]), 1, "the rest of the list")


# Tools that take the id of a service, with what else they need.
OF_A_SERVICE = {
    "get_service": {},
    "edit_service": {"name": "mine"},
    "publish": {"apiPath": "/", "apiSize": 1},
    "unpublish": {},
    "archive": {},
    "delete_service": {},
    "create_token": {"tokenHash": "AAAA", "name": "mine"},
    "revoke_token": {"tokenHash": "AAAA"},
}


async def tenants(address):
    """What belongs to another tenant is answered as what is not there."""
    async with contextlib.AsyncExitStack() as stack:
        people = {}
        for user, tenant in [("ann", "acme"), ("ann", "other"), ("bob", "acme")]:
            headers = {"Keyway-User": user, "Keyway-Tenant": tenant}
            client = over_http(address, headers)
            people[user, tenant] = await stack.enter_async_context(client)
        ann = people.pop(("ann", "acme"))
        created = await call(ann, "create_service", name="secret", tags=["plan"])
        service = created["row"]["serviceId"]
        page = await call(ann, "services_by_tag", tags="plan")
        same(len(page["rows"]), 1, "the services of Ann's tenant")
        for (user, tenant), client in people.items():
            for tool, more in OF_A_SERVICE.items():
                what = f"{tool} by {user} of {tenant}"
                foreign = await client.call_tool(tool, {"serviceId": service, **more})
                missing = await client.call_tool(tool, {"serviceId": "svc_none", **more})
                same(foreign.content[0].text, missing.content[0].text, what)
                same(foreign.is_error, missing.is_error, what)
            found = await call(client, "services_by_tag", tags="plan")
            same(len(found["rows"]), int(tenant == "acme"), f"what {user} of {tenant} finds")
            same((await call(client, "my_services"))["rows"], [], f"services of {user} of {tenant}")
            await refused(client, "create_service", "never an argument", name="x", tenantId="acme")
        kept = await call(ann, "get_service", serviceId=service)
        same(kept["row"], created["row"], "Ann's service")


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
    await hostile(ann, bob, admin)


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
    arguments = lambda text: f'{front}"arguments":{{"value":{text}}}}}}}'.encode()
    members = ",".join(f'"{number}":1' for number in range(1_000_000))
    well = arguments("1")
    bodies = {
        "too deep": (arguments(deep), 400),
        "a name twice": (arguments('1,"value":2'), 400),
        "a name twice inside": (arguments('{"a":1,"a":2}'), 400),
        "no JSON": (b"{", 400),
        "two values": (well + well, 400),
        "bytes behind it": (well + b"x", 400),
        "a mark before it": (b"\xef\xbb\xbf" + well, 400),
        "no UTF-8": (arguments('"?"').replace(b"?", b"\xff"), 400),
        "overlong UTF-8": (arguments('"?"').replace(b"?", b"\xc0\xaf"), 400),
        "half a pair in UTF-8": (arguments('"?"').replace(b"?", b"\xed\xa0\x80"), 400),
        "half a pair": (arguments('"\\ud800"'), 400),
        "no number": (arguments("NaN"), 400),
        "no end": (arguments("Infinity"), 400),
        "too large a number": (arguments("1e999"), 400),
        "a million members": (arguments("{" + members + "}"), 413),
        "too large": (arguments('"' + "x" * (2 << 20) + '"'), 413),
    }
    for what, (body, status) in bodies.items():
        kind = {"Content-Type": "application/json"}
        answer = httpx2.post(f"{address}/mcp", content=body, headers={**headers, **kind})
        same(answer.status_code, status, f"a body that is {what}")
        same(answer.headers["content-type"], "application/problem+json", "the answer's type")
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
    shown = token(keyway, "scaffold", folder, "--as", "bob")
    async with over_stdio(keyway, store, "--token", shown, *book(folder)) as bob:
        same((await call(bob, "list_notes"))["rows"], [], "Bob's notes")
        await notes_alone(bob)
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
        options = ["--store", "memory:", "--rate", "0", *book(folder)]
        with serving(keyway, "scaffold", *options) as address:
            nobody_comes_in(address)
            hostile_bodies(address, {"Authorization": f"Bearer {shown['ann']}"})
            shows = lambda who: {"Authorization": f"Bearer {shown[who]}"}
            asyncio.run(through_http(address, shows, "auto"))
        asyncio.run(through_stdio(keyway, folder))
    with trusting(keyway, "spreadapi") as address:
        asyncio.run(tenants(address))
    print("tools: the scaffold works end to end over HTTP and over standard input")


def main():
    keyway, *wanted = sys.argv[1:]
    keyway = str(pathlib.Path(keyway).resolve())
    for part in [documents, contract, tools]:
        if not wanted or part.__name__ in wanted:
            part(keyway)


if __name__ == "__main__":
    main()
