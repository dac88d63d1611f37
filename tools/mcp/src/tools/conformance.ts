import {
  ConnectionError,
  explainConnection,
  isUnreachable,
  receiverConformance,
  type ConformanceResult,
} from "@svc-webhooks/cli/workbench";
import { z } from "zod";
import { receiverUrl, secretName } from "./inputs.js";
import { tool } from "./tool.js";

export const conformance = tool({
  name: "conformance",
  title: "Run the receiver contract",
  description:
    "Runs the contract for receivers against a receiver in any language. Each case passes, fails or does not apply, with its reason and the sentence of the specification that it rests on. The handler for email.sent runs about 50 times, and each response may take `timeout_seconds`. doctor guesses causes; conformance does not.",
  input: z.strictObject({
    url: receiverUrl,
    secret: secretName,
    timeout_seconds: z.int().min(1).max(60).default(3).describe("how long a response may take"),
  }),
  facts: z.object({
    passed: z.number(),
    failed: z.number(),
    not_applicable: z.number(),
    failures: z.array(
      z.object({
        title: z.string(),
        level: z.enum(["must", "should"]),
        reason: z.string(),
        source: z.string(),
      }),
    ),
  }),
  writes: "receiver",
  isDestructive: true,
  async run({ secrets, hosts }, { url, secret, timeout_seconds }, signal) {
    const target = hosts.target(url);
    const key = secrets.get(secret);
    let unreached: string | undefined;
    const results = await receiverConformance(target.url.href, {
      secret: key,
      timeoutMs: timeout_seconds * 1_000,
      signal,
      lookup: target.lookup,
      async explainError(error) {
        const explained = await explainConnection(error, target.url);
        if (!(explained instanceof ConnectionError)) {
          unreached = isUnreachable((error as NodeJS.ErrnoException).code ?? "")
            ? "unreachable"
            : undefined;
          return undefined;
        }
        unreached = target.url.protocol === "https:" ? "tls" : "connection_closed";
        return explained.message;
      },
    });
    const failures = results.filter(({ status }) => status === "failed");
    const count = (status: ConformanceResult["status"]) =>
      results.filter((result) => result.status === status).length;
    const facts = {
      passed: count("passed"),
      failed: failures.length,
      not_applicable: count("not_applicable"),
      failures: failures.map(({ title, level, reason = "", source }) => ({
        title,
        level,
        reason,
        source: `${source.document}, ${source.section}: ${source.quote}`,
      })),
    };
    const broken = failures.find(({ level }) => level === "must") ?? failures[0];
    if (!broken) {
      return {
        ok: true,
        code: "conforms",
        happened:
          facts.not_applicable === 0
            ? "The receiver passes every case."
            : `The receiver passes every case that was judged. ${facts.not_applicable} were not judged: they depend on its handler, which this tool does not see.`,
        facts,
        next_step: "Call timeline to see how real deliveries ended.",
      };
    }
    if (unreached !== undefined) {
      return {
        ok: false,
        code: unreached,
        happened: "No response arrived from the receiver, so no case was judged.",
        cause: broken.reason,
        facts,
        next_step:
          "Apply the fix that the cause names, then call conformance again. Only the user can change how this server is started.",
      };
    }
    return {
      ok: false,
      code: broken.level === "must" ? "contract_broken" : "recommendation_missed",
      happened: `The receiver fails a case: ${broken.title}.`,
      cause: broken.reason,
      facts,
      next_step:
        "Correct the receiver, or call doctor to find the cause, then call conformance again.",
    };
  },
});
