import { BodyError } from "../errors.js";
import { headerLookup, headerNames } from "../headers.js";
import { Ending } from "../outcome.js";
import { isBytes } from "../secrets.js";
import { readSignature } from "../signature.js";
import { describe } from "../text.js";
import type { Visit } from "../visit.js";

/**
 * Stage 1: what can be refused without the body is refused without it, so a stranger's unsigned
 * request costs no memory. Then the body is read, at most `maxBodyBytes` of it.
 */
export async function admit(visit: Visit): Promise<Ending | undefined> {
  const { method, headers, body, fix } = visit.delivery;
  const { maxBodyBytes } = visit.config;
  const header = (visit.header = headerLookup(headers));
  if (method !== "POST") return new Ending("method_not_allowed");

  // Frameworks inflate or not as they please, and the signature covers one of the two.
  const encoding = header("content-encoding").trim().toLowerCase() || "identity";
  if (encoding !== "identity") return new Ending("encoding_unsupported");

  const declaredBytes = Number(header("content-length"));
  if (declaredBytes > maxBodyBytes) return new Ending("body_too_large");

  const signature = readSignature(header(headerNames.signature));
  if (typeof signature === "string") return new Ending(signature);
  visit.hex = signature.hex;

  try {
    const bytes: unknown = typeof body === "function" ? await body(maxBodyBytes) : body;
    if (!isBytes(bytes)) throw new Error("the body is no Uint8Array");
    if (bytes.length > maxBodyBytes) throw new BodyError("body_too_large");
    if (bytes.length < declaredBytes) {
      throw new Error(`the body was cut to ${bytes.length} of ${declaredBytes} bytes`);
    }
    visit.bytes = bytes;
    visit.facts.bodyBytes = bytes.length;
    return undefined;
  } catch (error) {
    // By code, not class: another copy of this package may have thrown it.
    const code = (error as Partial<BodyError> | undefined)?.code;
    if (code === "aborted" || code === "body_too_large") return new Ending(code);
    const found = describe(error);
    return new Ending("body_unavailable", fix ? `${found}; ${fix}` : found);
  }
}
