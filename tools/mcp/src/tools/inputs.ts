import { z } from "zod";
import { Refusal } from "../refusal.js";

/* The input parameters that several tools share. */

export const secretName = z
  .string()
  .max(100)
  .optional()
  .describe(
    "the name of an environment variable that --secret-env allows, never the secret itself; may be omitted if there is only one",
  );

export const receiverUrl = z
  .string()
  .max(10_000)
  .describe("the receiver's URL, on an allowed host");

/** The schema of an event's id. The id becomes part of a path, so it must not be a dot segment. */
export const eventId = z
  .string()
  .max(256)
  .regex(/^(?!\.{1,2}$)[!-~]+$/, "must be an id from timeline");

export const signature = z
  .string()
  .max(10_000)
  .describe("the X-SVC-Signature as it arrived, or as the code computed it");

export const bodyText = z.string().max(1_048_576).describe("the body, exactly as it arrived");

export const bodyEncoding = z
  .enum(["utf8", "base64"])
  .default("utf8")
  .describe("the encoding of `body`: base64 keeps bytes that are not UTF-8");

/** Returns the bytes of a body. Throws a Refusal `invalid_body` for base64 that is not valid or not padded. */
export function bytesOf(body: string, encoding: "utf8" | "base64"): Uint8Array {
  if (encoding === "utf8") return new TextEncoder().encode(body);
  const bytes = Buffer.from(body, "base64");
  if (bytes.toString("base64") === body) return new Uint8Array(bytes);
  throw new Refusal(
    "invalid_body",
    "`body` is not base64.",
    "Encode the bytes of the body in base64 with padding, or set `body_encoding` to utf8.",
  );
}
