import type { Context } from "../command.js";
import { createClosers } from "./closers.js";
import { uncountedCrossings } from "./crossings.js";
import type { DatabaseServer } from "./databases/postgres.js";
import type { RedisServers } from "./databases/redis.js";
import { markVariable } from "./ending.js";
import { proxyVariables, type Stub, type Through } from "./environment.js";
import { httpServer } from "./proxies/http.js";
import { refusingProxy } from "./proxies/refusing.js";
import { runShell } from "./shell.js";
import { respondAsStub } from "./stub-server.js";
import type { Watcher } from "./watcher.js";

interface PrepareOptions extends Pick<Context, "env" | "signal" | "note"> {
  readonly through: readonly Through[];
  readonly stubs: readonly Stub[];
  readonly databases: ReadonlyMap<string, DatabaseServer>;
  readonly redis: ReadonlyMap<string, RedisServers>;
  readonly prepare: string;
  readonly watcher: Watcher;
}

/**
 * Runs `--prepare` once. In its environment, each variable of `--through` and `--stub` either leads to a database,
 * server or stub that was created for the test, or is not set. Thus, none of them leads to a real service.
 */
export async function prepareDatabases(options: PrepareOptions): Promise<void> {
  const { env, through, stubs, databases, redis, prepare, note, signal, watcher } = options;
  const closers = createClosers();
  const replaced: Record<string, string | undefined> = {};
  for (const { name } of [...through, ...stubs]) replaced[name] = undefined;
  const ports: number[] = [];
  const refused = new Set<string>();
  try {
    for (const [name, { base }] of databases) replaced[name] = base.href;
    for (const [name, servers] of redis) {
      if (!servers.isOwn) continue;
      const { host, port, close } = await servers.open();
      closers.add(close);
      replaced[name] = `redis://${host}:${port}`;
    }
    for (const { name, path } of stubs) {
      const stub = await httpServer({
        process: "--prepare",
        name,
        path,
        crossings: uncountedCrossings(),
        respond: respondAsStub,
        ignoresBody: true,
      });
      closers.add(() => stub.close());
      ports.push(stub.port);
      replaced[name] = `http://127.0.0.1:${stub.port}${path}`;
    }
    const refusing = await refusingProxy(
      () => ports,
      (access) => refused.add(access),
    );
    closers.add(() => refusing.close());
    const own = {
      ...env,
      ...proxyVariables(refusing.port, ports),
      ...replaced,
      [markVariable]: watcher.mark,
    };
    await runShell("--prepare", prepare, own, signal, watcher);
  } finally {
    await closers.close();
    for (const access of refused) note(`Access by --prepare: ${access}.`);
  }
}
