// Index health: whether every index says what the rows say.

import { ask } from "./ask.js";
import { add, count, duration, fill, make, moment, plural, trouble } from "./make.js";

const EVERY = 700;

function sentence(run) {
  const looked = `${plural(run.rows, "row")} and ${plural(run.entries, "index entry", "index entries")} looked at`;
  const remain = run.found - run.repaired;
  if (run.state === "running")
    return `${count(run.parts_done)} of ${count(run.parts)} collections and indexes done. ${looked} so far.`;
  if (run.state === "failed") return `It failed: ${run.reason}`;
  if (run.state === "stopped") return `Stopped; ${looked}`;
  if (run.found === 0) return `Every index says what the rows say. ${looked}.`;
  if (remain === 0) return `${plural(run.found, "problem")} found and repaired. ${looked}.`;
  return `${plural(run.found, "problem")} found, ${count(remain)} remain. ${looked}.`;
}

function problems(run) {
  if (run.problems.length === 0) return null;
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Problems" },
    make(
      "table",
      {},
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          ["what", "where", "key", "since"].map((name) => make("th", { scope: "col" }, name)),
        ),
      ),
      make(
        "tbody",
        {},
        run.problems.map((problem) =>
          make(
            "tr",
            {},
            make("td", {}, problem.kind),
            make(
              "td",
              { class: "mono" },
              problem.index ? `${problem.collection}.${problem.index}` : problem.collection,
            ),
            make("td", { class: "mono" }, problem.key),
            make("td", {}, problem.repaired ? "repaired" : "as found"),
          ),
        ),
      ),
    ),
  );
}

export async function show(body, { keyspace }) {
  const status = make("div", { class: "card scrub" });
  const repair = make("input", { type: "checkbox", id: "repair" });
  const start = make("button", { class: "primary" }, "Scrub now");
  const stop = make(
    "button",
    { type: "button", onclick: () => act("/-/api/scrub/stop", {}) },
    "Stop",
  );
  const indexes = keyspace.collections.reduce((sum, one) => sum + one.indexes.length, 0);
  let timer = null;

  function paint(run) {
    const isRunning = run.state === "running";
    start.disabled = isRunning;
    stop.disabled = !isRunning;
    const tone = isRunning
      ? "busy"
      : run.state === "failed" || run.found > run.repaired
        ? "bad"
        : "good";
    if (run.state === "none")
      fill(status, make("p", { class: "hint" }, "No scrub since the server started."));
    else {
      fill(
        status,
        make("p", { class: `state ${tone}`, role: "status" }, sentence(run)),
        isRunning &&
          make("progress", {
            "aria-label": "Collections and indexes done",
            max: run.parts,
            value: run.parts_done,
          }),
        make(
          "p",
          { class: "hint" },
          run.repair ? "Repairs what it finds. " : "Looks only. ",
          "Begun ",
          moment(run.began_at),
          " by ",
          make("code", {}, run.by),
          run.ended_at && [", took ", duration((run.ended_at - run.began_at) * 1_000)],
          ".",
        ),
        problems(run),
      );
    }
    clearTimeout(timer);
    if (isRunning) timer = setTimeout(look, EVERY);
  }

  async function act(path, sent) {
    try {
      paint(await ask(path, sent));
    } catch (problem) {
      fill(status, trouble(problem));
    }
  }

  async function look() {
    await act("/-/api/scrub");
  }

  add(body, [
    make(
      "header",
      { class: "head" },
      make("h1", {}, "Index health"),
      make(
        "p",
        { class: "lead" },
        `A scrub reads every row and every entry of ${plural(indexes, "index", "indexes")}, and holds them against each other.`,
      ),
    ),
    make(
      "form",
      {
        class: "search",
        onsubmit: (event) => {
          event.preventDefault();
          act("/-/api/scrub", { repair: repair.checked });
        },
      },
      make("label", { class: "check", for: "repair" }, repair, " Repair what can be"),
      start,
      stop,
    ),
    status,
  ]);
  await look();
  return () => clearTimeout(timer);
}
