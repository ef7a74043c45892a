// The whole console, view by view.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { hold, launch, open, serve, until } from "./browser.mjs";
import { startRedis } from "./redis.mjs";

const [keyway, pictures] = process.argv.slice(2);
mkdirSync(pictures, { recursive: true });

const VIEWS = {
  overview: "#/",
  patterns: "#/patterns",
  pattern: "#/patterns/list_notes",
  rows: "#/rows",
  notes: "#/rows/notes",
  layout: "#/layout",
  tables: "#/layout/cassandra",
  traffic: "#/traffic",
  health: "#/health",
  tokens: "#/tokens",
};

let steps = 0;
let current = "";
const step = async (name, act) => {
  current = name;
  await act();
  steps += 1;
};

const heading = (page) => page.locator("h1");

/** Goes to a view and waits until it is whole. */
async function go(page, hash) {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await heading(page).first().waitFor();
  await page.waitForLoadState("networkidle").catch(() => {});
}

async function runAs(page, user, roles = "") {
  await page.getByLabel("user", { exact: true }).fill(user);
  await page.getByLabel("roles", { exact: true }).fill(roles);
}

const argument = (page, name) => page.locator(`#argument-${name}`);
const run = (page) => page.getByRole("button", { name: "Run", exact: true }).click();
const cost = (page) => page.locator(".answer .cost");
const lines = (page) => page.locator(".answer tbody tr");

async function saveNote(page, title) {
  await go(page, "#/patterns/save_note");
  await argument(page, "title").fill(title);
  await argument(page, "content").fill(`what ${title} says`);
  await run(page);
  await page.locator(".answer .members").first().waitFor();
}

/** What the scaffold's file has. */
const COLLECTIONS = [
  "notes",
  "preferences",
  "sessions",
  "config",
  "templates",
  "stats",
  "posts",
  "users",
  "locations",
];
const INDEXES = ["recent", "by_tag", "unique email", "geo"];

/** Every collection and index is in the diagram, by its name, and nothing else. */
async function collectionsAndIndexes(page, collections, indexes) {
  const texts = (selector) => page.locator(`.diagram ${selector}`).allTextContents();
  const same = (found, wanted, what) =>
    hold(
      JSON.stringify([...found].sort()) === JSON.stringify([...wanted].sort()),
      `${what}: ${found.join(", ")}`,
    );
  same(await texts("a.collection .name"), collections, "the collections that are drawn");
  same(await texts(".key.index .words"), indexes, "the indexes that are drawn");
  const keys = await page.locator(".diagram .key:not(.index)").count();
  hold(keys === collections.length, `${keys} keys of ${collections.length} collections`);
}

async function entry(browser, server) {
  const { page, eye, context } = await open(browser, server.address);
  await step("the printed address opens the console", async () => {
    await page.goto(server.console);
    await heading(page).getByText("myapp").waitFor();
    hold(!page.url().includes("open="), `the code is still in the address: ${page.url()}`);
    await page.locator(".diagram a.pattern").first().waitFor();
    const drawn = await page.locator(".diagram a.pattern").count();
    hold(drawn === 39, `39 patterns are drawn, not ${drawn}`);
    await collectionsAndIndexes(page, COLLECTIONS, INDEXES);
  });
  await step("it stays open after a reload", async () => {
    eye.leaves = true;
    await page.reload();
    await heading(page).getByText("myapp").waitFor();
    eye.leaves = false;
  });
  const second = await open(browser, server.address);
  await step("a used code opens nothing", async () => {
    second.eye.expected.add(401);
    await second.page.goto(server.console);
    await second.page.getByRole("alert").getByText("the code was used before").waitFor();
    await second.page.getByLabel("An operator's token").fill("kw_operator_wrong");
    await second.page.getByRole("button", { name: "Open" }).click();
    await second.page.getByRole("alert").getByText("the token is not known").waitFor();
    await second.page.screenshot({ path: join(pictures, "entry.png") });
  });
  await step("an operator's token does", async () => {
    await second.page.getByLabel("An operator's token").fill(server.token);
    await second.page.getByRole("button", { name: "Open" }).click();
    await heading(second.page).getByText("myapp").waitFor();
    hold(second.eye.mistakes.length === 0, second.eye.mistakes.join("\n"));
    await second.context.close();
  });
  return { page, eye, context };
}

