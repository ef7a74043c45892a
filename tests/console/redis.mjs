// A Redis of its own whose answers can be made to wait, so that what takes long on a large store is
// seen on a small one.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const listening = (server) =>
  new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));

async function freePort() {
  const server = createServer();
  const port = await listening(server);
  await new Promise((closed) => server.close(closed));
  return port;
}

const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    socket.on("error", () => resolve(false));
    socket.on("data", (bytes) => {
      socket.destroy();
      resolve(String(bytes).startsWith("+PONG"));
    });
  });

/** Starts it. `answer.waits` is how many milliseconds each answer waits. */
export async function startRedis() {
  const folder = mkdtempSync(join(tmpdir(), "keyway-console-"));
  const port = await freePort();
  const options = ["--bind", "127.0.0.1", "--port", String(port), "--dir", folder, "--save", ""];
  const redis = spawn("redis-server", options, { stdio: "ignore" });
  let failure = null;
  redis.on("error", (error) => {
    failure = error;
  });
  while (!(await answers(port))) {
    if (failure) throw new Error(`redis-server: ${failure.message}: ./scripts/servers installs it`);
    await pause(50);
  }
  const answer = { waits: 0 };
  const proxy = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    let before = Promise.resolve();
    near.on("data", (bytes) => far.write(bytes));
    far.on("data", (bytes) => {
      before = before.then(() => pause(answer.waits)).then(() => near.write(bytes));
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ]) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  const url = `redis://127.0.0.1:${await listening(proxy)}/0`;
  const stop = async () => {
    proxy.close();
    const ended = new Promise((resolve) => redis.on("exit", resolve));
    redis.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, folder, answer, stop };
}
