import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { collected } from "@svc-webhooks/kit/collected";
import { freePort } from "@svc-webhooks/kit/free-port";
import { gate } from "@svc-webhooks/kit/gate";
import { describeWithRedis, redisServer, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { NotStartedError } from "@svc-webhooks/kit/setup-errors";
import { sized } from "@svc-webhooks/kit/sized";
import { until } from "@svc-webhooks/kit/until";
import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { effectsApi, type EffectsApi } from "./effects.js";
import type { Program, SignedRequest } from "./program.js";

/** A process of a program. */
export interface Process {
  readonly port: number;
  /** Sends a request. Resolves to its status, or 0 without a response. */
  readonly send: (request: SignedRequest) => Promise<number>;
  readonly kill: () => Promise<unknown>;
}

/** Two processes of a program, and what the cases need to observe them. */
interface Pair {
  readonly program: Program;
  readonly api: EffectsApi;
  readonly processes: readonly [Process, Process];
  /** The processes by the names under which they call the API. */
  readonly callers: ReadonlyMap<string, Process>;
}

/** The folder of the programs in the workspace. */
export const here: string = fileURLToPath(new URL("..", import.meta.url));

const isDone = (status: number) => status >= 200 && status < 300;

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(Boolean(socket.destroy())));
    socket.once("error", () => resolve(false));
  });

/** Starts a process of a program, until the test ends. Its output is printed if the test fails. */
export async function start(
  { onTestFinished, onTestFailed }: TestContext,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Process> {
  const port = await freePort();
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_ENV: "production", ...environment, PORT: String(port) },
  });
  const output = collected(child.stdout, child.stderr);
  const exited = once(child, "exit");
  const kill = () => {
    child.kill("SIGKILL");
    return exited;
  };
  onTestFinished(async () => void (await kill()));
  onTestFailed(() => console.log(`${args.join(" ")}:\n${output()}`));
  await until(() => {
    if (child.exitCode === null) return accepts(port);
    throw new NotStartedError(`${args.join(" ")} exited with ${child.exitCode}: ${output()}`);
  }, "the program listens");
  return {
    port,
    async send({ path, ...request }) {
      try {
        const response = await fetch(`http://127.0.0.1:${port}${path}`, {
          ...request,
          method: "POST",
        });
        await response.arrayBuffer();
        return response.status;
      } catch {
        return 0;
      }
    },
    kill,
  };
}

const newId = () => `evt_${crypto.randomUUID().replaceAll("-", "")}`;

const signed = async ({ program }: Pair, id: string) => program.sign(id, program.secret);

/**
 * Sends two copies of an event, each to another process. The first effect ends when the other copy has a response or has
 * reached its effect too, so the copies overlap however busy the machine is. Resolves to the statuses.
 */
async function sendCopies(
  pair: Pair,
  id: string,
  isFirstDone: boolean,
): Promise<readonly number[]> {
  const overlap = gate();
  const first = async () => {
    await overlap.opened;
    return isFirstDone;
  };
  pair.api.plan(id, { first, later: overlap.open });
  const earlier = pair.program.signEarlier?.(id);
  if (earlier) expect(isDone(await pair.processes[0].send(earlier))).toBe(true);
  const request = await signed(pair, id);
  return Promise.all(
    pair.processes.map(async ({ send }) => {
      const status = await send(request);
      overlap.open();
      return status;
    }),
  );
}

/** Sends an event to both processes in turn, until one of them responds with a 2xx status, as a sender does. */
async function untilDone(pair: Pair, id: string): Promise<void> {
  let attempts = 0;
  await until(async () => {
    const { send } = pair.processes[(attempts += 1) % 2 === 1 ? 1 : 0];
    return isDone(await send(await signed(pair, id)));
  }, `the program acknowledges ${id}`);
}

/** Returns how many effects two copies of an event have that are sent at the same time. */
async function effectsOfCopies(pair: Pair, isFirstDone: boolean): Promise<number> {
  const id = newId();
  const statuses = await sendCopies(pair, id, isFirstDone);
  if (!statuses.some(isDone)) await untilDone(pair, id);
  // The sender stops here, so an effect that is still missing is lost.
  if (pair.api.count(id) === 0) return 0;
  // A late copy goes to each process.
  const late = await signed(pair, id);
  for (const { send } of pair.processes) expect(isDone(await send(late))).toBe(true);
  return pair.api.count(id);
}

