import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isOpen } from "../../dev/app.js";
import { hasGroups } from "../../dev/group.js";
import { messageOf } from "../../errors.js";
import { markVariable } from "../ending.js";
import type { Through } from "../environment.js";
import { notRun } from "../not-run.js";
import { commandOf, endOfValue } from "../proxies/redis.js";
import { freePort } from "../server-processes.js";
import type { Watcher } from "../watcher.js";
import { createRedisGuard, openingOf, type RedisGuard } from "../proxies/redis-guard.js";

/** A Redis server of one history. */
export interface OwnRedis {
  readonly host: string;
  readonly port: number;
  /** Present if this command has not started the server. */
  readonly guard?: RedisGuard;
  readonly close: () => Promise<void>;
}

/** The Redis servers of one variable, for all histories. */
export interface RedisServers {
  /** Whether each history gets a server that this command starts. */
  readonly isOwn: boolean;
  readonly open: () => Promise<OwnRedis>;
  /** Returns a sentence about keys that remain on a server that this command has not started, or undefined. */
  readonly left: () => string | undefined;
}

const hasProgram = (): boolean =>
  spawnSync("redis-server", ["--version"], { timeout: 10_000 }).status === 0;

/**
 * Provides a Redis server for each history: one that this command starts, or else the named one if its database is
 * empty.
 *
 * @throws Failure (as a rejection), only if the program `redis-server` is not installed: `redis_not_empty` if the named
 *   database has keys, or `redis_unreachable`
 */
export async function redisServers(
  through: Through,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<RedisServers> {
  const { name, url } = through;
  if (hasProgram()) {
    return {
      isOwn: true,
      open: () => startRedis(name, watcher, signal),
      left: () => undefined,
    };
  }
  let left: string | undefined;
  const assertEmpty = async () => {
    const size = await sizeOf(through);
    if (size === 0) return;
    throw notRun(
      "redis_not_empty",
      left ??
        `The Redis database in ${name} contains ${size} ${size === 1 ? "key" : "keys"}, which this command does not delete.`,
      `Install redis-server, so that each history gets its own server, or set ${name} to the URL of an empty database, such as redis://localhost:6379/15.`,
    );
  };
  await assertEmpty();
  return {
    isOwn: false,
    left: () => left,
    async open() {
      await assertEmpty();
      const guard = createRedisGuard(url);
      return {
        ...addressOf(url),
        guard,
        async close() {
          if (guard.written.size > 0) await ask(through, ["DEL", ...guard.written]);
          const size = await sizeOf(through);
          if (size > 0) left = leftText(name, size, [...guard.uncertain]);
        },
      };
    },
  };
}

const leftText = (name: string, size: number, commands: readonly string[]): string =>
  `The Redis database in ${name} still contains keys (${size}), which this command did not delete: ${
    commands.length > 0
      ? `it cannot know which keys were written by ${commands.join(", ")}.`
      : "they were not written by a history."
  }`;

const addressOf = (url: URL) => ({
  host: url.hostname.replaceAll(/[[\]]/g, "") || "127.0.0.1",
  port: Number(url.port) || 6379,
});

/** Starts a Redis server in a temporary folder. Rejects with a Failure `redis_ended` if it ends before it listens. */
async function startRedis(name: string, watcher: Watcher, signal: AbortSignal): Promise<OwnRedis> {
  signal.throwIfAborted();
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-crash-test-"));
  watcher.add(`folder ${folder}`);
  const port = await freePort();
  const args = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const child = spawn("redis-server", [...args, "--appendonly", "no"], {
    detached: hasGroups,
    env: { ...process.env, [markVariable]: watcher.mark },
    stdio: "ignore",
  });
  if (child.pid !== undefined) watcher.add(`session ${child.pid}`);
  let end: string | undefined;
  const exited = new Promise<void>((resolve) => {
    const ended = (text: string) => {
      end = text;
      resolve();
    };
    child.once("exit", (code, signalName) => ended(signalName ?? `exit code ${code}`));
    child.once("error", (error) => ended(error.message));
  });
  const close = async () => {
    child.kill("SIGKILL");
    await exited;
    if (child.pid !== undefined) watcher.remove(`session ${child.pid}`);
    rmSync(folder, { recursive: true, force: true });
    watcher.remove(`folder ${folder}`);
  };
  try {
    while (!(await isOpen(new URL(`redis://127.0.0.1:${port}`)))) {
      if (end !== undefined) {
        throw notRun(
          "redis_ended",
          `redis-server ended with ${end} before it listened.`,
          `Run redis-server on its own to find the cause, or remove it from the PATH to use the database in ${name}, which must then be empty.`,
        );
      }
      await pause(10, undefined, { signal });
    }
  } catch (error) {
    await close();
    throw signal.aborted ? signal.reason : error;
  }
  return { host: "127.0.0.1", port, close };
}

/** Counts the keys of the database that a URL selects. */
const sizeOf = async (through: Through): Promise<number> =>
  Number((await ask(through, ["DBSIZE"])).slice(1));

/** Runs a command in the database that a URL selects. Resolves to the reply. */
async function ask({ name, url }: Through, words: readonly string[]): Promise<string> {
  const commands = [...openingOf(url), words];
  const { host, port } = addressOf(url);
  const socket = connect(port, host);
  try {
    await once(socket, "connect");
    socket.write(commands.map(commandOf).join(""));
    let bytes: Buffer = Buffer.alloc(0);
    let left = commands.length;
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      bytes = Buffer.concat([bytes, chunk]);
      for (let end = endOfValue(bytes, 0); end !== undefined; end = endOfValue(bytes, 0)) {
        const reply = bytes.toString("utf8", 0, end);
        if (reply.startsWith("-")) throw new Error(reply.slice(1).trim());
        left -= 1;
        if (left === 0) return reply;
        bytes = bytes.subarray(end);
      }
    }
    throw new Error("it closed the connection");
  } catch (error) {
    throw notRun(
      "redis_unreachable",
      `The Redis server in ${name} cannot be reached: ${messageOf(error)}.`,
      `Start it, and check the URL in ${name}.`,
      error,
    );
  } finally {
    socket.destroy();
  }
}