async function calls(page, eye) {
  await step("two users see their own notes", async () => {
    await go(page, "#/patterns/save_note");
    await runAs(page, "ann");
    for (const title of ["Milk", "Bread", "Salt"]) await saveNote(page, title);
    await go(page, "#/patterns/list_notes");
    await run(page);
    await until(
      "ann's notes",
      () => lines(page).count(),
      (count) => count === 3,
    );
    hold(/\d (µs|ms)/.test(await cost(page).innerText()), "the cost of the call is shown");
    await runAs(page, "bob");
    await run(page);
    await page.getByText("No rows.").waitFor();
  });
  await step("what is needed is asked for before anything is sent", async () => {
    await go(page, "#/patterns/save_location");
    await runAs(page, "ann");
    await argument(page, "name").fill("Alexanderplatz");
    await argument(page, "lat").fill("north");
    await argument(page, "lon").fill("13.4");
    await run(page);
    await page.locator("#argument-lat-problem").getByText("must be a number").waitFor();
    hold(
      await argument(page, "lat").evaluate((field) => field === document.activeElement),
      "it has the focus",
    );
    await page.screenshot({ path: join(pictures, "mistake.png") });
    await argument(page, "lat").fill("52.52");
    await run(page);
    await page.locator(".answer .members").first().waitFor();
  });
  await step("a mistake that the server finds is shown at its argument", async () => {
    await go(page, "#/patterns/list_notes");
    await page.locator(".arguments summary").click();
    await argument(page, "limit").fill("100000");
    eye.expected.add(400);
    await run(page);
    await until(
      "the problem",
      () => page.locator("#argument-limit-problem").innerText(),
      (text) => text !== "",
    );
    eye.expected.delete(400);
    hold((await argument(page, "limit").getAttribute("aria-invalid")) === "true", "it is marked");
  });
  await step("pages follow each other by cursor", async () => {
    await argument(page, "limit").fill("2");
    await run(page);
    await until(
      "the first page",
      () => lines(page).count(),
      (count) => count === 2,
    );
    const before = await lines(page).first().innerText();
    await page.getByRole("button", { name: "Next page" }).click();
    await until(
      "the second page",
      () => cost(page).innerText(),
      (text) => text.includes("page 2"),
    );
    hold(
      (await lines(page).count()) === 1 && (await lines(page).first().innerText()) !== before,
      "other rows",
    );
    hold(page.url().includes("limit=2"), "the arguments are in the address");
  });
  await step("who may not is told", async () => {
    await go(page, "#/patterns/put_config");
    await argument(page, "name").fill("theme");
    await argument(page, "value").fill('{"dark": true');
    await run(page);
    await page.locator("#argument-value-problem").getByText("must be JSON").waitFor();
    await argument(page, "value").fill('{"dark": true}');
    eye.expected.add(403);
    await run(page);
    await page.locator(".answer").getByRole("alert").waitFor();
    eye.expected.delete(403);
    await runAs(page, "ann", "admin");
    await run(page);
    await page.locator(".answer .members").first().waitFor();
  });
}

async function plans(page) {
  const words = (text) => text.split(/\s+/).filter(Boolean).join(" ");
  for (const [name, bounds] of [
    ["list_notes", ["1 round trip", "101 rows read", "0 rows written", "102 MiB read"]],
    ["create_post", ["1 round trip", "0 rows read", "102 rows written", "1.1 MiB written"]],
  ]) {
    await step(`the plan and the proof of ${name}`, async () => {
      await go(page, `#/patterns/${name}`);
      const told = words(await page.getByLabel("The plan in words").innerText());
      const options = ["explain", "apps/scaffold/keyspace.toml", name, "--store", "memory"];
      const explained = words(execFileSync(keyway, options, { encoding: "utf8" }));
      hold(told === explained, `the plan is\n${told}\nand not\n${explained}`);
      const shown = await page.locator(".bounds li").allInnerTexts();
      for (const bound of bounds) {
        hold(shown.map(words).includes(bound), `${bound} is not among ${shown.join(", ")}`);
      }
    });
  }
}

