import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { print, styled } from "../print.js";
import { send, type Reply, type Sending } from "../sender.js";
import { secrets } from "../steps.js";
import { speed } from "./clock.js";
import type { Processes, ReceiverProcess } from "./processes.js";

/**
 * Kills a receiver process in the middle of two handlers, and shows how another one takes over.
 * Resolves to whether everything happened as expected.
 */
export async function runTakeover(starting: Promise<Processes>): Promise<boolean> {
  const processes = await starting;
  try {
    return await play(processes);
  } finally {
    await processes.stop();
  }
}

const sendingOf = (type: string): Sending => ({
  deliveryId: `dlv_${randomUUID()}`,
  body: JSON.stringify({ type, data: { email_id: "msg_12" } }),
  secret: secrets.current,
});

/** A delivery whose handler writes its row by itself. */
const alone = sendingOf("email.sent");
/** A delivery whose handler writes its row in `store.transaction`. */
const inTransaction = sendingOf("email.delivered");

const codeOf = (sending: Promise<Reply>) =>
  sending.then(
    ({ code }) => code,
    () => "no response",
  );

async function play({ a, b, database }: Processes): Promise<boolean> {
  print("\nProcesses A and B share a database, and A is killed in the middle of a handler.");
  print(`(Their clock runs ${speed} times as fast as yours, so that you need not wait long.)\n`);
  const line = timeline();

  const fromA = codeOf(send(a.url, alone));
  await Promise.race([a.started(1), fromA]);
  line(
    "sent to A",
    `handler starts, run ${a.runs[0]?.run}`,
    "A renews its lease of 10 s for as long as it works",
  );

  const toB: Reply[] = [];
  const sendToB = async (event: string, why: (reply: Reply) => string) => {
    const reply = await send(b.url, { ...alone, attempt: toB.length + 2 });
    toB.push(reply);
    line(event, textOf(reply), why(reply));
    return reply;
  };
  let reply = await sendToB("copy to B", () => "503, so the sender comes back if A dies");

  // This is a second handler of A, which the timeline omits. PGlite runs nothing else until its transaction
  // ends.
  const second = codeOf(send(a.url, inTransaction));
  await Promise.race([a.started(2), second]);
  await a.kill();
  line("A is killed", await fromA, "so the sender will try again");

  while (reply.code === "in_flight") {
    await setTimeout((reply.retryAfter * 1_000) / speed);
    reply = await sendToB("retry to B", ({ code }) =>
      code === "in_flight"
        ? "503: until its lease ends, A may be slow, not dead"
        : `the lease has ended: B takes over (run ${b.runs[0]?.run}, higher fence)`,
    );
  }
  const last = await sendToB("retry to B", () => "200, so the sender stops: the work is done");
  const isTakenOver = await processed(b, inTransaction);

  print("\nEach of two handlers inserts a row; A was killed in both, and B ran both again:");
  const rowsOf = async ({ body }: Sending, where: string, why: string) => {
    const { type } = JSON.parse(body) as { type: string };
    const rows = (await database.query("select 1 from effects where type = $1", [type])).length;
    print(`  ${where.padEnd(23)}${String(rows).padEnd(4)}${why}`);
    return rows;
  };
  const rows = [
    await rowsOf(
      alone,
      "without a transaction",
      "A's row was already committed, so it is there twice",
    ),
    await rowsOf(inTransaction, "in store.transaction", "A's row was rolled back"),
  ];

  const [first] = a.runs;
  const [takeover] = b.runs;
  const passed =
    (await fromA) === "no response" &&
    (await second) === "no response" &&
    toB[0]?.code === "in_flight" &&
    reply.code === "processed" &&
    last.code === "duplicate" &&
    first !== undefined &&
    takeover !== undefined &&
    takeover.run === first.run + 1 &&
    takeover.fence > first.fence &&
    isTakenOver &&
    rows.join() === "2,1";
  const verdict = passed
    ? "Nothing was lost: B finished what A had started."
    : "The takeover did not happen as expected.";
  print(styled(passed ? "green" : "red", verdict));
  return passed;
}

/** Returns whether a process takes a delivery over as soon as its lease has ended. */
async function processed({ url }: ReceiverProcess, sending: Sending): Promise<boolean> {
  for (let attempt = 2; ; attempt += 1) {
    const { code, retryAfter } = await send(url, { ...sending, attempt });
    if (code !== "in_flight") return code === "processed";
    await setTimeout((retryAfter * 1_000) / speed);
  }
}

/** Returns a function that prints lines with the time on the receivers' clock. */
function timeline(): (event: string, result: string, why: string) => void {
  const startedAt = performance.now();
  return (event, result, why) => {
    const seconds = ((performance.now() - startedAt) / 1_000) * speed;
    const text = `${seconds.toFixed(1).padStart(6)} s  ${event.padEnd(13)}${result}`;
    const color = result.startsWith("200") ? "green" : result.startsWith("503") ? "yellow" : "bold";
    print(styled(color, text));
    print(styled("dim", `${" ".repeat(23)}${why}`));
  };
}

const textOf = ({ status, code, retryAfter }: Reply) =>
  `${status} ${code}${retryAfter > 0 ? `, Retry-After: ${retryAfter}` : ""}`;
