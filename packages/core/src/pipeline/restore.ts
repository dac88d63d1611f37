import { isBytes } from "../bytes.js";
import { headerLookup } from "../headers.js";
import { endWith, type Ending } from "../outcome.js";
import type { Visit } from "../visit.js";
import { accept } from "./verify.js";

/** In the place of stages 1 and 2, for a delivery that passed them before it was stored. */
export function restore(visit: Visit): Ending | undefined {
  const { headers, body } = visit.delivery;
  if (!isBytes(body)) return endWith("body_unavailable", "resume() takes a StoredDelivery");
  visit.header = headerLookup(headers);
  visit.bytes = body;
  visit.context.bodyBytes = body.length;
  return accept(visit);
}
