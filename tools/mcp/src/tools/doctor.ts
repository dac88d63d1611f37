import { diagnose } from "@svc-webhooks/cli/workbench";
import { z } from "zod";
import { receiverUrl, secretName } from "./inputs.js";
import { happenedOf } from "./texts.js";
import { tool } from "./tool.js";

export const doctor = tool({
  name: "doctor",
  title: "Find a receiver's mistakes",
  description:
    "Sends forged and genuine test deliveries to a receiver, and finds its mistakes from the responses. Without `event`, a handler runs only if the receiver handles every type. It sends about 70 requests, each of which may take `timeout_seconds`; a receiver that responds fast takes less than a minute.",
  input: z.strictObject({
    url: receiverUrl,
    secret: secretName,
    event: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("the event type of the deliveries; the receiver's handler for it runs"),
    timeout_seconds: z.int().min(1).max(30).default(10).describe("how long a response may take"),
  }),
  facts: z.object({
    probes: z.number(),
    planned_probes: z.number(),
    secret_fingerprint: z.string(),
    findings: z.array(z.object({ id: z.string(), cause: z.string(), fix: z.string() })),
    not_judged: z.array(z.string()),
  }),
  writes: "receiver",
  isDestructive: true,
  async run({ secrets, hosts }, { url, secret, event, timeout_seconds }, signal) {
    const { findings, probes, stoppedBefore, not_judged, secret_fingerprint } = await diagnose({
      target: hosts.target(url),
      secret: secrets.get(secret),
      ...(event === undefined ? {} : { event }),
      timeoutMs: timeout_seconds * 1_000,
      signal,
    });
    const facts = {
      probes: probes.length,
      planned_probes: stoppedBefore ?? probes.length,
      secret_fingerprint,
      findings: findings.map(({ id, cause, fix }) => ({ id, cause, fix })),
      not_judged: not_judged.flatMap(({ text, isOurs }) => (isOurs ? [text] : [])),
    };
    const [first] = findings;
    if (!first) {
      const isWhole = stoppedBefore === undefined;
      return {
        ok: isWhole,
        code: isWhole ? "no_mistake" : "stopped_early",
        happened: isWhole
          ? "The receiver made no mistake in any probe."
          : "The examination stopped early, because of a rate limit or a lockout.",
        facts,
        next_step: isWhole
          ? "Call timeline to see how real deliveries ended."
          : "Wait a minute, or turn off the rate limit or the lockout, then call doctor again.",
      };
    }
    return {
      ok: false,
      code: first.id,
      happened: happenedOf(first.id, "The receiver made a mistake."),
      cause: first.cause,
      fix: first.fix,
      facts,
      untrusted: findings.map(({ id, happened }) => [id, happened] as const),
      next_step:
        "Apply the fix of the first finding, then call doctor again: the first mistake may have caused the other findings.",
    };
  },
});
