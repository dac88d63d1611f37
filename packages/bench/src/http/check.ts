import { AssertionError, equal, ok } from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import type { Contender, Duty } from "./contender.js";
import { signedRequest, type SignedRequest } from "./request.js";
import type { Server } from "./server-process.js";

const maxBodyBytes = 2 ** 20;
const small = await signedRequest(1_024);
const largest = await signedRequest(maxBodyBytes);
const tooLarge = await signedRequest(maxBodyBytes + 1);

/**
 * Sends a contender what it must take and what it must refuse. What it is said to lack it must lack
 * indeed, so that nobody is measured under a wrong label.
 *
 * @throws Error that names the contender and tells all that is wrong (as a rejection)
 */
export async function check(
  { name, lacks }: Pick<Contender, "name" | "lacks">,
  server: Server,
): Promise<void> {
  const problems = await problemsOf(lacks, server).catch((cause: unknown) => {
    throw new Error(`${name}: it cannot be asked`, { cause });
  });
  if (problems.length > 0) throw new Error(`${name}: ${problems.join("; ")}`);
}

async function problemsOf(lacks: readonly Duty[], server: Server): Promise<string[]> {
  const problems = [await problemOf(handles(server)), await problemOf(tellsFailure(server))];
  for (const [duty, isDone] of Object.entries(duties)) {
    const problem = await problemOf(isDone(server));
    if (!lacks.includes(duty as Duty)) problems.push(problem);
    else if (!problem) problems.push(`it has what it is said to lack: ${duty}`);
  }
  return problems.filter((problem) => problem !== undefined);
}

/** What an assertion says. Whatever else goes wrong proves nothing. */
async function problemOf(checked: Promise<void>): Promise<string | undefined> {
  try {
    await checked;
    return undefined;
  } catch (error) {
    if (error instanceof AssertionError) return error.message;
    throw error;
  }
}

async function handles(server: Server): Promise<void> {
  const runs = await server.order("count");
  answers(200, await send(server, small), "a genuine delivery");
  equal(await server.order("count"), runs + 1, "it does not run the handler once");
}

async function tellsFailure(server: Server): Promise<void> {
  answers(500, await failing(server, newId()), "a delivery whose handler fails");
}

const duties: Readonly<Record<Duty, (server: Server) => Promise<void>>> = {
  async signature(server) {
    const runs = await server.order("count");
    const refuses = async (what: string, sent: Partial<Sent>) => {
      const status = await send(server, { ...small, ...sent });
      ok(status >= 400 && status < 500, `it answers ${status} to ${what}`);
    };
    await refuses("a body that was changed", { body: changed });
    await refuses("the signature of another body", { headers: largest.headers });
    await refuses("a body without a signature", { headers: unsigned });
    equal(await server.order("count"), runs, "it runs the handler for what it refuses");
  },

  async duplicates(server) {
    const runs = await server.order("count");
    const id = newId();
    await server.order("hold");
    const first = send(server, small, id);
    await answerUnlessRun(server, runs, first);
    const copy = await answerUnlessRun(server, runs + 1, send(server, small, id));
    await server.order("finish");
    ok(copy !== undefined, "it runs a copy of what is running");
    ok(copy >= 400, `it answers ${copy} to a copy of what is running`);
    answers(200, await first, "what was running");
    answers(200, await send(server, small, id), "a copy of what is done");
    equal(await server.order("count"), runs + 1, "it runs a copy of what is done");

    const failed = newId();
    await failing(server, failed);
    answers(200, await send(server, small, failed), "the next attempt at what has failed");
    equal(await server.order("count"), runs + 3, "it does not run again what has failed");
  },

  async "body limit"(server) {
    answers(200, await send(server, largest), "a body of 1 MiB");
    const unannounced = { ...largest, chunked: true };
    answers(200, await send(server, unannounced), "a body of 1 MiB of unannounced length");
    const runs = await server.order("count");
    answers(413, await send(server, tooLarge), "a body beyond 1 MiB");
    const tooLargeToo = { ...tooLarge, chunked: true };
    answers(413, await send(server, tooLargeToo), "a body beyond 1 MiB of unannounced length");
    equal(await server.order("count"), runs, "it runs the handler for what it refuses");
  },
};

const answers = (expected: number, status: number, what: string) =>
  equal(status, expected, `it answers ${status} to ${what}`);

/** The answer to a delivery whose handler fails. */
async function failing(server: Server, id: string): Promise<number> {
  const runs = await server.order("count");
  await server.order("hold");
  const answer = send(server, small, id);
  await answerUnlessRun(server, runs, answer);
  await server.order("fail");
  return answer;
}

/** Nothing as soon as there is one more run: that may be waiting. */
async function answerUnlessRun(
  server: Server,
  runs: number,
  answer: Promise<number>,
): Promise<number | undefined> {
  for (;;) {
    const status = await Promise.race([answer, turn(undefined)]);
    if (status !== undefined || (await server.order("count")) > runs) return status;
  }
}

interface Sent extends SignedRequest {
  /** Sends the body without announcing its length. */
  readonly chunked?: boolean;
}

/** Answers the status. */
async function send(
  { port }: Server,
  { body, headers, chunked = false }: Sent,
  id = newId(),
): Promise<number> {
  const stream = () => new Blob([body]).stream();
  const response = await fetch(`http://127.0.0.1:${port}/webhooks`, {
    method: "POST",
    headers: headers(id),
    ...(chunked ? { body: stream(), duplex: "half" } : { body }),
    // A contender that never answers must not stop everything.
    signal: AbortSignal.timeout(10_000),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Still an event, but not as it was signed. */
const changed = new TextEncoder().encode(
  new TextDecoder().decode(small.body).replace("Your order", "Our order"),
);

const newId = () => `dlv_${crypto.randomUUID()}`;

const unsigned: SignedRequest["headers"] = (id) =>
  Object.fromEntries(Object.entries(small.headers(id)).filter(([name]) => !/signature/.test(name)));
