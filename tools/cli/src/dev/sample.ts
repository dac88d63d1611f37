import { setTimeout as pause } from "node:timers/promises";
import type { IncomingMessage } from "node:http";
import { fingerprint } from "@svc-webhooks/explain";
import type { Sender } from "@svc-webhooks/schemes/senders";
import type { Context } from "../command.js";
import { messageOf } from "../errors.js";
import { conceal } from "../lib/mask.js";
import { isHandled, outcomeOf } from "../lib/outcome.js";
import type { Target } from "../lib/target.js";
import { excerpt } from "../lib/terminal/text.js";
import { fields } from "../lib/terminal/table.js";
import { paint } from "../paint.js";
import { collectLines } from "./log-lines.js";
import { reasonsOf } from "./reasons.js";
import { exitCodeOf, withApp } from "./with-app.js";

const responseMs = 30_000;

/** The sample to send, and the app that receives it. */
export interface Sampling {
  readonly sender: Sender;
  readonly target: Target;
  readonly waitMs: number;
  /** The environment variable from which the app reads its secret. */
  readonly variable: string;
  readonly type: string;
}

/**
 * Runs the app with new keys of a sender, and sends it a sample that the sender could have signed. Resolves to the exit
 * code when the app has exited.
 */
export async function runWithSample(context: Context, sampling: Sampling): Promise<0 | 1> {
  const { show, note, signal } = context;
  const { sender, target, waitMs, variable } = sampling;
  const keys = await sender.testKeys();
  const secret = conceal(keys.secret);
  const signingSecret = conceal(keys.signingSecret);
  const secret_fingerprint = await fingerprint(secret);
  const onStart = () =>
    show(
      { to: target.url.href, scheme: sender.name, variable, secret_fingerprint },
      fields({
        sender: sender.label,
        to: target.url.href,
        secret: `${variable}, fingerprint ${secret_fingerprint}`,
      }),
    );
  const running = {
    to: target.url,
    waitMs,
    env: { [variable]: secret },
    log: collectLines(),
    onStart,
  };
  return withApp(context, running, async (app) => {
    await send(context, sampling, signingSecret);
    note("Sent a signed sample. Press Ctrl-C to stop your app and this command.");
    const end = await Promise.race([app.ended, pause(2 ** 31 - 1, undefined, { signal })]);
    return exitCodeOf(context, end ?? "", app);
  });
}

async function send(
  { show, signal }: Context,
  { sender, target, variable, type }: Sampling,
  secret: string,
): Promise<void> {
  const at = Date.now();
  const deliveryId = `sample_${crypto.randomUUID()}`;
  const body = Buffer.from(JSON.stringify(sender.complete({}, { deliveryId, type, at })));
  const signed = await sender.sign(body, { secret, deliveryId, type, at });
  const headers = [["content-type", "application/json"], ...Object.entries(signed)] as const;
  const start = performance.now();
  const timeout = AbortSignal.timeout(responseMs);
  const { status, code, error } = await target
    .send({ method: "POST", headers, body }, AbortSignal.any([timeout, signal]))
    .then(resultOf, (reason: unknown) => ({
      status: undefined,
      code: undefined,
      error: timeout.aborted ? `no response in ${responseMs / 1_000} s` : messageOf(reason),
    }));
  signal.throwIfAborted();
  const ms = Math.round(performance.now() - start);
  const result = status === undefined ? "no response" : [status, code].filter(Boolean).join(" ");
  const isRefused = status === undefined || status >= 300;
  const color = isRefused ? "red" : isHandled(code) ? "green" : "yellow";
  show({ delivery_id: deliveryId, type, result, ms }, [
    [paint(color, result), `  ${excerpt(type, 60)}  ${ms} ms`],
    ...reasonsOf(status, code, `${error}.`, { variable }).map((text) => `  ${text}`),
  ]);
}

/** Resolves to the status of a response, and to the outcome in its body if there is one. */
async function resultOf(response: IncomingMessage) {
  response.on("error", () => {});
  const code = await outcomeOf(response);
  return { status: response.statusCode ?? 0, code, error: undefined };
}
