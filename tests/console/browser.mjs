// A server, a browser, and an eye on everything that no page may do: errors, failed requests,
// requests to other hosts.

import { spawn } from "node:child_process";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts `keyway serve` and waits until it says where it is. */
export function serve(keyway, more = [], application = "scaffold", store = "memory:") {
  const server = spawn(
    keyway,
    [
      "serve",
      `apps/${application}/keyspace.toml`,
      "--store",
      store,
      "--listen",
      "127.0.0.1:0",
      ...more,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let [told, complained] = ["", ""];
  server.stderr.on("data", (text) => {
    complained += text;
  });
  return new Promise((resolve, reject) => {
    server.on("exit", (status) => reject(new Error(`keyway ended with ${status}: ${complained}`)));
    server.stdout.on("data", (text) => {
      told += text;
      if (!told.includes("Ctrl-C ends it")) return;
      const found = (pattern) => told.match(pattern)?.[1];
      resolve({
        address: found(/listening on (\S+)/),
        console: found(/console\s+(\S+)/),
        token: found(/token\s+(\S+)/),
        stop: () =>
          new Promise((ended) => {
            server.removeAllListeners("exit");
            server.on("exit", ended);
            server.kill("SIGINT");
          }),
      });
    });
  });
}

export const launch = () => chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });

/** A page whose every mistake is kept. `expected` are statuses that the next steps provoke. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: address });
  const page = await context.newPage();
  const mistakes = [];
  const eye = { expected: new Set(), mistakes };
  page.on("pageerror", (error) => mistakes.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    // Told by the response below, which knows whether it was meant.
    const isStatus = text.startsWith("Failed to load resource: the server responded");
    if (message.type() === "error" && !isStatus) mistakes.push(`console: ${text}`);
  });
  page.on("requestfailed", (request) => {
    const isStream = request.headers().accept === "text/event-stream";
    const reason = request.failure()?.errorText;
    if (!(reason === "net::ERR_ABORTED" && (isStream || eye.leaves))) {
      mistakes.push(`failed: ${request.url()} ${reason}`);
    }
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isOurs = url.origin === address || ["data:", "blob:"].includes(url.protocol);
    if (!isOurs) mistakes.push(`another host: ${request.url()}`);
  });
  page.on("response", (response) => {
    const status = response.status();
    if (status >= 400 && !eye.expected.has(status)) mistakes.push(`${status}: ${response.url()}`);
  });
  return { page, context, eye };
}

export function hold(condition, message) {
  if (!condition) throw new Error(message);
}

/** Fails, with what it is at last, unless a condition comes true. */
export async function until(what, find, isRight) {
  let last;
  for (let attempt = 0; attempt < 400; attempt += 1) {
    last = await find();
    if (isRight(last)) return last;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what}: it stays ${JSON.stringify(last)}`);
}
