import { createHash } from "node:crypto";
import { headerNames } from "@svc-webhooks/core";
import { command } from "../command.js";
import { Failure, messageOf, UsageError } from "../errors.js";
import { parseCaptured, type Captured } from "../lib/capture.js";
import { deliveryHeaders, headerOf } from "../lib/delivery-headers.js";
import { linesOf } from "../lib/lines.js";
import { wholeNumber } from "../lib/number.js";
import { createProgress } from "../lib/terminal/progress.js";
import { resolveTarget, targetOptions } from "../lib/target-rule.js";
import type { Target } from "../lib/target.js";
import { excerpt } from "../lib/terminal/text.js";
import { paint, type Line } from "../paint.js";

const options = {
  to: { type: "string", required: true, value: "url", text: "where to send the requests" },
  concurrency: {
    type: "string",
    default: "1",
    value: "number",
    text: "requests in flight; with 1 they keep their order",
  },
  "delivery-id": {
    type: "string",
    multiple: true,
    value: "id",
    text: "send only this delivery; may be repeated",
  },
  only: { type: "string", value: "verdict", text: "send only genuine, or only refused requests" },
  ...targetOptions,
} as const;

/** The result of one request. */
interface Sent {
  readonly line: number;
  readonly delivery_id: string | null;
  /** The response status, or null if there was no response. */
  readonly status: number | null;
  readonly error?: string;
  readonly bytes: number;
  /** The SHA-256 of the body, in hex. */
  readonly sha256: string;
  readonly ms: number;
}

const responseMs = 30_000;

export const replay = command({
  usage: "<file> --to <url>",
  args: ["file"],
  details: [
    "Sends the requests of a file that svc-webhooks listen --save has written (- reads stdin): the same bytes, with the documented headers, Idempotency-Key and Content-Type. All go to the URL as it is given; saved paths are not used, and redirects are not followed.",
    "The signatures are those of the file, so the receiver needs the secret that was valid then. A receiver that has run a delivery responds to its copy as to a duplicate.",
    "Writes a line for each request that did not get a 2xx, and a summary; with --json a line for every request: { line, delivery_id, status, bytes, sha256, ms }. Exits with 1 unless all got a 2xx.",
  ],
  examples: [
    "svc-webhooks replay deliveries.jsonl --to http://localhost:3000/webhooks",
    "svc-webhooks replay deliveries.jsonl --to http://localhost:3000/webhooks --only genuine --json",
  ],
  options,
  async run(context) {
    const { args, json, options: given, note, show, signal, stdin } = context;
    const [file = ""] = args;
    const concurrency = wholeNumber("--concurrency", given.concurrency, 1, 100);
    const isWanted = filterOf(given.only, given["delivery-id"]);
    const target = await resolveTarget("--to", given.to, given["allow-external"]);

    const progress = createProgress(context);
    const counts = { sent: 0, succeeded: 0, failed: 0 };
    const running = new Set<Promise<void>>();
    const write = (value: object, lines: readonly Line[]) => {
      progress.clear();
      show(value, lines);
    };
    const fail = (value: object, text: string) => {
      counts.failed += 1;
      write(value, [[paint("red", "failed"), "  ", text]]);
    };
    const one = async (captured: Captured, line: number): Promise<void> => {
      const sent = await send(captured, line, target, signal);
      if (signal.aborted && sent.status === null) return;
      counts.sent += 1;
      const { status, error, delivery_id } = sent;
      const isSuccess = status !== null && status >= 200 && status < 300;
      if (!isSuccess) {
        const id = excerpt(delivery_id ?? "(no delivery id)", 80);
        fail(sent, `line ${line}  ${id}  ${error ?? `status ${status}`}`);
        return;
      }
      counts.succeeded += 1;
      if (json) write(sent, []);
    };

    if (file === "-" && stdin.isTTY === true)
      note("Reading the requests from the terminal; Ctrl-D ends them.");
    let isFirst = true;
    for await (const { number, text, share } of linesOf("The capture file", file, context)) {
      const captured = parseCaptured(text);
      if (isFirst && !captured) {
        throw new UsageError(
          "The first line of the file is not a request that listen --save has written.",
          "Use a file that svc-webhooks listen --save has written.",
        );
      }
      isFirst = false;
      if (!captured) {
        const error = "not a request that listen --save has written";
        fail({ line: number, status: null, error }, `line ${number}  ${error}`);
      } else if (isWanted(captured)) {
        const sending = one(captured, number).finally(() => running.delete(sending));
        running.add(sending);
        if (running.size >= concurrency) await Promise.race(running);
      }
      if (share !== undefined)
        progress.update(share, `${counts.sent} sent, ${counts.failed} failed`);
      if (signal.aborted) break;
    }
    await Promise.all(running);
    progress.clear();
    if (counts.sent + counts.failed === 0 && !signal.aborted) {
      throw new Failure(
        "nothing_to_send",
        "No request of the file is wanted.",
        "Check --only and --delivery-id, and whether the file has any lines.",
      );
    }
    const { sent, succeeded, failed } = counts;
    const interrupted = signal.aborted ? "Interrupted. " : "";
    show({ summary: { ...counts, interrupted: signal.aborted } }, [
      `${interrupted}Sent ${sent}: ${succeeded} succeeded, ${failed} failed.`,
    ]);
    return failed > 0 || signal.aborted ? 1 : 0;
  },
});

function filterOf(only: string | undefined, ids: readonly string[]) {
  if (only !== undefined && only !== "genuine" && only !== "refused") {
    throw new UsageError("--only is neither genuine nor refused.", "Write --only genuine.");
  }
  return ({ verdict, headers }: Captured) => {
    if (only !== undefined && (verdict === "genuine") !== (only === "genuine")) return false;
    return ids.length === 0 || ids.includes(headerOf(headers, headerNames.deliveryId) ?? "");
  };
}

async function send(
  { method, headers, body }: Captured,
  line: number,
  target: Target,
  stopped: AbortSignal,
): Promise<Sent> {
  const start = performance.now();
  const timeout = AbortSignal.timeout(responseMs);
  const result = await target
    .send({ method, headers: deliveryHeaders(headers), body }, AbortSignal.any([timeout, stopped]))
    .then(
      (response) => {
        response.resume();
        response.on("error", () => {});
        return { status: response.statusCode ?? null };
      },
      (error: unknown) => ({
        status: null,
        error: timeout.aborted ? `no response in ${responseMs / 1_000} s` : messageOf(error),
      }),
    );
  return {
    line,
    delivery_id: headerOf(headers, headerNames.deliveryId) ?? null,
    ...result,
    bytes: body.length,
    sha256: createHash("sha256").update(body).digest("hex"),
    ms: Math.round(performance.now() - start),
  };
}
