// The page: who looks at it, which view is shown, and what stands around it.

import { Problem, ask, hasToken, part, trust, use } from "./ask.js";
import { openFind } from "./find.js";
import { fill, icon, make, mark, say, trouble } from "./make.js";
import * as health from "./health.js";
import * as layout from "./layout.js";
import * as overview from "./overview.js";
import * as patterns from "./patterns.js";
import * as pulse from "./pulse.js";
import * as rows from "./rows.js";
import * as tokens from "./tokens.js";
import * as traffic from "./traffic.js";

const VIEWS = [
  ["overview", "Overview", overview],
  ["patterns", "Patterns", patterns],
  ["rows", "Rows", rows],
  ["layout", "Layout", layout],
  ["traffic", "Traffic", traffic],
  ["health", "Index health", health],
  ["tokens", "Tokens", tokens],
];

const app = document.getElementById("app");
let keyspace = null;
let about = null;
let leave = null;

/** `#/rows/notes?under=x` → where to go. */
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { view: parts[0] ?? "overview", parts: parts.slice(1), query: new URLSearchParams(query) };
}

async function begin() {
  about = await ask("/-/about");
  trust(about.trusts_callers);
  const code = location.hash.match(/^#open=(.+)$/)?.[1];
  if (code) {
    // The code stands in the address no longer than it must.
    history.replaceState(null, "", "#/");
    if (!about.trusts_callers) {
      try {
        use((await ask("/-/open", { code: decodeURIComponent(code) })).token);
      } catch (problem) {
        if (!hasToken()) return showEntry(problem);
      }
    }
  }
  if (!hasToken() && !about.trusts_callers) return showEntry(null);
  await enter();
}

async function enter() {
  try {
    keyspace = await ask("/-/api/keyspace");
  } catch (problem) {
    return showEntry(problem.status === 401 ? null : problem);
  }
  showShell();
  pulse.start();
  await show();
}

function showEntry(problem) {
  pulse.stop();
  leave?.();
  leave = null;
  keyspace = null;
  document.title = `${about.keyspace} · Keyway`;
  const field = make("input", {
    id: "token",
    type: "password",
    name: "token",
    autocomplete: "off",
    required: true,
    spellcheck: "false",
    placeholder: "kw_operator_…",
    "aria-describedby": "token-help",
  });
  const slot = make("div", {}, problem && trouble(problem));
  const form = make(
    "form",
    { class: "entry-form" },
    make("label", { for: "token" }, "An operator's token"),
    field,
    make(
      "p",
      { id: "token-help", class: "hint" },
      "Made by ",
      make("code", {}, "keyway token create --operator"),
      ". Or open the address that ",
      make("code", {}, "keyway serve"),
      " printed: it works once.",
    ),
    slot,
    make("button", { class: "primary" }, "Open"),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    use(field.value.trim());
    try {
      keyspace = await ask("/-/api/keyspace");
      await enter();
    } catch (refused) {
      use(null);
      fill(slot, trouble(refused));
      field.focus();
    }
  });
  fill(
    app,
    make(
      "main",
      { class: "entry" },
      make(
        "div",
        { class: "entry-card" },
        make("div", { class: "brand" }, mark(), make("span", {}, "Keyway")),
        make("h1", {}, about.keyspace),
        form,
      ),
    ),
  );
  field.focus();
}

function showShell() {
  const links = VIEWS.map(([id, name]) =>
    make(
      "a",
      { href: `#/${id === "overview" ? "" : id}`, data: { view: id } },
      icon(id),
      make("span", {}, name),
    ),
  );
  const nav = make("nav", { id: "views", "aria-label": "Views" }, links);
  const menu = make(
    "button",
    {
      type: "button",
      class: "quiet icon-only menu",
      "aria-label": "Views",
      "aria-expanded": "false",
      "aria-controls": "views",
    },
    icon("menu"),
  );
  const toggle = (open) => {
    nav.classList.toggle("open", open);
    menu.setAttribute("aria-expanded", String(open));
    if (open) nav.querySelector("a").focus();
  };
  menu.addEventListener("click", () => toggle(!nav.classList.contains("open")));
  nav.addEventListener("click", () => toggle(false));
  nav.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && nav.classList.contains("open")) {
      toggle(false);
      menu.focus();
    }
  });
  fill(
    app,
    make(
      "a",
      {
        class: "skip",
        href: "#main",
        onclick: (event) => {
          event.preventDefault();
          document.getElementById("main").focus();
        },
      },
      "Skip to the view",
    ),
    make(
      "header",
      { class: "bar" },
      make(
        "a",
        { class: "brand", href: "#/" },
        mark(),
        make("span", { class: "name" }, keyspace.name),
      ),
      make(
        "button",
        { type: "button", class: "finder", onclick: find, "aria-keyshortcuts": "/ Control+K" },
        icon("find"),
        make("span", {}, "Find a pattern"),
        make("kbd", { "aria-hidden": "true" }, "/"),
      ),
      make("span", { class: "store", title: keyspace.store.address }, keyspace.store.kind),
      themeButton(),
      hasToken() &&
        make(
          "button",
          {
            type: "button",
            class: "quiet icon-only",
            "aria-label": "Leave",
            title: "Leave",
            onclick: away,
          },
          icon("out"),
        ),
      menu,
    ),
    nav,
    make("main", { id: "main", tabindex: "-1" }),
  );
}

function themeButton() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
  const button = make("button", { type: "button", class: "quiet icon-only theme" });
  const paint = () => {
    const next = now() === "dark" ? "light" : "dark";
    fill(button, icon(next));
    button.setAttribute("aria-label", `Change to ${next}`);
    button.title = `Change to ${next}`;
  };
  button.addEventListener("click", () => {
    root.dataset.theme = now() === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("keyway.theme", root.dataset.theme);
    } catch {
      // Until the page is closed.
    }
    paint();
  });
  dark.addEventListener("change", paint);
  paint();
  return button;
}

async function away() {
  pulse.stop();
  await part();
  showEntry(null);
}

const find = () => keyspace && openFind(keyspace, VIEWS);

/** Shows the view that the address names. */
async function show() {
  const { view, parts, query } = place();
  const known = VIEWS.find(([id]) => id === view);
  const main = document.getElementById("main");
  if (!main) return;
  leave?.();
  leave = null;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const [, name, module] = known ?? [null, "Nothing here", null];
  document.title = `${[...parts.slice(0, 1), name].join(" · ")} · ${keyspace.name}`;
  const body = make("div", { class: `view ${view}` });
  fill(main, body);
  window.scrollTo(0, 0);
  try {
    if (!module) throw new Problem(404, { title: "there is no such view" });
    leave = (await module.show(body, { keyspace, parts, query })) ?? null;
  } catch (problem) {
    fill(body, make("h1", {}, name), trouble(problem));
  }
  say(name);
}

window.addEventListener("hashchange", async () => {
  if (location.hash.startsWith("#open=")) return begin();
  if (keyspace) {
    await show();
    document.getElementById("main")?.focus({ preventScroll: true });
  }
});
window.addEventListener("keyway-locked", (event) => showEntry(event.detail));
window.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches?.("input, select, textarea, [contenteditable]");
  const isSlash = event.key === "/" && !isTyping;
  const isCombined = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
  if (keyspace && (isSlash || isCombined)) {
    event.preventDefault();
    find();
  }
});

begin().catch((problem) => fill(app, make("main", { class: "entry" }, trouble(problem))));