async function watched(page, server) {
  await step("a watched list shows what others do", async () => {
    await go(page, "#/patterns/recent_posts");
    await runAs(page, "ann");
    await page.getByRole("button", { name: "Watch" }).click();
    await cost(page).getByText("live · 1 answer").waitFor();
    const made = await fetch(`${server.address}/create_post`, {
      method: "POST",
      headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ content: "Seen by all", tags: ["first"] }),
    });
    hold(made.status === 200, `the post was made: ${made.status}`);
    await lines(page).getByText("Seen by all").waitFor();
    await page.screenshot({ path: join(pictures, "watch.png") });
    await page.getByRole("button", { name: "Watch" }).click();
    await page.getByText("No longer watched.").waitFor();
  });
  await step("the curl line does what the form does", async () => {
    await go(page, "#/patterns/posts_by_tag");
    await argument(page, "tags").or(argument(page, "tag")).first().fill("first");
    const line = await page.locator(".curl").innerText();
    const address = line.match(/'(http[^']+)'/)[1];
    const answer = await fetch(address, { headers: { Authorization: `Bearer ${server.token}` } });
    hold((await answer.json()).rows?.length === 1, `one post by ${address}`);
    await page.getByRole("button", { name: "Copy curl" }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    hold(copied === line, "it is copied as it stands");
  });
}

async function rows(page, eye) {
  await step("rows are browsed by their keys", async () => {
    await go(page, "#/rows");
    await page.locator(".list a").getByText("notes", { exact: true }).click();
    await until(
      "rows",
      () => page.locator(".found tbody tr").count(),
      (count) => count === 3,
    );
    await page.locator(".found tbody a").first().click();
    await page.locator(".members dd").getByText("what Milk says").waitFor();
    await page.screenshot({ path: join(pictures, "row.png") });
    await page.goBack();
    await page.locator(".found tbody a").first().waitFor();
    await page.getByLabel("Keys that begin with").fill("user:bob");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("No rows under this key.").waitFor();
    eye.expected.add(400);
    await page.getByLabel("Keys that begin with").fill("nobody:bob");
    await page.getByLabel("Keys that begin with").press("Enter");
    await page.locator(".wrong").getByText("not the beginning of such a key").waitFor();
    eye.expected.delete(400);
  });
  await step("an export is whole", async () => {
    await go(page, "#/rows/notes");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export" }).click();
    const file = await (await download).path();
    const written = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    hold(written.length === 5 && written.at(-1).end.rows === 3, `3 rows: ${written.length} lines`);
  });
  await step("long collections have pages", async () => {
    await page.evaluate(async () => {
      const token = sessionStorage.getItem("keyway.token");
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      const begun = await fetch("/-/api/sessions", {
        method: "POST",
        headers,
        body: '{"user": "zoe"}',
      });
      headers.Authorization = `Bearer ${(await begun.json()).token}`;
      for (let number = 0; number < 60; number += 1) {
        const body = JSON.stringify({ title: `Number ${number}`, content: "." });
        await fetch("/save_note", { method: "POST", headers, body });
      }
    });
    await go(page, "#/rows/notes?under=user:zoe");
    await until(
      "the first page",
      () => page.locator(".found tbody tr").count(),
      (count) => count === 50,
    );
    await page.getByRole("link", { name: "Next page" }).click();
    await until(
      "the second page",
      () => page.locator(".found tbody tr").count(),
      (count) => count === 10,
    );
    await page.goBack();
    await until(
      "back",
      () => page.locator(".found tbody tr").count(),
      (count) => count === 50,
    );
  });
}

/** Reads as somebody, past the forms, in one session of theirs. */
const callAs = (page, user, path) =>
  page.evaluate(
    async ([as, address]) => {
      const headers = { "Content-Type": "application/json" };
      window.sessionsOf ??= {};
      if (!window.sessionsOf[as]) {
        headers.Authorization = `Bearer ${sessionStorage.getItem("keyway.token")}`;
        const body = JSON.stringify({ user: as });
        const begun = await fetch("/-/api/sessions", { method: "POST", headers, body });
        window.sessionsOf[as] = (await begun.json()).token;
      }
      headers.Authorization = `Bearer ${window.sessionsOf[as]}`;
      await fetch(address, { headers });
    },
    [user, path],
  );

