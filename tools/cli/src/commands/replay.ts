import type { OutcomeCode } from "@svc-webhooks/core";
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { command } from "../command.js";
import { Failure, messageOf, UsageError } from "../errors.js";
import { parseCaptured, useCaptureFile, type Captured } from "../lib/capture.js";
import { linesOf } from "../lib/lines.js";
import { wholeNumber } from "../lib/number.js";
import { outcomeOf, refusalOf } from "../lib/outcome.js";
import { secretOptions } from "../lib/secret.js";
import { createProgress } from "../lib/terminal/progress.js";
import { resolveTarget, targetOptions } from "../lib/target-rule.js";
import type { Target } from "../lib/target.js";
import { excerpt } from "../lib/terminal/text.js";
import { paint, type Line } from "../paint.js";
import { sourceOf, type Source } from "../schemes/source.js";
import { schemeOption } from "../schemes/option.js";

const options = {
  to: { type: "string", required: true, value: "url", text: "where to send the requests" },
  concurrency: {
    type: "string",
    default: "1",
    value: "number",
    text: "concurrent requests; 1 keeps them in order",
  },
  "delivery-id": {
    type: "string",
    multiple: true,
    value: "id",
    text: "send only this delivery; may be repeated",
  },
  ...schemeOption,
  resign: {
    type: "boolean",
    text: "sign the requests again, in case their signed times have expired",
  },
  ...secretOptions,
  only: { type: "string", value: "verdict", text: "send only genuine or only refused requests" },
  ...targetOptions,
} as const;

/** The result of one request. */
interface Sent {
  readonly line: number;
  readonly delivery_id: string | null;
  /** The response status, or null if there was no response. */
  readonly status: number | null;
  readonly error?: string;
  /** The outcome in a response with status 300 or more, if the receiver uses svc-webhooks. */
  readonly outcome?: OutcomeCode | undefined;
  readonly bytes: number;
  /** The SHA-256 of the body, in hex. */
  readonly sha256: string;
  readonly ms: number;
}

const responseMs = 30_000;

