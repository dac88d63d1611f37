import { storedHeaders, type StoredDelivery } from "./delivery.js";
import type { DeliveryFacts, Warning } from "./outcome.js";
import { LazySignal } from "./promise.js";
import type { Visit } from "./visit.js";

/** What stages have found out; none decides by it. */
export type Facts = { -readonly [Fact in keyof DeliveryFacts]: DeliveryFacts[Fact] } & {
  readonly warnings: Warning[];
};

/**
 * What a handler learns of its delivery: the facts as its own fields, from which the outcome and the
 * report are copied, and getters for what is only made if it looks.
 */
export class Context extends LazySignal {
  readonly receivedAt: number;
  readonly warnings: Warning[] = [];
  readonly #visit: Visit;

  constructor(visit: Visit) {
    super();
    this.#visit = visit;
    this.receivedAt = visit.config.clock.now();
  }

  get idempotencyKey(): string {
    return this.#visit.claim.key;
  }

  get delivery(): StoredDelivery {
    const { header, bytes } = this.#visit;
    return { method: "POST", headers: storedHeaders(header), body: bytes };
  }
}
