import type { Settings } from "../assumptions/table.js";
import type { EndpointRecord, Tamper } from "../state/records.js";
import { signature } from "./signing.js";

/**
 * Returns the body and signatures of a request that a receiver must reject. The request stays genuine in three cases:
 * `previous_secret` without a rotation, `flipped_byte` of an empty body, and `reserialized` if that changes no byte.
 * The promise rejects if `tamper` is `reserialized` and the body is not JSON.
 */
export async function tampered(
  tamper: Tamper,
  body: Uint8Array,
  endpoint: EndpointRecord,
  secret: string,
  rule: Settings["secret.key"],
): Promise<{ readonly body: Uint8Array; readonly signatures: readonly string[] }> {
  const genuine = await signature(body, secret, rule);
  switch (tamper) {
    case "wrong_secret":
      return { body, signatures: [await signature(body, `whsec_${"wrong".repeat(6)}XX`, rule)] };
    case "previous_secret":
      return {
        body,
        signatures: [await signature(body, endpoint.previous?.secret ?? secret, rule)],
      };
    case "flipped_byte": {
      const middle = body.length >> 1;
      const flipped = body.map((byte, index) => (index === middle ? byte ^ 1 : byte));
      return { body: flipped, signatures: [genuine] };
    }
    case "missing_prefix":
      return { body, signatures: [genuine.replace("sha256=", "")] };
    case "missing_header":
      return { body, signatures: [] };
    case "duplicate_header":
      return { body, signatures: [genuine, genuine] };
    case "reserialized": {
      const parsed: unknown = JSON.parse(new TextDecoder().decode(body));
      return {
        body: new TextEncoder().encode(JSON.stringify(parsed, null, 2)),
        signatures: [genuine],
      };
    }
  }
}
