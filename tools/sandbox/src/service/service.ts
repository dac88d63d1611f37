import type { Engine } from "../delivery/engine.js";
import type { Happening } from "../delivery/raise.js";
import type { CallRecord } from "../state/records.js";
import type { World } from "../world.js";
import type { RateLimit } from "./rate-limit.js";

/** A finished call, with the whole bodies of its request and response. */
export interface Exchange {
  readonly call: CallRecord;
  /** The `Authorization` header, which must not be stored. */
  readonly authorization: string | null;
  /** Empty if the body was not read. */
  readonly sent: Uint8Array;
  readonly received: string;
}

/** The world, and the parts of the service that operations use. */
export interface Service extends World {
  readonly engine: Engine;
  readonly rateLimit: RateLimit;
  /** Receives each finished call to the interface, for a recording. */
  readonly onCall: (exchange: Exchange) => void;
  /** Raises the event for an occasion, if there is one, and starts its deliveries. */
  readonly raise: (happening: Happening) => void;
  /** Returns the reason why an endpoint cannot have this URL, or undefined if it can. */
  readonly refuseUrl: (url: string) => Promise<string | undefined>;
  /** Passes an accepted email to the SMTP server, if there is one. */
  readonly relay: (sendId: string) => void;
}
