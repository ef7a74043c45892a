// Elements, and how numbers and times are written. Nothing here knows what it shows: text goes in
// as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function build(element, given, children) {
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (["value", "checked", "disabled", "open", "selected"].includes(name)) {
      element[name] = value;
    } else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

/** Puts children into an element; lists are laid flat, nothing is left out. */
export function add(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export const make = (tag, given, ...children) =>
  build(document.createElement(tag), given, children);

export const draw = (tag, given, ...children) =>
  build(document.createElementNS(SVG, tag), given, children);

/** Puts other children into an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

const ICONS = {
  overview: "M3 4h8v7H3zM13 4h8v4h-8zM13 11h8v9h-8zM3 14h8v6H3z",
  patterns: "M4 6h16M4 12h10M4 18h13",
  rows: "M4 5h16v14H4zM4 10h16M4 14.5h16M10 10v9",
  layout: "M4 4h16v16H4zM4 9h16M9 9v11",
  traffic: "M3 17l5-6 4 3 5-8 4 5",
  health: "M3 12h4l2-6 4 12 2.5-6H21",
  tokens: "M14.5 4a5.5 5.5 0 1 1-4.9 8L4 17.6V20h3v-2h2v-2h1.5l1-1M16 8.5h.01",
  find: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM15.5 15.5L20 20",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M8 8h11v11H8zM5 16V5h11",
  done: "M5 12.5l4.5 4.5L19 7.5",
  light:
    "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6l1.4 1.4M17 17l1.4 1.4M5.6 18.4L7 17M17 7l1.4-1.4",
  dark: "M19 14.5A7.5 7.5 0 1 1 9.5 5a6 6 0 0 0 9.5 9.5z",
  down: "M12 4v11M7 11l5 5 5-5M5 20h14",
  out: "M14 5H6v14h8M11 12h9M17 8l4 4-4 4",
};

export const icon = (name) =>
  draw(
    "svg",
    { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" },
    draw("path", { d: ICONS[name] }),
  );

/** The mark of the program. */
export const mark = () =>
  draw(
    "svg",
    { viewBox: "0 0 32 32", class: "mark", "aria-hidden": "true" },
    draw("path", { d: "M16 4a7 7 0 0 0-3.3 13.2L10.4 28h11.2l-2.3-10.8A7 7 0 0 0 16 4z" }),
  );

/** Tells those who cannot see it that something happened. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** A button that copies what `text` gives. */
export function copier(text, name = "Copy") {
  const label = make("span", {}, name);
  const button = make(
    "button",
    { type: "button", class: "quiet small copier", "aria-label": name },
    icon("copy"),
    label,
  );
  button.addEventListener("click", async () => {
    const copied = await copy(text());
    label.textContent = copied ? "Copied" : "Select and copy";
    button.replaceChild(icon(copied ? "done" : "copy"), button.firstChild);
    say(copied ? "Copied" : "Copying is not possible here");
    setTimeout(() => {
      label.textContent = name;
      button.replaceChild(icon("copy"), button.firstChild);
    }, 1800);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain HTTP from another machine there is no clipboard.
    const area = make("textarea", { class: "unseen", value: text });
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}

const whole = new Intl.NumberFormat("en");

export const count = (number) => whole.format(number);

export const plural = (number, one, many = `${one}s`) =>
  `${count(number)} ${number === 1 ? one : many}`;

/** Microseconds, as short as they can be read. */
export function duration(microseconds) {
  if (microseconds === null || microseconds === undefined) return "–";
  if (microseconds < 1_000) return `${Math.round(microseconds)} µs`;
  if (microseconds < 10_000) return `${(microseconds / 1_000).toFixed(1)} ms`;
  if (microseconds < 1_000_000) return `${Math.round(microseconds / 1_000)} ms`;
  return `${(microseconds / 1_000_000).toFixed(1)} s`;
}

export function bytes(number) {
  if (number < 1_024) return `${number} B`;
  if (number < 1_048_576) return `${(number / 1_024).toFixed(1)} KiB`;
  return `${(number / 1_048_576).toFixed(1)} MiB`;
}

/** Bytes that are a bound: rounded up, as plans write them. */
export function bytesAtMost(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, unit] = [number, 0];
  while (value >= 1_024 && unit < units.length - 1) [value, unit] = [value / 1_024, unit + 1];
  const shown = unit > 0 && value < 10 ? (Math.ceil(value * 10) / 10).toFixed(1) : Math.ceil(value);
  return `${shown} ${units[unit]}`;
}

/** A moment, with its whole instant when pointed at. */
export function moment(milliseconds) {
  const date = new Date(milliseconds);
  return make("time", { datetime: date.toISOString(), title: date.toISOString() }, ago(date));
}

function ago(date) {
  const seconds = (Date.now() - date.getTime()) / 1_000;
  const ahead = seconds < 0;
  const far = Math.abs(seconds);
  const said = (number, unit) => {
    const text = plural(Math.floor(number), unit);
    return ahead ? `in ${text}` : `${text} ago`;
  };
  if (far < 5 && !ahead) return "just now";
  if (far < 60) return said(far, "second");
  if (far < 3_600) return said(far / 60, "minute");
  if (far < 86_400) return said(far / 3_600, "hour");
  if (far < 86_400 * 60) return said(far / 86_400, "day");
  return date.toISOString().slice(0, 10);
}

/** The colour of a verb is what it does: reads, writes, removes. */
export const tint = (verb) =>
  ["get", "list", "near", "load", "check"].includes(verb)
    ? "reads"
    : ["delete", "take", "collect"].includes(verb)
      ? "removes"
      : "writes";

export const verb = (name) => make("span", { class: `verb ${tint(name)}` }, name);

/** Who may, as a word. */
export const may = (allow) => make("span", { class: "may" }, allow);

/** Arrow keys go through what `selector` finds. */
export function arrows(list, selector) {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const edge = { Home: 0, End: -1 }[event.key];
    if (step === undefined && edge === undefined) return;
    if (event.target.matches("input, select, textarea") && edge !== undefined) return;
    const items = [...list.querySelectorAll(selector)].filter((item) => item.offsetParent);
    const at = items.indexOf(document.activeElement);
    const next = step === undefined ? items.at(edge) : items[at + step];
    if (next) {
      next.focus();
      event.preventDefault();
    }
  });
  return list;
}

/** A problem where it belongs to nothing else. */
export function trouble(problem) {
  const rest = Object.entries(problem.members ?? {});
  return make(
    "div",
    { class: "trouble", role: "alert" },
    make("strong", {}, problem.message),
    rest.length > 0 &&
      make(
        "dl",
        { class: "facts" },
        rest.map(([name, value]) => [
          make("dt", {}, name.replaceAll("_", " ")),
          make("dd", {}, typeof value === "string" ? value : JSON.stringify(value)),
        ]),
      ),
  );
}