async function others(page) {
  await step("layouts of this store and of others", async () => {
    await go(page, "#/layout");
    hold((await page.locator(".print pre").innerText()).length > 200, "this store's layout");
    await page.getByRole("link", { name: "postgres" }).click();
    await page.locator(".print pre").getByText("CREATE TABLE").waitFor();
  });
  await step("traffic moves", async () => {
    await go(page, "#/traffic");
    const answered = async () =>
      Number((await page.locator(".lead").innerText()).replaceAll(",", "").match(/\d+/)?.[0]);
    const before = await until("a number", answered, (number) => number > 60);
    await page.locator("table.numbers").getByText("save_note").waitFor();
    hold((await page.locator(".chart svg").count()) === 5, "five charts");
    await callAs(page, "zoe", "/list_notes");
    await until("more of them", answered, (number) => number > before);
    await until(
      "latencies",
      () => page.locator(".chart").nth(1).innerText(),
      (text) => /\d (µs|ms)/.test(text),
    );
  });
  await step("how much of its bound a pattern uses is drawn", async () => {
    const chart = page.locator(".chart", { hasText: "Rows, of the bound" });
    // zoe has 60 notes, and a page of them may have 100.
    const legend = await until(
      "the bound",
      async () => {
        await callAs(page, "zoe", "/list_notes");
        return chart.innerText();
      },
      (text) => /highest\s+(59|60) %/.test(text),
    );
    hold(/half\s+\d+ %/.test(legend), `half of the calls: ${legend}`);
    const line = await chart.locator("path.line.removes").getAttribute("d");
    hold(line.startsWith("M"), `a line is drawn: ${line}`);
    const label = await chart.locator("svg").getAttribute("aria-label");
    hold(/highest (59|60) %/.test(label), `it is told: ${label}`);
    const cell = page.locator("table.numbers tr", { hasText: "list_notes" }).locator(".bound");
    hold(/^(59|60) %$/.test((await cell.innerText()).trim()), "the pattern's own bound");
    await until(
      "from moment to moment",
      async () => {
        await callAs(page, "zoe", "/list_notes");
        return cell.locator("path.line").getAttribute("d");
      },
      (moments) => /M[\d.]+ [\d.]+L/.test(moments),
    );
    await page.screenshot({ path: join(pictures, "traffic-live.png"), fullPage: true });
  });
  await step("a scrub comes to its end", async () => {
    await go(page, "#/health");
    await page.getByText("No scrub since the server started.").waitFor();
    await page.getByLabel("Repair what can be").check();
    await page.getByRole("button", { name: "Scrub now" }).click();
    await page.locator(".state").getByText("Every index says what the rows say.").waitFor();
  });
}

async function tokens(page, eye, server) {
  let made = "";
  const ask = () =>
    fetch(`${server.address}/list_notes`, { headers: { Authorization: `Bearer ${made}` } });
  await step("a token is made, used, revoked and then refused", async () => {
    await go(page, "#/tokens");
    await page.getByLabel("User", { exact: true }).fill("carol");
    await page.getByLabel("Label").fill("made in the console");
    await page.getByRole("button", { name: "Make token" }).click();
    made = await page.locator("#new-token").innerText();
    await page.screenshot({ path: join(pictures, "token-made.png") });
    hold((await ask()).status === 200, "it may call");
    const row = page.locator("tr", { hasText: "made in the console" });
    await row.getByRole("button", { name: /Revoke/ }).click();
    await row.getByText("Really?").click();
    await row.getByText("revoked").waitFor();
    hold((await ask()).status === 401, "it may no longer");
  });
  await step("the audit log says so", async () => {
    const id = made.split("_")[2];
    const log = page.locator("table.audit");
    await log.locator("tr", { hasText: "token created" }).getByText(id).waitFor();
    await log.locator("tr", { hasText: "token revoked" }).getByText(id).waitFor();
    for (const action of [
      "console opened",
      "called as",
      "exported",
      "scrub started",
      "rows read",
    ]) {
      hold((await log.getByText(action, { exact: true }).count()) > 0, `${action} is noted`);
    }
  });
}

