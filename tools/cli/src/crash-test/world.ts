import { portOf } from "../lib/target-rule.js";
import { jsonIn } from "../lib/json-in.js";
import type { Context } from "../command.js";
import type { WorldState } from "@svc-webhooks/crash-test";
import { createClosers, type Closers } from "./closers.js";
import { uncountedCrossings, type Crossings, type Exchanges } from "./crossings.js";
import type { DatabaseServer, OwnDatabase } from "./databases/postgres.js";
import type { OwnRedis, RedisServers } from "./databases/redis.js";
import { markVariable } from "./ending.js";
import { proxyVariables, type Stub, type Through } from "./environment.js";
import { notRun } from "./not-run.js";
import { bytesProxy } from "./proxies/bytes.js";
import { forwardTo, httpServer } from "./proxies/http.js";
import type { Listening } from "./proxies/listening.js";
import { postgresProxy, type PostgresProxy } from "./proxies/postgres.js";
import { redisProxy } from "./proxies/redis.js";
import { refusingProxy } from "./proxies/refusing.js";
import { freePort, startServer, type ServerProcess } from "./server-processes.js";
import { runShell } from "./shell.js";
import { respondAsStub } from "./stub-server.js";
import type { Watcher } from "./watcher.js";

/** The settings that all histories share. */
export interface WorldSettings {
  readonly start: string;
  /** The URL of the receiver, which may contain `{port}`. */
  readonly url: string;
  /** The environment of the server. Each history replaces the variables of `--through` and `--stub` in it. */
  readonly env: Context["env"];
  readonly through: readonly Through[];
  readonly stubs: readonly Stub[];
  readonly effects: string | undefined;
  readonly watcher: Watcher;
  readonly databases: ReadonlyMap<string, DatabaseServer>;
  readonly redis: ReadonlyMap<string, RedisServers>;
}

/** The outside world and the servers of one history. */
export interface World {
  readonly databases: readonly OwnDatabase[];
  /** The accesses that the proxies refused, each as a phrase for the report. */
  readonly refused: ReadonlySet<string>;
  /** Returns the variables whose services had no exchange with a server, in the order of the options. */
  readonly unused: () => readonly string[];
  /** Resolves to the columns that the rows of {@link World.read} lack. */
  readonly notCompared: () => Promise<readonly string[]>;
  readonly startServer: (letter: string) => Promise<ServerProcess>;
  readonly breakTransactions: (letter: string) => void;
  readonly read: () => Promise<WorldState>;
  /** @throws Failure if the test cannot continue, or the reason of the signal if it is aborted */
  readonly assertRunning: () => void;
  readonly close: () => Promise<void>;
}

/** Opens the world of a history. The servers start later, with `startServer`. */
export async function openWorld(
  settings: WorldSettings,
  crossings: Crossings,
  outer: AbortSignal,
): Promise<World> {
  const { start, watcher } = settings;
  const closers = createClosers();
  const ended = new AbortController();
  const signal = AbortSignal.any([outer, ended.signal]);
  const refused = new Set<string>();
  const used = new Set<string>();
  const transactions = new Map<string, PostgresProxy[]>();
  let failure: Error | undefined;
  const fail = (error: Error) => {
    failure ??= error;
    ended.abort();
  };
  const close = async () => {
    ended.abort();
    await closers.close();
  };

  const { databases, redis } = await openServers(settings, closers).catch(async (error) => {
    await close();
    throw error;
  });
  const shared = { settings, databases, redis, closers, fail };
  const environmentOf = createEnvironments({
    ...shared,
    crossings,
    onUsed: (name) => used.add(name),
    onRefused: (access) => refused.add(access),
    onTransactions(letter, proxy) {
      transactions.set(letter, [...(transactions.get(letter) ?? []), proxy]);
    },
  });
  const environmentOfEffects = createEnvironments({
    ...shared,
    crossings: uncountedCrossings(),
    onUsed: () => {},
    onRefused: (access) => refused.add(`${access}, by --effects`),
    onTransactions: () => {},
  });
  let ofEffects: Promise<NodeJS.ProcessEnv> | undefined;

  return {
    databases: [...databases.values()],
    refused,
    unused: () =>
      [...settings.through, ...settings.stubs]
        .map(({ name }) => name)
        .filter((name) => !used.has(name)),
    notCompared: () => notComparedIn(databases),
    close,
    assertRunning() {
      outer.throwIfAborted();
      if (failure) throw failure;
    },
    breakTransactions(letter) {
      for (const proxy of transactions.get(letter) ?? []) proxy.breakTransactions();
    },
    async startServer(letter) {
      const variables = await environmentOf(letter);
      const url = new URL(settings.url.replaceAll("{port}", String(await portFor(settings.url))));
      try {
        const server = await startServer({
          letter,
          command: start,
          url,
          env: variables,
          signal,
          watcher,
          fail,
        });
        closers.add(() => server.kill());
        return server;
      } catch (error) {
        throw failure ?? error;
      }
    },
    read: async () => ({ tables: await tablesIn(databases), observed: await observed() }),
  };

  async function observed(): Promise<WorldState["observed"]> {
    if (settings.effects === undefined) return {};
    ofEffects ??= environmentOfEffects("--effects");
    const stdout = await runShell("--effects", settings.effects, await ofEffects, signal, watcher);
    return { "--effects": parsed(stdout) };
  }
}

type Databases = ReadonlyMap<string, OwnDatabase>;

/** Returns the name of a table or column. If there are several databases, puts the database's variable before it. */
const nameIn = (databases: Databases, variable: string, name: string): string =>
  databases.size > 1 ? `${variable}.${name}` : name;

