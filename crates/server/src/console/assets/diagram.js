// The keyspace as a diagram: patterns, the keys they go by, and the collections those lead to.
//
//   wide     pattern ───▶ key ───▶ collection       narrow    collection
//                                                              ├─ key
//                                                              │   └ pattern

import { add, draw, make, tint } from "./make.js";

const ROW = 26;
const KEY = 30;

/** Each collection with its keys, and with who goes by each of them. */
function bands(keyspace) {
  return keyspace.collections.map((collection) => {
    const of = keyspace.patterns.filter((pattern) => pattern.collection === collection.name);
    const atomics = keyspace.patterns.filter((pattern) =>
      pattern.steps.some((step) => step.collection === collection.name),
    );
    const own = {
      name: null,
      key: collection.key,
      patterns: [...of.filter((pattern) => !pattern.index), ...atomics],
    };
    const indexes = collection.indexes.map((index) => ({
      name: index.name,
      key: index.key,
      unique: index.unique,
      patterns: of.filter((pattern) => pattern.index === index.name),
    }));
    return { collection, keys: [own, ...indexes] };
  });
}

const short = (text, letters) =>
  text.length > letters ? `${text.slice(0, Math.max(1, letters - 1))}…` : text;

const link = (href, name, given, ...children) =>
  draw("a", { href, "aria-label": name, ...given }, draw("title", {}, name), children);

function patternAt(pattern, x, y, width) {
  const room = Math.floor((width - 66) / 7.2);
  const sentence = `${pattern.name}: ${pattern.about ?? pattern.verb}`;
  return link(
    `#/patterns/${encodeURIComponent(pattern.name)}`,
    sentence,
    { class: `pattern ${tint(pattern.verb)}` },
    draw("rect", { x, y: y - 11, width, height: 22, rx: 6 }),
    draw("text", { x: x + 8, y: y + 4, class: "does" }, pattern.verb),
    draw("text", { x: x + 58, y: y + 4, class: "name" }, short(pattern.name, room)),
  );
}

function collectionAt(collection, x, y, width, height) {
  const fields = collection.value ?? collection.fields.map((field) => field.name).join(", ");
  const href = `#/rows/${encodeURIComponent(collection.name)}`;
  const room = Math.floor((width - 24) / 6.6);
  return link(
    href,
    `Rows of ${collection.name}`,
    { class: "collection" },
    draw("rect", { x, y, width, height, rx: 10 }),
    draw("text", { x: x + 14, y: y + 24, class: "name" }, collection.name),
    draw("text", { x: x + 14, y: y + 42, class: "more" }, short(fields || "keys only", room)),
  );
}

function keyAt(key, x, y, width) {
  const words = key.name ? `${key.unique ? "unique " : ""}${key.name}` : "own key";
  const room = Math.floor((width - 16) / 6.7);
  return draw(
    "g",
    { class: key.name ? "key index" : "key" },
    draw("title", {}, `${words}: ${key.key}`),
    draw("rect", { x, y: y - 17, width, height: 34, rx: 7 }),
    draw("text", { x: x + 10, y: y - 3, class: "words" }, words),
    draw("text", { x: x + 10, y: y + 10, class: "template" }, short(key.key, room)),
  );
}