async function keyboard(page) {
  await step("a whole task without a mouse", async () => {
    await go(page, "#/");
    await page.keyboard.press("/");
    await page.getByRole("combobox", { name: "Find a pattern" }).waitFor();
    await page.keyboard.press("Escape");
    hold((await page.getByRole("dialog").count()) === 0, "Escape closes it");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("save a note");
    await until(
      "found",
      () => page.locator("#found li").first().innerText(),
      (text) => text.includes("save_note"),
    );
    await page.screenshot({ path: join(pictures, "find.png") });
    await page.keyboard.press("Enter");
    await heading(page).getByText("save_note").waitFor();
    await argument(page, "title").waitFor();
    const reach = async (isThere) => {
      for (let tries = 0; tries < 60; tries += 1) {
        await page.keyboard.press("Tab");
        if (await page.evaluate(isThere)) return;
      }
      throw new Error("the keyboard does not get there");
    };
    await reach(() => document.activeElement.id === "as-user");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("kim");
    await reach(() => document.activeElement.id === "argument-title");
    await page.keyboard.type("Typed");
    await reach(() => document.activeElement.id === "argument-content");
    await page.keyboard.type("without a mouse");
    await reach(() => document.activeElement.textContent === "Run");
    const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    hold(ring === "solid", `the focus is seen: ${ring}`);
    await page.keyboard.press("Enter");
    await page.locator(".answer .members").getByText("without a mouse").first().waitFor();
  });
  await step("arrow keys go through lists", async () => {
    await go(page, "#/patterns");
    await page.getByRole("searchbox").focus();
    await page.keyboard.type("post");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const name = await page.evaluate(() => document.activeElement.getAttribute("href"));
    hold(name?.includes("post"), `a post's pattern has the focus: ${name}`);
    await page.keyboard.press("Enter");
    await heading(page)
      .getByText(decodeURIComponent(name.split("/").pop()))
      .waitFor();
    await page.goBack();
    await page.getByRole("searchbox").waitFor();
    hold((await page.getByRole("searchbox").inputValue()) === "post", "back keeps what was sought");
  });
}

/** Elements that somebody who cannot see them could not tell apart. */
const nameless = (page) =>
  page.evaluate(() => {
    const named = (element) =>
      element.getAttribute("aria-label") ||
      element.textContent.trim() ||
      element.labels?.length > 0 ||
      element.querySelector("title") ||
      (element.getAttribute("aria-labelledby") &&
        document.getElementById(element.getAttribute("aria-labelledby")));
    return [...document.querySelectorAll("a, button, input, select, textarea")]
      .filter((element) => !named(element))
      .map((element) => element.outerHTML.slice(0, 120));
  });

async function looks(browser, server, token) {
  for (const colorScheme of ["light", "dark"]) {
    for (const [size, width, height] of [
      ["wide", 1280, 860],
      ["narrow", 360, 740],
    ]) {
      const { page, eye, context } = await open(browser, server.address, {
        colorScheme,
        viewport: { width, height },
      });
      await context.addInitScript((text) => sessionStorage.setItem("keyway.token", text), token);
      await page.goto(`${server.address}/`);
      await heading(page).first().waitFor();
      for (const [name, hash] of Object.entries(VIEWS)) {
        await step(`${name}, ${size} and ${colorScheme}`, async () => {
          await go(page, hash);
          if (name === "pattern") {
            await runAs(page, "ann");
            await run(page);
            await lines(page).first().waitFor();
          }
          if (name === "traffic") await page.locator(".chart svg path.line").first().waitFor();
          if (name === "overview") await page.locator(".spark").first().waitFor();
          const [inner, scroll] = await page.evaluate(() => [
            innerWidth,
            document.documentElement.scrollWidth,
          ]);
          hold(scroll <= inner, `${scroll} pixels wide in ${inner}`);
          const without = await nameless(page);
          hold(without.length === 0, `without a name: ${without.join("\n")}`);
          hold((await page.locator("h1").count()) === 1, "one heading");
          await page.screenshot({
            path: join(pictures, `${name}-${size}-${colorScheme}.png`),
            fullPage: true,
          });
        });
      }
      if (size === "narrow") {
        await step(`the menu, ${colorScheme}`, async () => {
          await page.getByRole("button", { name: "Views" }).click();
          await page.screenshot({ path: join(pictures, `menu-${colorScheme}.png`) });
          await page.keyboard.press("Escape");
          await page.getByRole("button", { name: "Views" }).click();
          await page.getByRole("link", { name: "Layout" }).click();
          await heading(page).getByText("Layout").waitFor();
        });
      } else {
        await step(`the switch between light and dark, from ${colorScheme}`, async () => {
          const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
          const before = await paper();
          await page.getByRole("button", { name: /Change to/ }).click();
          hold((await paper()) !== before, "another paper");
          await page.reload();
          await heading(page).first().waitFor();
          hold((await paper()) !== before, "it stays");
        });
      }
      hold(eye.mistakes.length === 0, `${size}, ${colorScheme}:\n${eye.mistakes.join("\n")}`);
      await context.close();
    }
  }
}

