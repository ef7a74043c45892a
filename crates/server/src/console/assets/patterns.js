// Patterns: the list, and one of them with its plan and a form to run it.

import { ask } from "./ask.js";
import { fit } from "./find.js";
import {
  add,
  arrows,
  bytesAtMost,
  copier,
  count,
  fill,
  make,
  may,
  plural,
  trouble,
  verb,
} from "./make.js";
import { runner } from "./run.js";

export function show(body, { keyspace, parts, query }) {
  const [name] = parts;
  if (!name) return list(body, keyspace, query);
  const pattern = keyspace.patterns.find((one) => one.name === name);
  if (!pattern) {
    add(body, [
      make("h1", {}, "No such pattern"),
      make("a", { href: "#/patterns" }, "All patterns"),
    ]);
    return undefined;
  }
  return one(body, keyspace, pattern);
}

function list(body, keyspace, query) {
  const results = make("ul", { class: "list patterns-list" });
  const said = make("p", { class: "hint", role: "status" });
  const field = make("input", {
    type: "search",
    "aria-label": "Search patterns",
    placeholder: "Name, id, verb, collection, who may",
    autocomplete: "off",
    spellcheck: "false",
    value: query.get("q") ?? "",
  });
  const look = () => {
    const found = keyspace.patterns.filter(
      (pattern) =>
        fit(
          [
            pattern.id,
            pattern.name,
            pattern.about,
            pattern.verb,
            pattern.target,
            pattern.allow,
          ].join(" "),
          field.value,
        ) !== null,
    );
    said.textContent = plural(found.length, "pattern");
    fill(
      results,
      found.map((pattern) =>
        make(
          "li",
          {},
          make(
            "a",
            { href: `#/patterns/${encodeURIComponent(pattern.name)}` },
            verb(pattern.verb),
            make(
              "span",
              { class: "what" },
              make(
                "span",
                { class: "mono name" },
                pattern.id && make("small", {}, `${pattern.id} `),
                pattern.name,
              ),
              make("span", { class: "about" }, pattern.about ?? ""),
            ),
            make(
              "span",
              { class: "marks" },
              !pattern.offered && make("span", { class: "may" }, "no endpoint"),
              pattern.answer === "refused" &&
                make("span", { class: "may bad" }, "not on this store"),
              make("span", { class: "target mono" }, pattern.target ?? ""),
              may(pattern.allow),
            ),
          ),
        ),
      ),
    );
  };
  field.addEventListener("input", () => {
    look();
    const text = field.value ? `?q=${encodeURIComponent(field.value)}` : "";
    history.replaceState(null, "", `#/patterns${text}`);
  });
  look();
  const section = make("div", {}, make("div", { class: "search" }, field, said), results);
  add(body, [
    make("header", { class: "head" }, make("h1", {}, "Patterns")),
    arrows(section, "input, a"),
  ]);
}

function fact(number, word) {
  return make("li", {}, make("b", {}, count(number)), " ", word);
}

function price(pattern) {
  const { bounds } = pattern;
  if (!bounds) return make("p", { class: "remark" }, pattern.reason);
  return make(
    "div",
    {},
    make(
      "ul",
      { class: "bounds", "aria-label": "The most that one call costs" },
      fact(bounds.round_trips, bounds.round_trips === 1 ? "round trip" : "round trips"),
      fact(bounds.rows_read, "rows read"),
      fact(bounds.rows_written, "rows written"),
      make(
        "li",
        {},
        make("b", {}, bytesAtMost(pattern.reads ? bounds.bytes_read : bounds.bytes_written)),
        pattern.reads ? " read" : " written",
      ),
      bounds.attempts > 1 && fact(bounds.attempts, "attempts"),
    ),
    pattern.price && make("p", { class: "hint" }, pattern.price),
  );
}

function one(body, keyspace, pattern) {
  const plan = make("div", { class: "plan" }, make("p", { class: "hint" }, "…"));
  const run = pattern.offered && pattern.answer !== "refused" ? runner(keyspace, pattern) : null;
  const rows =
    pattern.collection &&
    make("a", { href: `#/rows/${encodeURIComponent(pattern.collection)}` }, pattern.target);
  add(body, [
    make(
      "header",
      { class: "head" },
      make("p", { class: "crumb" }, make("a", { href: "#/patterns" }, "Patterns")),
      make("h1", { class: "mono" }, pattern.name),
      make("p", { class: "lead" }, pattern.about ?? ""),
      make(
        "p",
        { class: "signs" },
        verb(pattern.verb),
        rows,
        make("span", {}, "for "),
        may(pattern.allow),
        pattern.id && make("code", {}, pattern.id),
      ),
      pattern.notes && make("p", { class: "hint" }, pattern.notes),
    ),
    run
      ? run.element
      : make(
          "p",
          { class: "remark" },
          pattern.answer === "refused"
            ? `This store does not offer it: ${pattern.reason}`
            : "It has no endpoint: it runs only inside other patterns, or from programs.",
        ),
    make(
      "section",
      { class: "card", "aria-labelledby": "plan-head" },
      make("h2", { id: "plan-head" }, "Plan and proof"),
      price(pattern),
      plan,
    ),
  ]);
  ask(`/-/api/plans/${encodeURIComponent(pattern.name)}`).then(
    ({ text }) =>
      fill(
        plan,
        make("pre", { tabindex: "0", "aria-label": "The plan in words" }, text),
        copier(() => text, "Copy plan"),
      ),
    (problem) => fill(plan, trouble(problem)),
  );
  return run?.leave;
}
