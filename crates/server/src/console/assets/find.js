// Finds a pattern, a collection or a view by a few letters.

import { fill, icon, make, verb } from "./make.js";

let dialog = null;

/** Everything that can be gone to. */
function places(keyspace, views) {
  const patterns = keyspace.patterns.map((pattern) => ({
    name: pattern.name,
    words: [pattern.id, pattern.name, pattern.about, pattern.verb, pattern.target].join(" "),
    about: pattern.about,
    sign: () => verb(pattern.verb),
    href: `#/patterns/${encodeURIComponent(pattern.name)}`,
  }));
  const collections = keyspace.collections.map((collection) => ({
    name: collection.name,
    words: `${collection.name} rows ${collection.key}`,
    about: collection.key,
    sign: () => make("span", { class: "verb rows" }, "rows"),
    href: `#/rows/${encodeURIComponent(collection.name)}`,
  }));
  const others = views.map(([id, name]) => ({
    name,
    words: name,
    about: "",
    sign: () => icon(id),
    href: `#/${id === "overview" ? "" : id}`,
  }));
  return [...patterns, ...collections, ...others];
}

/** How well words fit what is sought; nothing if they do not. */
export function fit(words, sought) {
  const text = words.toLowerCase();
  let score = 0;
  for (const word of sought.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = text.indexOf(word);
    if (at < 0) return null;
    const begins = at === 0 || /[\s_.:]/.test(text[at - 1]);
    score += (begins ? 0 : 100) + at;
  }
  return score;
}

export function openFind(keyspace, views) {
  if (dialog) return;
  const before = document.activeElement;
  const all = places(keyspace, views);
  let found = [];
  let chosen = 0;
  const list = make("ul", { id: "found", role: "listbox", "aria-label": "Found" });
  const field = make("input", {
    type: "text",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "found",
    "aria-autocomplete": "list",
    "aria-label": "Find a pattern",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "A pattern, a collection, a view",
  });
  const choose = (at) => {
    chosen = Math.max(0, Math.min(at, found.length - 1));
    [...list.children].forEach((item, number) =>
      item.setAttribute("aria-selected", String(number === chosen)),
    );
    const item = list.children[chosen];
    if (item?.id) field.setAttribute("aria-activedescendant", item.id);
    else field.removeAttribute("aria-activedescendant");
    item?.scrollIntoView({ block: "nearest" });
  };
  const go = (at) => {
    const target = found[at];
    if (!target) return;
    close(false);
    location.hash = target.href;
  };
  const look = () => {
    const fits = all.map((one) => [fit(one.words, field.value), one]);
    found = fits
      .filter(([score]) => score !== null)
      .sort(([left], [right]) => left - right)
      .slice(0, 40)
      .map(([, one]) => one);
    fill(
      list,
      found.map((one, number) =>
        make(
          "li",
          { role: "option", id: `found-${number}`, onclick: () => go(number) },
          make("span", { class: "sign" }, one.sign()),
          make("span", { class: "found-name" }, one.name),
          make("span", { class: "found-about" }, one.about ?? ""),
        ),
      ),
    );
    if (found.length === 0) fill(list, make("li", { class: "nothing" }, "Nothing of that name"));
    choose(0);
  };
  const close = (goesBack) => {
    dialog.close();
    dialog.remove();
    dialog = null;
    if (goesBack) before?.focus?.();
  };
  field.addEventListener("input", look);
  field.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (event.key in steps) choose(chosen + steps[event.key]);
    else if (event.key === "Enter") go(chosen);
    else return;
    event.preventDefault();
  });
  dialog = make(
    "dialog",
    { class: "find", "aria-label": "Find" },
    make("div", { class: "find-field" }, icon("find"), field, make("kbd", {}, "Esc")),
    list,
  );
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close(true);
  });
  dialog.addEventListener("click", (event) => event.target === dialog && close(true));
  document.body.append(dialog);
  dialog.showModal();
  field.focus();
  look();
}