async function leaving(page, server) {
  await step("whoever leaves has ended the session", async () => {
    const token = await page.evaluate(() => sessionStorage.getItem("keyway.token"));
    await page.getByRole("button", { name: "Leave" }).click();
    await page.getByLabel("An operator's token").waitFor();
    const headers = { Authorization: `Bearer ${token}` };
    const { status } = await fetch(`${server.address}/-/api/keyspace`, { headers });
    hold(status === 401, `the token is worth nothing: ${status}`);
    hold(
      await page.evaluate(
        () => sessionStorage.length === 0 || !sessionStorage.getItem("keyway.token"),
      ),
      "forgotten",
    );
  });
}

async function trusted(browser) {
  const server = await serve(keyway, ["--trust-callers"]);
  try {
    const { page, eye, context } = await open(browser, server.address);
    await step("a server that trusts its callers asks for no token", async () => {
      await page.goto(server.console);
      await heading(page).getByText("myapp").waitFor();
      await go(page, "#/patterns/save_note");
      await runAs(page, "ann");
      await saveNote(page, "Trusted");
      const line = await page.locator(".curl").innerText();
      hold(line.includes("-H 'Keyway-User: ann'"), `curl says who calls: ${line}`);
      await go(page, "#/rows/notes");
      await page.locator(".found tbody").getByText("Trusted").first().waitFor();
      hold(eye.mistakes.length === 0, eye.mistakes.join("\n"));
    });
    await context.close();
  } finally {
    await server.stop();
  }
}

/** Index health while it is looked at: on a store whose answers take their time. */
async function scrubbed(browser) {
  const redis = await startRedis();
  const book = [
    "--access",
    `sqlite:${join(redis.folder, "book.sqlite")}`,
    "--pepper",
    join(redis.folder, "pepper"),
  ];
  const server = await serve(keyway, ["--trust-callers", ...book], "scaffold", redis.url);
  const parts = COLLECTIONS.length + INDEXES.length;
  const bar = (page) => page.getByRole("progressbar", { name: "Collections and indexes done" });
  try {
    const { page, eye, context } = await open(browser, server.address);
    await page.goto(server.console);
    await heading(page).getByText("myapp").waitFor();
    await go(page, "#/health");
    await step("a scrub says how far it is", async () => {
      redis.answer.waits = 150;
      await page.getByRole("button", { name: "Scrub now" }).click();
      await bar(page).waitFor();
      const seen = [];
      await until(
        "progress",
        async () => {
          // It is drawn anew each time, and gone at the end.
          const now = await page.evaluate(() => {
            const drawn = document.querySelector("progress");
            return drawn && { value: drawn.value, max: drawn.max, position: drawn.position };
          });
          hold(now, `it ended before it was half done: ${seen.join(", ")}`);
          hold(now.max === parts, `${now.max} parts, not ${parts}`);
          hold(now.value >= (seen.at(-1) ?? 0), `it went back: ${seen.join(", ")}`);
          if (now.value !== seen.at(-1)) seen.push(now.value);
          return seen;
        },
        (values) => values.filter((value) => value > 0 && value < parts).length > 1,
      );
      const told = await page.locator(".state").innerText();
      hold(/^\d+ of 13 collections and indexes done\./.test(told), `in words: ${told}`);
      await page.screenshot({ path: join(pictures, "health-running.png") });
      await page.setViewportSize({ width: 360, height: 740 });
      await page.emulateMedia({ colorScheme: "dark" });
      // Colours change in some tenths of a second.
      await page.waitForTimeout(400);
      await page.screenshot({ path: join(pictures, "health-running-narrow-dark.png") });
      redis.answer.waits = 0;
      await page.locator(".state").getByText("Every index says what the rows say.").waitFor();
      hold((await bar(page).count()) === 0, "no bar at the end");
    });
    await step("a scrub is stopped on the way", async () => {
      redis.answer.waits = 150;
      await page.getByRole("button", { name: "Scrub now" }).click();
      await bar(page).waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.locator(".state").getByText("Stopped;").waitFor();
      redis.answer.waits = 0;
      hold(eye.mistakes.length === 0, eye.mistakes.join("\n"));
    });
    await context.close();
  } finally {
    redis.answer.waits = 0;
    await server.stop();
    await redis.stop();
  }
}

