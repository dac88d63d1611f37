import { z } from "zod";
import { throughSandbox } from "./deliver/sandbox.js";
import { deliveryModes, deliveryTampers } from "./deliver/modes.js";
import { toReceiver } from "./deliver/receiver.js";
import { eventId, secretName } from "./inputs.js";
import { tool } from "./tool.js";

const longestData = 65_536;

export const deliver = tool({
  name: "deliver",
  title: "Deliver events to a receiver",
  description:
    "Delivers events: signed (one genuine delivery), tampered (one that the receiver must refuse), duplicate (the same delivery twice) or reordered (two events, the newer one first). With `url`, sends to that receiver, signed with `secret`, and reports its responses. Without `url`, a sandbox delivers to its endpoint: call wait_for to see the result.",
  input: z.strictObject({
    mode: z.enum(deliveryModes),
    url: z.string().max(10_000).optional().describe("the receiver's URL, on an allowed host"),
    secret: secretName,
    type: z
      .string()
      .min(1)
      .max(200)
      .default("email.sent")
      .describe("the event type, with `url`; the receiver's handler for it runs"),
    data: z
      .record(z.string(), z.json())
      .optional()
      .refine(
        (data) => data === undefined || JSON.stringify(data).length <= longestData,
        `must have at most ${longestData} characters`,
      )
      .describe("the event's data, with `url`; default: the data of a sent email"),
    tamper: z
      .enum(deliveryTampers)
      .default("wrong_secret")
      .describe("what is wrong with a tampered delivery"),
    endpoint: z
      .string()
      .max(100)
      .optional()
      .describe("without `url`: the id of an endpoint (we_…); may be omitted if there is only one"),
    event_id: eventId
      .optional()
      .describe(
        "without `url`: the delivery that the modes tampered and duplicate send; default: the newest delivery",
      ),
  }),
  facts: z.object({
    to: z.enum(["receiver", "sandbox"]),
    responses: z.array(
      z.object({
        sent: z.string(),
        status: z.number().nullable(),
        outcome: z.string().optional(),
        ms: z.number(),
      }),
    ),
  }),
  writes: "depends",
  writesTo: ({ url }) => (url === undefined ? "service" : "receiver"),
  isDestructive: true,
  run: (world, { url, ...input }, signal) =>
    url === undefined
      ? throughSandbox(world, input, signal)
      : toReceiver(world, { ...input, url }, signal),
});