/** Returns how many effects an event has whose process is killed in the middle of its first effect. */
async function effectsOfCrash(pair: Pair): Promise<number> {
  const id = newId();
  const killed = gate();
  const first = async (caller: string) => {
    await pair.callers.get(caller)?.kill();
    killed.open();
    return false;
  };
  pair.api.plan(id, { first, later: () => {} });
  const status = await pair.processes[0].send(await signed(pair, id));
  await killed.opened;
  // A lease ends after 30 s.
  if (!isDone(status)) await untilDone(pair, id);
  return pair.api.count(id);
}

/** Returns whether requests with a wrong signature are refused with a 4xx status, and how many effects they have. */
async function resultOfForgery({ program, api, processes: [{ send }] }: Pair) {
  if (program.wrongSecret === undefined) return refused;
  const id = newId();
  const forged = [await program.sign(id, program.wrongSecret), ...(program.signWrong?.(id) ?? [])];
  const statuses = await Promise.all(forged.map(send));
  return {
    isRefused: statuses.every((status) => status >= 400 && status < 500),
    effects: api.count(id),
  };
}

const refused = { isRefused: true, effects: 0 };

/**
 * Registers the tests of programs. Each test runs two processes of a program on one Redis.
 *
 * @param folderOf returns the folder of the programs, after their packages have been installed
 */
export function testPrograms(
  programs: readonly Program[],
  folderOf: () => string | Promise<string>,
): void {
  const broken = programs.map((program) => [program.folder, program] as const);
  const fixed = programs.flatMap((program) =>
    (program.fixed ?? ["after.mjs"]).map(
      (file) => [`${program.folder}/${file}`, program, file] as const,
    ),
  );
  describeWithRedis("two processes", () => {
    let redis: RedisServer;
    let api: EffectsApi;
    let folder: string;
    beforeAll(async () => {
      [redis, api, folder] = await Promise.all([redisServer(), effectsApi(), folderOf()]);
    });
    afterAll(async () => {
      api?.close();
      await redis?.close();
    });

    async function pairOf(context: TestContext, program: Program, file: string): Promise<Pair> {
      const path = join(folder, program.folder, file);
      const served = program.isServed ? [join(here, "test/serve.mjs")] : [];
      const callers = new Map<string, Process>();
      const startAs = async (name: string) => {
        const caller = `${program.folder}-${file}-${name}`;
        const started = await start(context, [...served, path], {
          ...program.environment(),
          REDIS_URL: `redis://127.0.0.1:${redis.port}`,
          EFFECTS_URL: api.addressFor(caller),
        });
        callers.set(caller, started);
        return started;
      };
      return { program, api, callers, processes: await Promise.all([startAs("a"), startAs("b")]) };
    }

    test.concurrent.for(broken)(
      "%s/before.mjs repeats or loses effects",
      async ([, program], context) => {
        const pair = await pairOf(context, program, "before.mjs");
        const copies = newId();
        await sendCopies(pair, copies, true);
        // A program may respond before its effects.
        await until(() => api.count(copies) >= 2, "both copies have an effect");
        const failure = newId();
        const statuses = await sendCopies(pair, failure, false);
        if (!statuses.some(isDone)) await untilDone(pair, failure);
        const { before } = program;
        await until(() => api.count(failure) >= before.failure, "the other copy has an effect");
        expect({
          forgery: await resultOfForgery(pair),
          copies: api.count(copies),
          failure: api.count(failure),
          crash: await effectsOfCrash(pair),
        }).toEqual({ ...before, copies: 2, forgery: refused });
      },
    );

    test.concurrent.for(fixed)("%s has each effect once", async ([, program, file], context) => {
      const pair = await pairOf(context, program, file);
      const copies: number[] = [];
      const tries = sized(10, 100);
      while (copies.length < tries) copies.push(await effectsOfCopies(pair, true));
      expect({
        copies,
        failure: await effectsOfCopies(pair, false),
        forgery: await resultOfForgery(pair),
        crash: await effectsOfCrash(pair),
      }).toEqual({ copies: Array(tries).fill(1), failure: 1, forgery: refused, crash: 1 });
    });
  });
}
