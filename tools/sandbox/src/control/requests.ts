import { z } from "zod";
import { courses } from "../assumptions/table.js";
import { clockModes } from "../clock.js";
import { whole } from "../http/validate.js";
import { tenYears } from "../lib/units.js";
import { dropResults, faultKinds, mostLines, tampers } from "../state/records.js";

/* Schemas of the control routes' bodies. They reject unknown members, which are probably typos. */

export const explainRequest = z.strictObject({ value: z.string().max(10_000) });

export const logRequest = z.strictObject({
  lines: z.array(z.string().max(1_000, "must have at most 1,000 characters")).max(mostLines),
});

export const sendRequest = z.strictObject({
  times: whole(1, 100).default(1),
  concurrent: z.boolean().default(false),
  tamper: z.enum(tampers).optional(),
  body: z
    .union(
      [
        z.string(),
        z.strictObject({ text: z.string() }),
        z.strictObject({ base64: z.base64("must be base64") }),
      ],
      "must be a string, {text} or {base64}",
    )
    .transform((body) => {
      if (typeof body === "object" && "base64" in body)
        return new Uint8Array(Buffer.from(body.base64, "base64"));
      return new TextEncoder().encode(typeof body === "object" ? body.text : body);
    })
    .optional(),
});

export const testEmailRequest = z.strictObject({
  to: z
    .union([z.string(), z.array(z.string())], "must be an address or an array of addresses")
    .optional(),
  subject: z.string().optional(),
  scenario: z.enum(courses).optional(),
});

export const clockRequest = z
  .strictObject({
    advance_ms: whole(0, tenYears).optional(),
    to: z.literal("next").optional(),
    mode: z.enum(clockModes).optional(),
    speed: whole(1, 999_999).optional(),
  })
  .refine(
    ({ advance_ms, to, mode }) =>
      [advance_ms, to, mode].filter((value) => value !== undefined).length === 1,
    { path: ["body"], message: "must have exactly one of advance_ms, to and mode" },
  )
  .refine(({ mode, speed }) => speed === undefined || mode === "accelerated", {
    path: ["speed"],
    message: "requires the mode accelerated",
  });

export const checkpointRequest = z.strictObject({
  name: z
    .string()
    .regex(/^[\w-]{1,60}$/, "must have 1 to 60 letters, digits, hyphens and underscores")
    .default("checkpoint"),
});

export const recordingRequest = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-z][a-z0-9-]{0,59}$/,
      "must begin with a lower-case letter, and have at most 60 lower-case letters, digits and hyphens",
    )
    .default("scenario"),
});

export const outcomeRequest = z.strictObject({ outcome: z.enum(["verified", "failed"]) });

export const faultRequest = z
  .strictObject({
    target: z.string().max(200),
    kind: z.enum(faultKinds),
    times: whole(1, 1_000).default(1),
    status: whole(300, 599).optional(),
    retry_after: whole(0, 86_400).optional(),
    delay_ms: whole(0, 600_000).optional(),
    result: z.enum(dropResults).default("failed"),
    sign_again: z.boolean().default(false),
  })
  .refine(({ kind, times }) => kind !== "reorder" || times >= 2, {
    path: ["times"],
    message: "must be at least 2 for the kind reorder: it is the size of the batch",
  });

export const assumptionRequest = z.strictObject({ value: z.string().max(10_000) });