export const replay = command({
  usage: "<file> --to <url> [--scheme <name>] [--resign --secret-env <name>]",
  args: ["file"],
  details: [
    "Sends the requests in a file written by svc-webhooks listen --save (- reads stdin). Each body is sent byte for byte, with the documented X-SVC-* headers, Idempotency-Key and Content-Type. Every request goes to the given URL; saved paths are ignored, and redirects are not followed.",
    "Without --resign, the signatures come from the file, so the receiver needs the secret that they were made with. A receiver that recognizes duplicates does not handle a delivery again.",
    "With --scheme, the file contains requests from that sender, and all their headers are sent except connection headers, cookies and Authorization. --resign replaces the signature headers with new ones made with the secret; the body, the delivery id and the event type stay the same.",
    "Prints a line for each request that did not get a 2xx, and a summary. With --json, prints a line for every request: { line, delivery_id, status, error?, outcome?, bytes, sha256, ms }. Exits with 1 unless every request got a 2xx.",
  ],
  examples: [
    "svc-webhooks replay deliveries.jsonl --to http://localhost:3000/webhooks",
    "svc-webhooks replay deliveries.jsonl --to http://localhost:3000/webhooks --only genuine --json",
    "svc-webhooks replay d.jsonl --to localhost:3000/hooks --scheme stripe --resign --secret-env NAME",
  ],
  options,
  async run(context) {
    const { args, json, options: values, note, show, signal, stdin } = context;
    const [file = ""] = args;
    const concurrency = wholeNumber("--concurrency", values.concurrency, 1, 100);
    const source = await sourceOf(context);
    const isWanted = filterOf(values.only, values["delivery-id"], source);
    const target = await resolveTarget("--to", values.to, values["allow-external"]);

    const progress = createProgress(context);
    const counts = { sent: 0, succeeded: 0, failed: 0 };
    /** The number of requests that were refused when they arrived, but are now signed again. */
    let refused = 0;
    /** The number of lines that are not requests. They count as failed, although nothing is sent for them. */
    let unreadable = 0;
    const running = new Set<Promise<void>>();
    const write = (value: object, lines: readonly Line[]) => {
      progress.clear();
      show(value, lines);
    };
    const fail = (value: object, text: string, reasons: readonly string[] = []) => {
      counts.failed += 1;
      write(value, [
        [paint("red", "failed"), "  ", text],
        ...reasons.map((reason) => `  ${reason}`),
      ]);
    };
    /** The outcomes whose reasons have been printed. */
    const explained = new Set<OutcomeCode>();
    const replayRequest = async (captured: Captured, line: number): Promise<void> => {
      const sent = await send(captured, line, target, source, signal);
      if (signal.aborted && sent.status === null) return;
      counts.sent += 1;
      const { status, error, delivery_id, outcome } = sent;
      const isSuccess = status !== null && status >= 200 && status < 300;
      if (!isSuccess) {
        const id = excerpt(delivery_id ?? "(no delivery id)", 80);
        const result = error ?? ["status", status, outcome].filter(Boolean).join(" ");
        const isNew = outcome !== undefined && !explained.has(outcome);
        if (outcome !== undefined) explained.add(outcome);
        const reasons = isNew ? refusalOf(status ?? undefined, outcome, false) : [];
        fail(sent, `line ${line}  ${id}  ${result}`, reasons);
        return;
      }
      counts.succeeded += 1;
      if (json) write(sent, []);
    };

    if (file === "-" && stdin.isTTY === true)
      note("Reading the requests from the terminal; press Ctrl-D to finish.");
    let isFirst = true;
    for await (const { number, text, share } of linesOf("The capture file", file, context)) {
      const captured = parseCaptured(text);
      if (isFirst && !captured) {
        throw new UsageError(
          "The first line of the file is not a request written by listen --save.",
          useCaptureFile,
        );
      }
      isFirst = false;
      if (!captured) {
        const error = "not a request written by listen --save";
        unreadable += 1;
        fail({ line: number, status: null, error }, `line ${number}  ${error}`);
      } else if (await isWanted(captured)) {
        if (values.resign && captured.verdict !== "genuine") refused += 1;
        const sending = replayRequest(captured, number).finally(() => running.delete(sending));
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
        "No request in the file matches.",
        "Check --only and --delivery-id, and check that the file is not empty.",
      );
    }
    const { sent, succeeded, failed } = counts;
    const lines = unreadable > 0 ? ` Lines that are not requests: ${unreadable}.` : "";
    const interrupted = signal.aborted ? "Interrupted. " : "";
    show({ summary: { ...counts, interrupted: signal.aborted } }, [
      `${interrupted}Sent ${sent}: ${succeeded} succeeded, ${failed - unreadable} failed.${lines}`,
    ]);
    if (refused > 0) {
      note(
        `Requests that were refused on arrival, for example as stale, but are now signed again: ${refused}. To leave them out, add --only genuine.`,
      );
    }
    return failed > 0 || signal.aborted ? 1 : 0;
  },
});

function filterOf(only: string | undefined, ids: readonly string[], { idOf }: Source) {
  if (only !== undefined && only !== "genuine" && only !== "refused") {
    throw new UsageError("--only must be genuine or refused.", "Write --only genuine.");
  }
  return async (captured: Captured) => {
    if (only !== undefined && (captured.verdict === "genuine") !== (only === "genuine"))
      return false;
    return ids.length === 0 || ids.includes((await idOf(captured)) ?? "");
  };
}

async function send(
  captured: Captured,
  line: number,
  target: Target,
  { headersOf, idOf }: Source,
  stopped: AbortSignal,
): Promise<Sent> {
  const { method, body } = captured;
  const headers = await headersOf(captured);
  const start = performance.now();
  const timeout = AbortSignal.timeout(responseMs);
  const result = await target
    .send({ method, headers, body }, AbortSignal.any([timeout, stopped]))
    .then(resultOf, (error: unknown) => ({
      status: null,
      error: timeout.aborted ? `no response in ${responseMs / 1_000} s` : messageOf(error),
    }));
  return {
    line,
    delivery_id: (await idOf(captured)) ?? null,
    ...result,
    bytes: body.length,
    sha256: createHash("sha256").update(body).digest("hex"),
    ms: Math.round(performance.now() - start),
  };
}

/** Resolves to the status of a response and, if the status is 300 or more, the outcome in the body, if there is one. */
async function resultOf(response: IncomingMessage) {
  const { statusCode: status = 0 } = response;
  response.on("error", () => {});
  if (status < 300) {
    response.resume();
    return { status };
  }
  return { status, outcome: await outcomeOf(response) };
}
