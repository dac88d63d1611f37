import type { StoredDelivery } from "./delivery.js";
import type { DeliveryContext, SignalReason } from "./handler.js";
import { headerNames } from "./headers.js";
import type { DeliveryFacts } from "./outcome.js";
import { LazySignal } from "./promise.js";
import type { Visit } from "./visit.js";

/** What is only made for a handler that looks at it. */
class Context extends LazySignal<SignalReason["code"]> {
  readonly #visit: Visit;

  constructor(visit: Visit) {
    super();
    this.#visit = visit;
  }

  get delivery(): StoredDelivery {
    const { header, bytes } = this.#visit;
    const headers = Object.fromEntries(
      Object.values(headerNames).map((name) => [name, header(name) || undefined]),
    );
    return { method: "POST", headers, body: bytes };
  }
}

type ClaimedFacts = Pick<DeliveryContext, keyof DeliveryFacts>;

/** What a handler learns of its delivery. */
export const contextOf = (visit: Visit): Context & DeliveryContext =>
  // What is optional on the way is known once a claim is held.
  Object.assign(new Context(visit), visit.facts as ClaimedFacts, { idempotencyKey: visit.key });