async function notComparedIn(databases: Databases): Promise<readonly string[]> {
  const columns: string[] = [];
  for (const [variable, database] of databases) {
    for (const column of await database.notCompared())
      columns.push(nameIn(databases, variable, column));
  }
  return columns;
}

async function tablesIn(databases: Databases): Promise<WorldState["tables"]> {
  const tables: Record<string, WorldState["tables"][string]> = {};
  for (const [variable, database] of databases) {
    for (const [table, rows] of Object.entries(await database.read()))
      tables[nameIn(databases, variable, table)] = rows;
  }
  return tables;
}

/** Creates the databases of a history, and opens its Redis servers. */
async function openServers(settings: WorldSettings, closers: Closers) {
  const databases = new Map<string, OwnDatabase>();
  const redis = new Map<string, OwnRedis>();
  for (const [name, server] of settings.databases) {
    const database = await server.create();
    closers.add(() => database.drop());
    databases.set(name, database);
  }
  for (const [name, { open }] of settings.redis) {
    const server = await open();
    closers.add(() => server.close());
    redis.set(name, server);
  }
  return { databases, redis };
}

interface EnvironmentOptions {
  readonly settings: WorldSettings;
  readonly crossings: Crossings;
  readonly databases: ReadonlyMap<string, OwnDatabase>;
  readonly redis: ReadonlyMap<string, OwnRedis>;
  readonly closers: Closers;
  readonly fail: (error: Error) => void;
  /** Called with a variable when a process has an exchange with its service. */
  readonly onUsed: (name: string) => void;
  readonly onRefused: (access: string) => void;
  readonly onTransactions: (letter: string, proxy: PostgresProxy) => void;
}

/** Returns a function that starts the proxies of a process, and resolves to the environment of the process. */
function createEnvironments(options: EnvironmentOptions) {
  const { settings, crossings, databases, redis, closers, fail } = options;
  const { onUsed, onRefused, onTransactions } = options;
  const { env, through, stubs, watcher } = settings;

  const exchangesWith = (name: string): Exchanges => ({
    arrive(process, facts) {
      onUsed(name);
      return crossings.arrive(process, facts);
    },
    beginTransaction: (process) => crossings.beginTransaction(process),
    endTransaction: (process) => crossings.endTransaction(process),
  });

  /** Starts the proxy of one variable for one process. Resolves to the proxy, and to the URL for the process. */
  async function proxyFor(letter: string, service: Through): Promise<readonly [Listening, URL]> {
    const { name, kind } = service;
    const database = databases.get(name);
    const server = redis.get(name);
    const url = new URL(database?.url ?? service.url);
    const host = url.hostname.replaceAll(/[[\]]/g, "") || "127.0.0.1";
    const common = { process: letter, name, host, crossings: exchangesWith(name) };
    let proxy: Listening;
    if (kind === "postgres") {
      const own = await postgresProxy({
        ...common,
        port: Number(url.port) || 5432,
        database: database?.name ?? "",
        onTlsRefused: () => fail(tlsRefused(letter, name)),
        onRefused,
      });
      onTransactions(letter, own);
      proxy = own;
      url.searchParams.set("sslmode", "disable");
    } else if (server) {
      proxy = await redisProxy({ ...common, ...server });
      // Removes the credentials, because a server that this command has started has no password.
      if (!server.guard) url.username = url.password = "";
    } else if (kind === "http") {
      const target = new URL("/", url);
      proxy = await httpServer({ ...common, path: url.pathname, respond: forwardTo(target) });
    } else proxy = await bytesProxy({ ...common, port: Number(url.port) });
    url.hostname = "127.0.0.1";
    url.port = String(proxy.port);
    return [proxy, url];
  }

  async function environmentOf(letter: string): Promise<NodeJS.ProcessEnv> {
    const own: Record<string, string> = {};
    const ports: number[] = [];
    for (const service of through) {
      const [proxy, url] = await proxyFor(letter, service);
      closers.add(() => proxy.close());
      // Removes the slash that `URL` has added to an HTTP URL without a path, because the program may add one too.
      const hasSlash = service.kind !== "http" || env[service.name]?.endsWith("/") === true;
      own[service.name] = hasSlash ? url.href : url.href.replace(/\/$/, "");
      if (service.kind === "http") ports.push(proxy.port);
    }
    for (const { name, path } of stubs) {
      const stub = await httpServer({
        process: letter,
        name,
        path,
        crossings: exchangesWith(name),
        respond: respondAsStub,
        ignoresBody: true,
      });
      closers.add(() => stub.close());
      own[name] = `http://127.0.0.1:${stub.port}${path}`;
      ports.push(stub.port);
    }
    const refusing = await refusingProxy(() => ports, onRefused);
    closers.add(() => refusing.close());
    return {
      ...env,
      ...proxyVariables(refusing.port, ports),
      ...own,
      [markVariable]: watcher.mark,
    };
  }

  return environmentOf;
}

const portFor = (url: string): Promise<number> =>
  url.includes("{port}") ? freePort() : Promise.resolve(portOf(new URL(url)));

/** Parses an output as JSON. If it is not JSON, returns its lines, without blank ones. */
function parsed(output: string): unknown {
  const value = jsonIn(output);
  return value === undefined ? output.split("\n").filter((line) => line.trim() !== "") : value;
}

const tlsRefused = (letter: string, name: string) =>
  notRun(
    "tls_refused",
    `The ${letter === "--effects" ? "command of --effects" : "server"} requires TLS for ${name}, but the proxy in front of the database cannot read TLS.`,
    `The URL that it gets in ${name} has sslmode=disable. Make your client respect it: remove an option such as \`ssl: true\`, or set the option depending on the URL.`,
  );
