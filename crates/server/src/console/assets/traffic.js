// Live charts of what is asked, how long it takes, and how much of its bound each pattern uses.

import { chart, spark } from "./chart.js";
import { add, count, draw, duration, fill, make, verb } from "./make.js";
import { listen } from "./pulse.js";

const rate = (value) => (value < 10 ? value.toFixed(1) : count(Math.round(value)));

function bar(percent) {
  const width = Math.min(100, percent);
  // All of a bound is what it is there for; more would be a mistake in its proof.
  const tone = percent > 100 ? "removes" : "reads";
  return draw(
    "svg",
    { viewBox: "0 0 100 8", class: "bar-of", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { x: 0, y: 0, width: 100, height: 8, rx: 2, class: "whole" }),
    draw("rect", { x: 0, y: 0, width, height: 8, rx: 2, class: `part ${tone}` }),
  );
}

/** How much of its bound a pattern used, moment by moment. */
const boundsOf = (samples, name) =>
  samples.map((one) => {
    const found = one.patterns.find((pattern) => pattern.name === name);
    return found?.bound_percent_now ?? null;
  });

function patternTable(keyspace, samples) {
  const now = samples.at(-1);
  if (now.patterns.length === 0)
    return make("p", { class: "empty" }, "Nothing was called since the server started.");
  const verbs = new Map(keyspace.patterns.map((pattern) => [pattern.name, pattern.verb]));
  const sorted = [...now.patterns].sort(
    (left, right) => right.answered + right.failed - left.answered - left.failed,
  );
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Calls by pattern" },
    make(
      "table",
      { class: "numbers" },
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          [
            "pattern",
            "answered",
            "refused",
            "half",
            "95 of 100",
            "99 of 100",
            "rows, of its bound",
          ].map((name) => make("th", { scope: "col" }, name)),
        ),
      ),
      make(
        "tbody",
        {},
        sorted.map((one) =>
          make(
            "tr",
            {},
            make(
              "th",
              { scope: "row" },
              make(
                "a",
                { class: "mono", href: `#/patterns/${encodeURIComponent(one.name)}` },
                one.name,
              ),
              " ",
              verb(verbs.get(one.name) ?? ""),
            ),
            make("td", {}, count(one.answered)),
            make("td", {}, count(one.failed)),
            one.microseconds.map((time) => make("td", {}, one.answered > 0 ? duration(time) : "–")),
            make(
              "td",
              { class: "bound" },
              bar(one.bound_percent),
              make("span", { class: "percent" }, `${one.bound_percent} %`),
              spark(boundsOf(samples, one.name), "reads", 100),
            ),
          ),
        ),
      ),
    ),
  );
}

function problemTable(now) {
  const all = Object.entries(now.problems);
  if (all.length === 0) return make("p", { class: "empty" }, "None.");
  return make(
    "ul",
    { class: "tally" },
    all.map(([name, number]) =>
      make("li", {}, make("code", {}, name), make("b", {}, count(number))),
    ),
  );
}

export function show(body, { keyspace }) {
  const charts = [
    chart({
      title: "Calls a second",
      format: rate,
      series: [
        { name: "answered", tone: "reads", filled: true, of: (one) => one.answeredRate },
        { name: "refused", tone: "removes", of: (one) => one.failedRate },
      ],
    }),
    chart({
      title: "Latency",
      format: duration,
      floor: 100,
      series: [
        { name: "half", tone: "reads", of: (one) => one.microseconds?.[0] ?? null },
        { name: "95 of 100", tone: "writes", of: (one) => one.microseconds?.[1] ?? null },
        { name: "99 of 100", tone: "removes", of: (one) => one.microseconds?.[2] ?? null },
      ],
    }),
    chart({
      title: "Rows, of the bound",
      isWide: true,
      format: (value) => `${Math.round(value)} %`,
      floor: 100,
      series: [
        { name: "half", tone: "reads", of: (one) => one.bound_percent?.[0] ?? null },
        { name: "95 of 100", tone: "writes", of: (one) => one.bound_percent?.[1] ?? null },
        { name: "highest", tone: "removes", of: (one) => one.bound_percent?.[2] ?? null },
      ],
    }),
    chart({
      title: "Watchers",
      format: (value) => rate(value).replace(".0", ""),
      series: [{ name: "streams", tone: "reads", filled: true, of: (one) => one.watchers }],
    }),
    chart({
      title: "Problems a second",
      format: rate,
      series: [
        {
          name: "all kinds",
          tone: "removes",
          filled: true,
          of: (one) => Object.values(one.problemRates).reduce((sum, value) => sum + value, 0),
        },
      ],
    }),
  ];
  const [patterns, problems, totals] = [
    make("div", {}),
    make("div", {}),
    make("p", { class: "lead" }, "…"),
  ];
  add(body, [
    make("header", { class: "head" }, make("h1", {}, "Traffic"), totals),
    make(
      "div",
      { class: "charts" },
      charts.map((one) => one.element),
    ),
    make(
      "section",
      { "aria-labelledby": "calls-head" },
      make("h2", { id: "calls-head" }, "Patterns"),
      make(
        "p",
        { class: "hint" },
        "Latencies and bounds are of each pattern's last 512 calls; a bound is the most rows that its plan proves a call can read or write, and the line how much of it was used from moment to moment.",
      ),
      patterns,
    ),
    make(
      "section",
      { "aria-labelledby": "problems-head" },
      make("h2", { id: "problems-head" }, "Problems by kind"),
      problems,
    ),
  ]);
  return listen((samples) => {
    const now = samples.at(-1);
    charts.forEach((one) => one.show(samples));
    totals.textContent = `${count(now.answered)} answered, ${count(now.failed)} refused, ${count(now.swept)} ended rows removed since the start.`;
    // Whoever reads the table with the keyboard is not disturbed.
    if (!patterns.contains(document.activeElement)) fill(patterns, patternTable(keyspace, samples));
    fill(problems, problemTable(now));
  });
}
