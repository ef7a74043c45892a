// Rows of any collection, by their keys, page by page.

import { ask, download } from "./ask.js";
import { json, members, table } from "./answer.js";
import { add, arrows, bytes, copier, fill, icon, make, moment, plural, trouble } from "./make.js";

const LIMIT = 50;

export function show(body, { keyspace, parts, query }) {
  const [name, row] = parts;
  if (!name) return list(body, keyspace);
  const collection = keyspace.collections.find((one) => one.name === name);
  if (!collection) {
    add(body, [
      make("h1", {}, "No such collection"),
      make("a", { href: "#/rows" }, "All collections"),
    ]);
    return undefined;
  }
  return row ? one(body, collection, row) : page(body, keyspace, collection, query);
}

const path = (name) => `#/rows/${encodeURIComponent(name)}`;

function list(body, keyspace) {
  add(body, [
    make(
      "header",
      { class: "head" },
      make("h1", {}, "Rows"),
      make("p", { class: "lead" }, "Every collection, by its keys. What has ended is not shown."),
    ),
    arrows(
      make(
        "ul",
        { class: "list" },
        keyspace.collections.map((collection) =>
          make(
            "li",
            {},
            make(
              "a",
              { href: path(collection.name) },
              make(
                "span",
                { class: "what" },
                make("span", { class: "mono name" }, collection.name),
                make("span", { class: "about mono" }, collection.key),
              ),
              make(
                "span",
                { class: "marks" },
                collection.ends && make("span", { class: "may" }, `ends ${collection.ends}`),
                collection.owner && make("span", { class: "may" }, `owner ${collection.owner}`),
                make("span", { class: "may" }, collection.mode),
              ),
            ),
          ),
        ),
      ),
      "a",
    ),
  ]);
}

async function page(body, keyspace, collection, query) {
  const under = query.get("under") ?? "";
  const field = make("input", {
    type: "search",
    id: "under",
    value: under,
    autocomplete: "off",
    spellcheck: "false",
    class: "mono",
    placeholder: collection.key.replace(" | ", keyspace.separator),
    "aria-describedby": "under-problem",
  });
  const wrong = make("p", { class: "wrong", id: "under-problem", role: "alert" });
  const found = make("div", { class: "found" }, make("p", { class: "hint" }, "…"));
  const file = `${keyspace.name}-${collection.name}.jsonl`;
  const said = make("span", { class: "hint", role: "status" });
  const save = make(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: async () => {
        save.disabled = true;
        said.textContent = "Exporting…";
        try {
          await download(`/-/export?collection=${encodeURIComponent(collection.name)}`, file);
          said.textContent = `Saved as ${file}`;
        } catch (problem) {
          said.textContent = problem.message;
        }
        save.disabled = false;
      },
    },
    icon("down"),
    "Export",
  );
  add(body, [
    make(
      "header",
      { class: "head" },
      make("p", { class: "crumb" }, make("a", { href: "#/rows" }, "Rows")),
      make("h1", { class: "mono" }, collection.name),
      make("p", { class: "mono template" }, collection.key),
    ),
    make(
      "form",
      {
        class: "search",
        onsubmit: (event) => {
          event.preventDefault();
          const text = field.value.trim();
          location.hash =
            path(collection.name) + (text ? `?under=${encodeURIComponent(text)}` : "");
        },
      },
      make("label", { for: "under" }, "Keys that begin with"),
      field,
      make("button", {}, "Show"),
      save,
      said,
    ),
    wrong,
    found,
  ]);
  const asked = new URLSearchParams({ limit: LIMIT });
  if (under) asked.set("under", under);
  if (query.get("after")) asked.set("after", query.get("after"));
  let answer;
  try {
    answer = await ask(`/-/api/rows/${encodeURIComponent(collection.name)}?${asked}`);
  } catch (problem) {
    if (problem.argument === "under") {
      wrong.textContent = [problem.message, problem.members.group ?? problem.members.key]
        .filter(Boolean)
        .join(": ");
      field.setAttribute("aria-invalid", "true");
      fill(found);
      return;
    }
    fill(found, trouble(problem));
    return;
  }
  paint(found, collection, answer, under);
}

function paint(found, collection, answer, under) {
  if (answer.rows.length === 0) {
    fill(found, make("p", { class: "empty" }, under ? "No rows under this key." : "No rows yet."));
    return;
  }
  const rows = answer.rows.map((row) => ({
    key: row.key,
    id: row.id,
    members: outside(collection, row.row),
  }));
  const href = (row) => `${path(collection.name)}/${row.id}`;
  const next = new URLSearchParams(under ? { under } : {});
  if (answer.next) next.set("after", answer.next);
  fill(
    found,
    arrows(table(rows, { caption: plural(rows.length, "row"), before: "key", href }), "a"),
    make(
      "div",
      { class: "pages" },
      make(
        "span",
        { class: "hint" },
        plural(rows.length, "row"),
        answer.next ? "" : ", and no more",
      ),
      answer.next &&
        make("a", { class: "button", href: `${path(collection.name)}?${next}` }, "Next page"),
    ),
  );
}

/** The members that the key does not say. */
function outside(collection, row) {
  const inKey = new Set(collection.segments.map((segment) => segment.name));
  return Object.fromEntries(Object.entries(row).filter(([name]) => !inKey.has(name)));
}

async function one(body, collection, id) {
  const answer = await ask(
    `/-/api/rows/${encodeURIComponent(collection.name)}/${encodeURIComponent(id)}`,
  );
  add(body, [
    make(
      "header",
      { class: "head" },
      make(
        "p",
        { class: "crumb" },
        make("a", { href: "#/rows" }, "Rows"),
        " / ",
        make("a", { href: path(collection.name) }, collection.name),
      ),
      make("h1", { class: "mono key-text" }, answer.key),
    ),
    make("section", { class: "card", "aria-label": "Members" }, members(answer.row)),
    make(
      "dl",
      { class: "members aside" },
      make("dt", {}, "version"),
      make("dd", { class: "mono" }, answer.version ?? "none: rows of this collection are plain"),
      make("dt", {}, "ends"),
      make("dd", {}, answer.expires ? moment(answer.expires) : "never"),
      make("dt", {}, "content"),
      make("dd", {}, bytes(answer.bytes)),
    ),
    make(
      "details",
      { class: "card" },
      make("summary", {}, "JSON"),
      json(answer.row),
      copier(() => JSON.stringify(answer.row, null, 2), "Copy JSON"),
    ),
  ]);
}
