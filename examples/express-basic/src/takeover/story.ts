import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { print, styled } from "../print.js";
import { send, type Reply } from "../sender.js";
import { delivered } from "../steps.js";
import { speed } from "./clock.js";
import { startTwo, type ReceiverProcess } from "./processes.js";

/**
 * Kills a receiver process in the middle of a handler, and shows how another one takes over.
 * Resolves to whether everything happened as expected.
 */
export async function runTakeover(): Promise<boolean> {
  const [a, b] = await startTwo();
  try {
    return await play(a, b);
  } finally {
    await Promise.all([a.kill(), b.kill()]);
  }
}

async function play(a: ReceiverProcess, b: ReceiverProcess): Promise<boolean> {
  // Unique, because a Redis still has the records of earlier demos.
  const sending = { ...delivered(12), deliveryId: `dlv_${randomUUID()}` };
  const store = process.env["REDIS_URL"] ? "the Redis at REDIS_URL" : "a store";
  print(`\nProcesses A and B share ${store}, and A is killed in the middle of a handler.`);
  print(`(Their clock runs ${speed} times as fast as yours, so that you need not wait long.)\n`);
  const line = timeline();

  const fromA = send(a.url, sending).then(
    ({ code }) => code,
    () => "no response",
  );
  await Promise.race([a.running, fromA]);
  line(
    "sent to A",
    `handler starts, run ${a.runs[0]?.run}`,
    "A renews its lease of 10 s for as long as it works",
  );

  const toB: Reply[] = [];
  const sendToB = async (event: string, why: (reply: Reply) => string) => {
    const reply = await send(b.url, { ...sending, attempt: toB.length + 2 });
    toB.push(reply);
    line(event, textOf(reply), why(reply));
    return reply;
  };
  let reply = await sendToB("copy to B", () => "503, so the sender comes back if A dies");

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

  const [first] = a.runs;
  const [second] = b.runs;
  const passed =
    (await fromA) === "no response" &&
    toB[0]?.code === "in_flight" &&
    reply.code === "processed" &&
    last.code === "duplicate" &&
    first !== undefined &&
    second !== undefined &&
    second.run === first.run + 1 &&
    second.fence > first.fence;
  const verdict = passed
    ? "Nothing was lost: B finished what A had started."
    : "The takeover did not happen as expected.";
  print(styled(passed ? "green" : "red", `\n${verdict}`));
  return passed;
}

/** Prints lines with the time on the receivers' clock. */
function timeline(): (event: string, result: string, why: string) => void {
  const startedAt = performance.now();
  return (event, result, why) => {
    const seconds = ((performance.now() - startedAt) / 1_000) * speed;
    const text = `${seconds.toFixed(1).padStart(6)} s  ${event.padEnd(13)}${result}`;
    const colour = result.startsWith("200")
      ? "green"
      : result.startsWith("503")
        ? "yellow"
        : "bold";
    print(styled(colour, text));
    print(styled("dim", `${" ".repeat(23)}${why}`));
  };
}

const textOf = ({ status, code, retryAfter }: Reply) =>
  `${status} ${code}${retryAfter > 0 ? `, Retry-After: ${retryAfter}` : ""}`;
