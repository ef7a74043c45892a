// The traffic of the last minutes: asked for while somebody looks, kept in the page.

import { ask } from "./ask.js";

const EVERY = 1_500;
const KEPT = 240;

/** Samples, oldest first: counts since the start, and what they are a second. */
export const samples = [];

const listeners = new Set();
let timer = null;

/** `heard` is told of every sample, until the answer is called. */
export function listen(heard) {
  listeners.add(heard);
  if (samples.length > 0) heard(samples);
  return () => listeners.delete(heard);
}

export function start() {
  stop();
  samples.length = 0;
  beat();
}

export function stop() {
  clearTimeout(timer);
  timer = null;
}

async function beat() {
  const mine = setTimeout(beat, EVERY);
  timer = mine;
  if (document.hidden) return;
  let now;
  try {
    now = await ask("/-/api/traffic");
  } catch {
    // A server that is away is back, or says why, the next time.
    return;
  }
  if (timer === null) return;
  now.at = performance.now();
  const before = samples.at(-1);
  const seconds = before ? (now.at - before.at) / 1_000 : 1;
  const rate = (name) => (before ? Math.max(0, (now[name] - before[name]) / seconds) : 0);
  now.answeredRate = rate("answered");
  now.failedRate = rate("failed");
  now.callsRate = now.answeredRate + now.failedRate;
  now.problemRates = {};
  for (const [name, total] of Object.entries(now.problems)) {
    const past = before?.problems[name] ?? (before ? 0 : total);
    now.problemRates[name] = Math.max(0, (total - past) / seconds);
  }
  samples.push(now);
  if (samples.length > KEPT) samples.shift();
  for (const heard of listeners) heard(samples);
}
