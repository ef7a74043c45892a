// Runs a pattern: as whom, with what, and what came of it.

import { call, follow, trustedAs } from "./ask.js";
import { shownAnswer } from "./answer.js";
import { argumentsForm, curl, requestOf } from "./form.js";
import { add, bytes, copier, duration, fill, make, plural, say, trouble } from "./make.js";

const KEPT = "keyway.as";

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT)) ?? {};
  } catch {
    return {};
  }
}

/** Who calls: fields that stay from one pattern to the next. */
function caller() {
  const before = kept();
  const field = (name, hint) => {
    const input = make("input", {
      type: "text",
      id: `as-${name}`,
      value: before[name] ?? "",
      placeholder: hint,
      autocomplete: "off",
      spellcheck: "false",
    });
    return { input, element: make("div", {}, make("label", { for: `as-${name}` }, name), input) };
  };
  const fields = {
    user: field("user", "nobody"),
    tenant: field("tenant", "none"),
    roles: field("roles", "none, or a, b"),
  };
  const element = make(
    "fieldset",
    { class: "as" },
    make("legend", {}, "Run as"),
    Object.values(fields).map((one) => one.element),
  );
  element.addEventListener("input", () => {
    const texts = Object.entries(fields).map(([name, one]) => [name, one.input.value]);
    try {
      sessionStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(texts)));
    } catch {
      // It stays until the next view.
    }
  });
  const who = () => ({
    user: fields.user.input.value.trim(),
    tenant: fields.tenant.input.value.trim(),
    roles: fields.roles.input.value
      .split(",")
      .map((role) => role.trim())
      .filter(Boolean),
  });
  return { element, who };
}

export function runner(keyspace, pattern) {
  const as = caller();
  const line = make("pre", { class: "curl", tabindex: "0", "aria-label": "The same with curl" });
  const output = make("section", { class: "answer", "aria-label": "Answer" });
  let watching = null;
  let pages = 1;

  const given = new URLSearchParams(location.hash.split("?")[1] ?? "");
  const form = argumentsForm(pattern, { changed, given });
  function writeLine() {
    line.textContent = curl(requestOf(pattern, form.collect(true) ?? []), trustedAs(as.who()));
  }
  as.element.addEventListener("input", writeLine);
  function changed() {
    writeLine();
    const query = new URLSearchParams(form.values()).toString();
    history.replaceState(
      null,
      "",
      `#/patterns/${encodeURIComponent(pattern.name)}${query ? `?${query}` : ""}`,
    );
  }

  function refused(problem) {
    if (problem.name === "AbortError") return;
    const words = [
      problem.message,
      ...Object.values(problem.members ?? {}).filter((one) => typeof one === "string"),
    ];
    if (problem.argument && form.complain(problem.argument, words.join("; "))) {
      fill(output);
      say(`${problem.argument}: ${problem.message}`);
      return;
    }
    fill(output, trouble(problem));
  }

  async function run(cursor) {
    stopWatching();
    const pairs = form.collect();
    if (!pairs) return;
    button.disabled = true;
    try {
      const { json, took, bytes: size } = await call(requestOf(pattern, pairs, cursor), as.who());
      form.clear();
      pages = cursor ? pages + 1 : 1;
      answered(json, `${duration(took)} · ${bytes(size)}`);
    } catch (problem) {
      refused(problem);
    } finally {
      button.disabled = false;
    }
  }

  function answered(json, cost, known) {
    const { element, ways } = shownAnswer(json, { known });
    const rows = Array.isArray(json.rows) ? plural(json.rows.length, "row") : "";
    const next =
      json.next &&
      !watching &&
      make(
        "button",
        {
          type: "button",
          onclick: () => run(json.next),
        },
        "Next page",
      );
    const first =
      pages > 1 &&
      make("button", { type: "button", class: "quiet", onclick: () => run() }, "First page");
    fill(
      output,
      make(
        "div",
        { class: "answer-head" },
        make(
          "p",
          { class: "cost", role: "status" },
          [rows, pages > 1 && `page ${pages}`, cost].filter(Boolean).join(" · "),
        ),
        ways,
      ),
      element,
      (next || first) && make("div", { class: "pages" }, first, next),
    );
  }

  function stopWatching() {
    watching?.abort();
    watching = null;
    watch?.setAttribute("aria-pressed", "false");
  }

  async function startWatching() {
    const pairs = form.collect();
    if (!pairs) return;
    stopWatching();
    const mine = new AbortController();
    watching = mine;
    watch.setAttribute("aria-pressed", "true");
    let [answers, known] = [0, null];
    fill(output, make("p", { class: "cost live" }, "Watching…"));
    try {
      await follow(requestOf(pattern, pairs), as.who(), mine.signal, (name, json) => {
        if (watching !== mine) return;
        if (name === "problem") {
          refused(Object.assign(new Error(json.title), { members: {} }));
          return;
        }
        answers += 1;
        const at = new Date().toLocaleTimeString("en", { hour12: false });
        if (name === "missing") {
          fill(
            output,
            make("p", { class: "cost live" }, `live · ${plural(answers, "answer")} · ${at}`),
            make("p", { class: "hint" }, "The row is not there."),
          );
          return;
        }
        answered(json, `live · ${plural(answers, "answer")} · ${at}`, known);
        output.querySelector(".cost").classList.add("live");
        known = new Set((json.rows ?? [json.row]).map((row) => JSON.stringify(row)));
      });
      if (watching === mine) stopWatching();
    } catch (problem) {
      if (watching === mine) {
        stopWatching();
        refused(problem);
      }
    }
  }

  const button = make("button", { class: "primary" }, "Run");
  const watch = pattern.watchable
    ? make(
        "button",
        {
          type: "button",
          class: "switch",
          "aria-pressed": "false",
          onclick: () => {
            if (!watching) return startWatching();
            stopWatching();
            return add(output, make("p", { class: "hint" }, "No longer watched."));
          },
        },
        make("span", { class: "lamp", "aria-hidden": "true" }),
        "Watch",
      )
    : null;
  const element = make(
    "section",
    { class: "card run", "aria-label": "Run" },
    make(
      "form",
      {
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          run();
        },
      },
      as.element,
      form.element,
      make(
        "div",
        { class: "go" },
        button,
        watch,
        make(
          "span",
          { class: "mono endpoint" },
          `${pattern.reads ? "GET" : "POST"} /${pattern.name}`,
        ),
      ),
    ),
    make(
      "div",
      { class: "line" },
      line,
      copier(() => line.textContent, "Copy curl"),
    ),
    output,
  );
  writeLine();
  return { element, leave: stopWatching };
}
