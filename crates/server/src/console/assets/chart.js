// Lines over time, drawn by hand: a few series, one scale from zero, the newest at the right.

import { add, draw, fill, make } from "./make.js";

const SHOWN = 160;

/** A round number that is not smaller. */
function ceiling(value) {
  if (!(value > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * size).find((step) => step >= value);
}

function path(values, x, y) {
  let text = "";
  let isOpen = false;
  values.forEach((value, at) => {
    if (value === null || value === undefined) {
      isOpen = false;
      return;
    }
    text += `${isOpen ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    isOpen = true;
  });
  return text;
}

/**
 * A chart of `series`: `[{ name, tone, of: sample => number | null }]`, written by `format`.
 * The answer has the element, and `show(samples)`.
 */
export function chart({ title, series, format, floor = 1, isWide = false }) {
  const plot = make("div", { class: "plot" });
  const legend = make("ul", { class: "legend" });
  const figure = make(
    "figure",
    { class: isWide ? "chart wide" : "chart" },
    make("figcaption", {}, make("h2", {}, title), legend),
    plot,
  );
  let last = [];
  let pointed = null;

  function show(samples) {
    last = samples.slice(-SHOWN);
    redraw();
  }

  function redraw() {
    const width = Math.max(200, plot.clientWidth || 600);
    const height = 164;
    const edge = { top: 14, right: 4, bottom: 22, left: 4 };
    const values = series.map((one) => last.map(one.of));
    const most = ceiling(Math.max(floor, ...values.flat().filter((value) => value !== null)));
    const inner = width - edge.left - edge.right;
    const x = (at) => edge.left + (inner * (SHOWN - last.length + at)) / (SHOWN - 1);
    const y = (value) => height - edge.bottom - ((height - edge.top - edge.bottom) * value) / most;
    const at =
      pointed === null
        ? last.length - 1
        : Math.round(((pointed - edge.left) / inner) * (SHOWN - 1)) - (SHOWN - last.length);
    const chosen = Math.max(0, Math.min(last.length - 1, at));
    const written = (value) => (value === null || value === undefined ? "–" : format(value));
    const reading = series.map((one, number) => `${one.name} ${written(values[number][chosen])}`);
    const picture = draw("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": `${title}: ${reading.join(", ")}`,
    });
    for (const part of [0, 0.5, 1]) {
      const line = y(most * part);
      add(
        picture,
        draw("line", { x1: edge.left, x2: width - edge.right, y1: line, y2: line, class: "grid" }),
      );
      if (part > 0) {
        add(
          picture,
          draw("text", { x: edge.left, y: line - 3, class: "scale" }, format(most * part)),
        );
      }
    }
    const base = { y: height - 6, class: "scale" };
    add(picture, draw("text", { ...base, x: edge.left }, "4 minutes ago"));
    add(picture, draw("text", { ...base, x: width - edge.right, "text-anchor": "end" }, "now"));
    series.forEach((one, number) => {
      const line = path(values[number], x, y);
      if (one.filled && line) {
        const base = y(0).toFixed(1);
        const area = `${line}L${x(last.length - 1).toFixed(1)} ${base}L${x(0).toFixed(1)} ${base}Z`;
        add(picture, draw("path", { d: area, class: `area ${one.tone}` }));
      }
      add(picture, draw("path", { d: line, class: `line ${one.tone}` }));
      const value = values[number][chosen];
      if (value !== null && value !== undefined) {
        add(
          picture,
          draw("circle", { cx: x(chosen), cy: y(value), r: 3, class: `dot ${one.tone}` }),
        );
      }
    });
    if (pointed !== null) {
      const line = x(chosen);
      add(
        picture,
        draw("line", { x1: line, x2: line, y1: edge.top, y2: height - edge.bottom, class: "hair" }),
      );
    }
    fill(plot, picture);
    fill(
      legend,
      series.map((one, number) =>
        make(
          "li",
          {},
          make("span", { class: `key ${one.tone}`, "aria-hidden": "true" }),
          one.name,
          " ",
          make("b", {}, written(values[number][chosen])),
        ),
      ),
    );
  }

  plot.addEventListener("pointermove", (event) => {
    pointed = event.clientX - plot.getBoundingClientRect().left;
    redraw();
  });
  plot.addEventListener("pointerleave", () => {
    pointed = null;
    redraw();
  });
  return { element: figure, show };
}

/** A line without words, for a glance; from nothing to `top`, or to the largest of its values. */
export function spark(values, tone, top = 0) {
  const [width, height] = [160, 36];
  const most = Math.max(1e-9, top, ...values.filter((value) => value !== null));
  const step = width / Math.max(1, 60 - 1);
  const shown = values.slice(-60);
  const x = (at) => width - (shown.length - 1 - at) * step;
  const y = (value) => height - 3 - ((height - 6) * value) / most;
  return draw(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      class: "spark",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    },
    draw("path", { d: path(shown, x, y), class: `line ${tone}` }),
  );
}
