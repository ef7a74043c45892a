// A form from the arguments of a pattern: asks for each as its type wants, checks what it can
// before anything is sent, and shows a problem at its argument.

import { make } from "./make.js";

const CHECKS = {
  integer: (text) => (/^-?\d+$/.test(text) ? null : "a whole number"),
  number: (text) => (text !== "" && Number.isFinite(Number(text)) ? null : "a number"),
  json: (text) => {
    try {
      JSON.parse(text);
      return null;
    } catch (error) {
      return `JSON: ${error.message}`;
    }
  },
};

const EXAMPLES = {
  timestamp: "2026-11-15T10:00:00.000Z",
  date: "2026-11-15",
  duration: "30d",
  uuid: "00000000-0000-4000-8000-000000000001",
  bytes: "base64",
};

function example(argument) {
  if (argument.default) return `${argument.default} unless given`;
  if (argument.each) {
    const row = argument.each
      .filter((one) => one.required)
      .map((one) => `"${one.name}": …`)
      .join(", ");
    return `[{ ${row} }]`;
  }
  if (argument.type.startsWith("[")) return "[ ]";
  if (argument.type === "json") return "{ }";
  return EXAMPLES[argument.type] ?? "";
}

/** One argument: its control, and what it holds. */
function control(argument, takesNull) {
  const id = `argument-${argument.name}`;
  const named = {
    id,
    name: argument.name,
    "aria-describedby": `${id}-problem ${id}-type`,
    "aria-required": argument.required ? "true" : undefined,
    autocomplete: "off",
    spellcheck: "false",
  };
  const options = (words) => words.map((word) => make("option", { value: word }, word || "—"));
  let input;
  if (argument.form === "flag" && argument.required) {
    input = make("input", { ...named, type: "checkbox" });
  } else if (argument.form === "flag") {
    input = make("select", named, options(["", "true", "false"]));
  } else if (argument.form === "words") {
    input = make(
      "select",
      named,
      options(argument.required ? argument.words : ["", ...argument.words]),
    );
  } else if (
    argument.form === "json" ||
    (argument.form === "text" && argument.role === "content")
  ) {
    input = make("textarea", {
      ...named,
      rows: argument.form === "json" ? 3 : 1,
      placeholder: example(argument),
      class: argument.form === "json" ? "mono" : "",
    });
  } else {
    input = make("input", {
      ...named,
      type: "text",
      placeholder: example(argument),
      inputmode: { integer: "numeric", number: "decimal" }[argument.form],
    });
  }
  const none =
    argument.optional && takesNull
      ? make("input", {
          type: "checkbox",
          id: `${id}-null`,
          onchange: () => {
            input.disabled = none.checked;
          },
        })
      : null;
  const problem = make("p", { class: "wrong", id: `${id}-problem` });
  const element = make(
    "div",
    { class: "argument" },
    make(
      "label",
      { for: id },
      make("span", { class: "mono" }, argument.name),
      !argument.required && make("small", {}, "optional"),
    ),
    make("span", { class: "type mono", id: `${id}-type` }, argument.type),
    input,
    none && make("label", { class: "null", for: `${id}-null` }, none, " null"),
    problem,
  );
  const complain = (text) => {
    problem.textContent = text ?? "";
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    element.classList.toggle("bad", Boolean(text));
  };
  input.addEventListener("input", () => complain(null));
  return { argument, element, input, none, complain };
}

/** What a control holds: `{ text, raw }`, as a query and as JSON say it; nothing if it is left out. */
function held({ argument, input, none }) {
  if (none?.checked) return { text: "null", raw: "null" };
  if (input.type === "checkbox") return { text: String(input.checked), raw: String(input.checked) };
  const isLong = input.tagName === "TEXTAREA" && argument.form === "text";
  const text = isLong ? input.value : input.value.trim();
  if (text === "") return argument.required ? { wrong: "is needed" } : null;
  const expected = CHECKS[argument.form]?.(text);
  if (expected) return { wrong: `must be ${expected}` };
  const isRaw = ["integer", "json", "flag"].includes(argument.form);
  if (argument.form === "number") return { text, raw: String(Number(text)) };
  return { text, raw: isRaw ? text : JSON.stringify(text) };
}

