import { faultKinds } from "@svc-webhooks/sandbox/command";
import { z } from "zod";
import { activeEndpoint } from "./endpoints.js";
import { tool } from "./tool.js";

export const setFault = tool({
  name: "set_fault",
  title: "Inject faults into the sandbox's next deliveries",
  description:
    "Injects a fault into the next attempts of a sandbox to deliver to an endpoint: status responds in place of the receiver; slow delays the attempt; response_lost runs the receiver and drops its response; refused and reset break the connection before the receiver is called; timeout lets the attempt end without a response; duplicate sends the delivery twice at the same time; reorder holds a batch and releases it in reverse order; drop loses a delivery, which is not retried; mutate changes the body after it was signed.",
  input: z.strictObject({
    kind: z.enum(faultKinds),
    endpoint: z
      .string()
      .max(100)
      .optional()
      .describe("the id of an endpoint (we_…); may be omitted if there is only one"),
    times: z
      .int()
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        "how many attempts are affected, including retries; for reorder, the size of the batch, at least 2",
      ),
    status: z.int().min(300).max(599).optional().describe("for the kind status; default 500"),
    delay_ms: z.int().min(0).max(600_000).optional().describe("for the kinds slow and reorder"),
  }),
  facts: z.object({ kind: z.enum(faultKinds), left: z.number() }),
  writes: "service",
  async run(
    { service },
    { kind, endpoint, status, delay_ms, times = kind === "reorder" ? 2 : 1 },
    signal,
  ) {
    const left = await service.call(async (client) => {
      const target = await activeEndpoint(client, endpoint, signal);
      const body = {
        target,
        kind,
        times,
        ...(status === undefined ? {} : { status }),
        ...(delay_ms === undefined ? {} : { delay_ms }),
      };
      const fault = await client.request<{ readonly left?: unknown }>(
        "POST",
        "/_sandbox/faults",
        { body },
        { signal },
      );
      return Number(fault.left);
    }, signal);
    return {
      ok: true,
      code: "fault_added",
      happened: `The fault affects the next ${times === 1 ? "attempt" : `${times} attempts`} to deliver to the endpoint.`,
      facts: { kind, left: Number.isFinite(left) ? left : times },
      next_step: "Call deliver without `url`, then wait_for and timeline.",
    };
  },
});
