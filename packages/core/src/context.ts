import type { StoredDelivery } from "./delivery.js";
import { headerNames } from "./headers.js";
import { LazySignal } from "./promise.js";
import type { Visit } from "./visit.js";

/** What a handler learns of its delivery; `signal` and `delivery` are only made if it looks at them. */
export class Context extends LazySignal {
  readonly #visit: Visit;

  constructor(visit: Visit) {
    super();
    this.#visit = visit;
    Object.assign(this, visit.facts, { idempotencyKey: visit.key });
  }

  get delivery(): StoredDelivery {
    const { header, bytes } = this.#visit;
    const headers = Object.fromEntries(
      Object.values(headerNames).map((name) => [name, header(name) || undefined]),
    );
    return { method: "POST", headers, body: bytes };
  }
}
