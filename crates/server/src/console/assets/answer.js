// Answers: rows as a table, one row as a list of its members, anything as JSON.

import { fill, make, plural } from "./make.js";

/** A value in a cell: short, and as what it is. */
export function cell(value) {
  if (value === null || value === undefined) return make("span", { class: "nil" }, "null");
  if (typeof value === "string") return value.length > 120 ? `${value.slice(0, 119)}…` : value;
  if (typeof value === "object") {
    const text = JSON.stringify(value);
    return make("code", {}, text.length > 120 ? `${text.slice(0, 119)}…` : text);
  }
  return make("span", { class: "mono" }, String(value));
}

/** Rows as a table; `known` are the lines that were there before, others are shown as new. */
export function table(rows, { caption, known, before, href } = {}) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.members)))];
  const lines = rows.map((row) => {
    const isNew = known && !known.has(JSON.stringify(row.members));
    return make(
      "tr",
      { class: isNew ? "new" : undefined },
      before &&
        make(
          "th",
          { scope: "row", class: "mono" },
          href ? make("a", { href: href(row) }, row.key) : row.key,
        ),
      names.map((name) => make("td", {}, cell(row.members[name]))),
    );
  });
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make(
      "table",
      {},
      make("caption", { class: "unseen" }, caption),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          before && make("th", { scope: "col" }, before),
          names.map((name) => make("th", { scope: "col" }, name)),
        ),
      ),
      make("tbody", {}, lines),
    ),
  );
}

/** One row, member by member. */
export function members(row) {
  return make(
    "dl",
    { class: "members" },
    Object.entries(row).map(([name, value]) => [
      make("dt", { class: "mono" }, name),
      make(
        "dd",
        {},
        typeof value === "object" && value !== null
          ? make("pre", {}, JSON.stringify(value, null, 2))
          : typeof value === "string"
            ? make("span", { class: "whole" }, value)
            : cell(value),
      ),
    ]),
  );
}

export const json = (value) =>
  make(
    "pre",
    { class: "json", tabindex: "0", "aria-label": "JSON" },
    JSON.stringify(value, null, 2),
  );

const asRows = (list) => list.map((row) => ({ members: row }));

function shaped(answer, known) {
  if (Array.isArray(answer.rows)) {
    const isPlain = answer.rows.every((row) => row && typeof row === "object" && !("row" in row));
    const rows = isPlain
      ? answer.rows
      : answer.rows.map((row) =>
          row && typeof row === "object" && row.row
            ? { ...row.row, ...without(row, "row") }
            : { row },
        );
    if (rows.length === 0) return make("p", { class: "hint" }, "No rows.");
    return table(asRows(rows), { caption: plural(rows.length, "row"), known });
  }
  if (answer.row && typeof answer.row === "object") {
    const rest = without(answer, "row");
    return make(
      "div",
      {},
      members(answer.row),
      Object.keys(rest).length > 0 && make("div", { class: "aside" }, members(rest)),
    );
  }
  if (answer && typeof answer === "object" && !Array.isArray(answer)) return members(answer);
  return json(answer);
}

function without(object, name) {
  const { [name]: _, ...rest } = object;
  return rest;
}

/** An answer that can be seen in two ways; the choice stays. */
let isJson = false;

export function shownAnswer(answer, { known } = {}) {
  const body = make("div", { class: "answer-body" });
  const ways = ["Table", "JSON"].map((name) =>
    make(
      "button",
      {
        type: "button",
        "aria-pressed": "false",
        onclick: () => {
          isJson = name === "JSON";
          paint();
        },
      },
      name,
    ),
  );
  const paint = () => {
    ways.forEach((way, at) => way.setAttribute("aria-pressed", String((at === 1) === isJson)));
    fill(body, isJson ? json(answer) : shaped(answer, known));
  };
  paint();
  return {
    element: body,
    ways: make("div", { class: "ways", role: "group", "aria-label": "Shown as" }, ways),
  };
}
