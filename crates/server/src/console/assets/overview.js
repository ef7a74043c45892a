// What is served, by which store, and how busy it is.

import { spark } from "./chart.js";
import { diagram } from "./diagram.js";
import { add, count, duration, fill, make, plural } from "./make.js";
import { listen } from "./pulse.js";

const LASTS = {
  none: "Kept in memory: gone when the program ends.",
  process: "A commit survives the end of the program, however it ends.",
  power: "A commit survives a loss of power.",
};
const TOGETHER = {
  store: "Any rows can change together, in one commit.",
  group: "Rows of one group change together; a protocol keeps indexes true across groups.",
};
const AGAIN = {
  batches: "A call that is sent again is known by its id, and not made twice.",
  rows: "A call that is sent again is known by the rows it wrote.",
};

function glance() {
  const tiles = [
    [
      "Calls a second",
      "reads",
      (one) => one.callsRate,
      (value) => (value < 10 ? value.toFixed(1) : count(Math.round(value))),
    ],
    ["Latency, 95 of 100", "writes", (one) => one.microseconds?.[1] ?? null, duration],
    [
      "Problems a second",
      "removes",
      (one) => Object.values(one.problemRates).reduce((sum, rate) => sum + rate, 0),
      (value) => value.toFixed(1),
    ],
    ["Watchers", "reads", (one) => one.watchers, count],
  ].map(([name, tone, of, format]) => {
    const value = make("b", {}, "–");
    const line = make("div", {});
    return {
      element: make("li", {}, make("span", {}, name), value, line),
      show: (samples) => {
        const now = of(samples.at(-1));
        value.textContent = now === null ? "–" : format(now);
        fill(line, spark(samples.map(of), tone));
      },
    };
  });
  const leave = listen((samples) => tiles.forEach((tile) => tile.show(samples)));
  const element = make(
    "section",
    { class: "glance", "aria-label": "Traffic" },
    make(
      "ul",
      {},
      tiles.map((tile) => tile.element),
    ),
    make("a", { href: "#/traffic", class: "further" }, "All traffic"),
  );
  return { element, leave };
}

export function show(body, { keyspace }) {
  const { store } = keyspace;
  const traffic = glance();
  const picture = diagram(keyspace);
  add(body, [
    make(
      "header",
      { class: "head" },
      make("h1", {}, keyspace.name),
      keyspace.about && make("p", { class: "lead" }, keyspace.about),
    ),
    traffic.element,
    make(
      "section",
      { class: "card promise", "aria-labelledby": "store-head" },
      make(
        "div",
        {},
        make("h2", { id: "store-head" }, "Store"),
        make("p", { class: "address" }, make("code", {}, store.address)),
        make(
          "p",
          { class: "hint" },
          `${plural(keyspace.collections.length, "collection")}, ${plural(
            keyspace.collections.reduce((sum, one) => sum + one.indexes.length, 0),
            "index",
            "indexes",
          )}, ${plural(keyspace.patterns.length, "pattern")}`,
        ),
      ),
      make(
        "ul",
        { class: "promises" },
        [LASTS[store.durability], TOGETHER[store.atomicity], AGAIN[store.remembers]].map(
          (sentence) => make("li", {}, sentence),
        ),
      ),
    ),
    [...keyspace.remarks].map((remark) => make("p", { class: "remark" }, remark)),
    keyspace.warnings.length > 0 &&
      make(
        "details",
        { class: "card" },
        make("summary", {}, plural(keyspace.warnings.length, "warning"), " about the file"),
        keyspace.warnings.map((warning) => make("pre", { tabindex: "0" }, warning)),
      ),
    make(
      "section",
      { class: "map", "aria-labelledby": "map-head" },
      make(
        "div",
        { class: "map-head" },
        make("h2", { id: "map-head" }, "Keyspace"),
        make(
          "ul",
          { class: "legend", "aria-hidden": "true" },
          ["reads", "writes", "removes"].map((tone) =>
            make("li", {}, make("span", { class: `key ${tone}` }), tone),
          ),
        ),
      ),
      picture.element,
    ),
    keyspace.deferred.length > 0 &&
      make(
        "section",
        { "aria-labelledby": "later-head" },
        make("h2", { id: "later-head" }, "Not yet"),
        make(
          "dl",
          { class: "later" },
          keyspace.deferred.map((one) => [
            make("dt", {}, make("code", {}, one.id), " ", one.about),
            make("dd", {}, one.reason),
          ]),
        ),
      ),
  ]);
  return () => {
    traffic.leave();
    picture.leave();
  };
}