/** From one side to the other; a line that begins before `x1` leads there first. */
const curve = (from, x1, y1, x2, y2, classes) => {
  const middle = (x1 + x2) / 2;
  const d = `M${from} ${y1}H${x1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
  return draw("path", { d, class: `wire ${classes}` });
};

/** Where the name of a pattern ends. */
const nameEnd = (pattern, width) => Math.min(width, 58 + pattern.name.length * 7.3 + 10);

function wide(all, width) {
  const names = all.flatMap(({ keys }) => keys.flatMap((key) => key.patterns));
  const longest = Math.max(120, ...names.map((pattern) => nameEnd(pattern, 1_000)));
  const columns = { pattern: Math.min(longest, width * 0.27), key: Math.min(430, width * 0.38) };
  columns.collection = Math.min(250, width * 0.23);
  const keyAtX = columns.pattern + (width - columns.pattern - columns.key - columns.collection) / 2;
  const collectionX = width - columns.collection;
  const picture = draw("g", {});
  const [wires, things] = [draw("g", {}), draw("g", {})];
  add(picture, [wires, things]);
  let top = 4;
  for (const { collection, keys } of all) {
    const heights = keys.map((key) => Math.max(44, key.patterns.length * ROW + 10));
    const height = Math.max(
      68,
      heights.reduce((sum, one) => sum + one, 0),
    );
    const spare = (height - heights.reduce((sum, one) => sum + one, 0)) / keys.length;
    add(
      things,
      collectionAt(collection, collectionX, top + height / 2 - 29, columns.collection, 58),
    );
    let at = top;
    keys.forEach((key, number) => {
      const room = heights[number] + spare;
      const middle = at + room / 2;
      add(
        wires,
        curve(
          keyAtX + columns.key,
          keyAtX + columns.key,
          middle,
          collectionX,
          top + height / 2,
          "to",
        ),
      );
      const first = middle - ((key.patterns.length - 1) * ROW) / 2;
      key.patterns.forEach((pattern, order) => {
        const y = first + order * ROW;
        add(
          wires,
          curve(
            nameEnd(pattern, columns.pattern),
            columns.pattern,
            y,
            keyAtX,
            middle,
            `${tint(pattern.verb)}${pattern.verb === "atomic" ? " atomic" : ""}`,
          ),
        );
        add(things, patternAt(pattern, 0, y, columns.pattern));
      });
      add(things, keyAt(key, keyAtX, middle, columns.key));
      at += room;
    });
    top += height + 22;
    add(wires, draw("line", { x1: 0, x2: width, y1: top - 11, y2: top - 11, class: "rule" }));
  }
  return { picture, height: top };
}

function narrow(all, width) {
  const picture = draw("g", {});
  const [wires, things] = [draw("g", {}), draw("g", {})];
  add(picture, [wires, things]);
  let y = 4;
  for (const { collection, keys } of all) {
    add(things, collectionAt(collection, 0, y, width, 54));
    y += 54;
    let above = y;
    for (const key of keys) {
      y += key.name ? KEY + 8 : KEY;
      add(wires, draw("path", { d: `M10 ${above}V${y}H18`, class: "wire to" }));
      above = y;
      add(things, keyAt(key, 18, y, width - 18));
      let last = y + 17;
      for (const pattern of key.patterns) {
        y += last === y + 17 ? 32 : ROW;
        add(wires, draw("path", { d: `M28 ${last}V${y}H36`, class: `wire ${tint(pattern.verb)}` }));
        add(things, patternAt(pattern, 36, y, width - 36));
        last = y;
      }
      if (key.patterns.length === 0) y += 8;
    }
    y += 34;
  }
  return { picture, height: y };
}

/** The diagram of a keyspace; it is drawn again when there is more or less room. */
export function diagram(keyspace) {
  const all = bands(keyspace);
  const frame = make("div", { class: "diagram" });
  let before = 0;
  const redraw = () => {
    const width = Math.floor(frame.clientWidth);
    if (width === 0 || width === before) return;
    before = width;
    const { picture, height } = width < 720 ? narrow(all, width) : wide(all, width);
    const label = `${keyspace.collections.length} collections and ${keyspace.patterns.length} patterns`;
    frame.replaceChildren(
      draw(
        "svg",
        {
          viewBox: `0 0 ${width} ${height}`,
          width,
          height,
          role: "group",
          "aria-label": label,
        },
        picture,
      ),
    );
  };
  const watcher = new ResizeObserver(redraw);
  watcher.observe(frame);
  return { element: frame, leave: () => watcher.disconnect() };
}
