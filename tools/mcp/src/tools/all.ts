import type { ToolSummary } from "@svc-webhooks/cli/workbench";
import { conformance } from "./conformance.js";
import { deliver } from "./deliver.js";
import { doctor } from "./doctor.js";
import { explainSignature } from "./explain-signature.js";
import { replay } from "./replay.js";
import { setFault } from "./set-fault.js";
import { timeline } from "./timeline.js";
import type { Tool } from "./tool.js";
import { verify } from "./verify.js";
import { waitFor } from "./wait-for.js";

export const tools: readonly Tool[] = [
  explainSignature,
  verify,
  doctor,
  deliver,
  timeline,
  waitFor,
  replay,
  setFault,
  conformance,
];

const needs = {
  nothing: "never",
  receiver: "always",
  service: "outside_own_sandbox",
  depends: "outside_own_sandbox",
} as const;

/**
 * Lists the tools in order, and states when each tool needs `--write`: `never`, `always`, or `outside_own_sandbox`,
 * that is, unless the tool uses the sandbox that the server started.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { toolList } from "@svc-webhooks/mcp";
 *
 * const reading = toolList().filter(({ needs_write }) => needs_write === "never");
 * assert.deepEqual(
 *   reading.map(({ name }) => name),
 *   ["explain_signature", "verify", "timeline", "wait_for"],
 * );
 * ```
 */
export const toolList = (): readonly ToolSummary[] =>
  tools.map(({ name, title, writes }) => ({ name, title, needs_write: needs[writes] }));
