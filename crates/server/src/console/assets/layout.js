// What the store holds natively, and what others would.

import { ask } from "./ask.js";
import { add, copier, make } from "./make.js";

export async function show(body, { keyspace, parts }) {
  const own = keyspace.store.kind;
  const kind = parts[0] ?? own;
  const { text } = await ask(`/-/api/layouts/${encodeURIComponent(kind)}`);
  add(body, [
    make(
      "header",
      { class: "head" },
      make("h1", {}, "Layout"),
      make(
        "p",
        { class: "lead" },
        kind === own ? `What this store holds: ${kind}.` : `What ${kind} would hold.`,
      ),
    ),
    make(
      "nav",
      { class: "pills", "aria-label": "Kinds of store" },
      keyspace.stores.map((name) =>
        make(
          "a",
          {
            href: `#/layout${name === own ? "" : `/${name}`}`,
            "aria-current": name === kind ? "true" : undefined,
          },
          name,
          name === own && make("small", {}, " this one"),
        ),
      ),
    ),
    make(
      "div",
      { class: "card print" },
      make(
        "div",
        { class: "corner" },
        copier(() => text, "Copy layout"),
      ),
      make("pre", { tabindex: "0", "aria-label": `The layout on ${kind}` }, text),
    ),
  ]);
}