/**
 * The form of a pattern. `collect()` gives `[name, held]` pairs, or nothing after it has shown what
 * is wrong; `complain(name, text)` shows a problem, and says whether there is such an argument.
 */
export function argumentsForm(pattern, { changed, given }) {
  const shown = pattern.arguments.filter((one) => one.name !== "cursor" && one.role !== "rule");
  const controls = shown.map((one) => control(one, !pattern.reads));
  for (const one of controls) {
    const value = given.get(one.argument.name);
    if (value === null) continue;
    if (one.input.type === "checkbox") one.input.checked = value === "true";
    else one.input.value = value;
  }
  const isAside = ({ argument }) =>
    ["page", "version"].includes(argument.role) && !argument.required;
  const aside = controls.filter(isAside);
  const names = { page: "Page", version: "Version" };
  const words = [...new Set(aside.map(({ argument }) => names[argument.role]))].join(" and ");
  const element = make(
    "div",
    { class: "arguments" },
    controls.filter((one) => !isAside(one)).map((one) => one.element),
    shown.length === 0 && make("p", { class: "hint" }, "It takes no arguments."),
    aside.length > 0 &&
      make(
        "details",
        { open: aside.some((one) => one.input.value !== "") },
        make("summary", {}, words),
        aside.map((one) => one.element),
      ),
  );
  element.addEventListener("input", changed);
  element.addEventListener("change", changed);

  const complain = (name, text) => {
    const found = controls.find((one) => one.argument.name === name);
    if (!found) return false;
    found.complain(text);
    const folded = found.element.closest("details");
    if (folded) folded.open = true;
    found.input.focus();
    return true;
  };
  const collect = (isQuiet = false) => {
    const pairs = [];
    let wrong = null;
    for (const one of controls) {
      if (!isQuiet) one.complain(null);
      const value = held(one);
      if (value?.wrong) {
        if (!isQuiet) one.complain(value.wrong);
        wrong ??= one;
        continue;
      }
      if (value) pairs.push([one.argument.name, value]);
    }
    if (wrong && !isQuiet) {
      complain(wrong.argument.name, wrong.element.querySelector(".wrong").textContent);
      return null;
    }
    return pairs;
  };
  const clear = () => controls.forEach((one) => one.complain(null));
  const values = () =>
    controls
      .map((one) => [
        one.argument.name,
        one.input.type === "checkbox" ? (one.input.checked ? "true" : "") : one.input.value,
      ])
      .filter(([, value]) => value !== "");
  return { element, collect, complain, clear, values };
}

/** The request that a call is. */
export function requestOf(pattern, pairs, cursor) {
  const path = `/${encodeURIComponent(pattern.name)}`;
  if (pattern.reads) {
    const query = new URLSearchParams(pairs.map(([name, value]) => [name, value.text]));
    if (cursor) query.set("cursor", cursor);
    const text = query.toString();
    return { method: "GET", path: text ? `${path}?${text}` : path };
  }
  const body = `{${pairs.map(([name, value]) => `${JSON.stringify(name)}: ${value.raw}`).join(", ")}}`;
  return { method: "POST", path, body, headers: { "Content-Type": "application/json" } };
}

/** The same on a command line: with a token, or by whom where callers are trusted. */
export function curl(request, trusted) {
  const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const headers = trusted
    ? Object.entries(trusted).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
    : ['-H "Authorization: Bearer $TOKEN"'];
  const address = quoted(location.origin + request.path);
  if (request.method === "GET") return ["curl", ...headers, address].join(" ");
  const first = ["curl", ...headers, "-H 'Content-Type: application/json'"].join(" ");
  return `${first} \\\n  -d ${quoted(request.body)} ${address}`;
}