/** Every pattern and collection of every application, on a phone. */
async function applications(browser) {
  for (const application of readdirSync("apps")) {
    const server = await serve(keyway, ["--trust-callers"], application);
    try {
      const { page, eye, context } = await open(browser, server.address, {
        viewport: { width: 360, height: 740 },
      });
      await page.goto(server.console);
      await heading(page).first().waitFor();
      const keyspace = await page.evaluate(async () => (await fetch("/-/api/keyspace")).json());
      const places = [
        "#/",
        "#/patterns",
        "#/rows",
        ...keyspace.patterns.map((pattern) => `#/patterns/${pattern.name}`),
        ...keyspace.collections.map((collection) => `#/rows/${collection.name}`),
        ...keyspace.stores.map((store) => `#/layout/${store}`),
      ];
      const drawn = () =>
        collectionsAndIndexes(
          page,
          keyspace.collections.map((one) => one.name),
          keyspace.collections.flatMap((one) =>
            one.indexes.map((index) => `${index.unique ? "unique " : ""}${index.name}`),
          ),
        );
      await step(`the diagram of ${application} on a phone`, async () => {
        await page.locator(".diagram a.pattern").first().waitFor();
        await drawn();
      });
      await step(`every pattern and collection of ${application}`, async () => {
        for (const place of places) {
          current = `${application} ${place}`;
          await page.evaluate((to) => {
            location.hash = to;
          }, place);
          const name = place.split("/").pop();
          await page.waitForFunction(
            (part) =>
              location.hash.endsWith(part) &&
              document.querySelector("h1") &&
              !document.querySelector(".plan > .hint, .found > .hint"),
            name,
          );
          const scroll = await page.evaluate(() => document.documentElement.scrollWidth);
          hold(scroll <= 360, `${scroll} pixels wide`);
          hold((await page.locator(".trouble").count()) === 0, "no trouble");
        }
        hold(eye.mistakes.length === 0, eye.mistakes.join("\n"));
      });
      await go(page, "#/");
      await page.setViewportSize({ width: 1280, height: 860 });
      await page.waitForFunction(() => document.querySelector(".diagram svg")?.clientWidth > 720);
      await step(`the diagram of ${application} on a desk`, drawn);
      await page.screenshot({
        path: join(pictures, `application-${application}.png`),
        fullPage: true,
      });
      await context.close();
    } finally {
      await server.stop();
    }
  }
}

const server = await serve(keyway);
const browser = await launch();
try {
  const { page, eye } = await entry(browser, server);
  await calls(page, eye);
  await plans(page);
  await watched(page, server);
  await rows(page, eye);
  await others(page);
  await tokens(page, eye, server);
  await keyboard(page);
  await step("nothing went wrong on the way", async () => {
    hold(eye.mistakes.length === 0, eye.mistakes.join("\n"));
  });
  await looks(browser, server, await page.evaluate(() => sessionStorage.getItem("keyway.token")));
  await leaving(page, server);
  await trusted(browser);
  await scrubbed(browser);
  await applications(browser);
  console.log(`console: ${steps} steps, screenshots in ${pictures}`);
} catch (error) {
  console.error(`console: ${current}: ${error.stack}`);
  const page = browser
    .contexts()
    .flatMap((context) => context.pages())
    .at(-1);
  await page?.screenshot({ path: join(pictures, "failed.png"), fullPage: true }).catch(() => {});
  process.exitCode = 1;
} finally {
  await browser.close();
  await server.stop();
}
