import type { Engine } from "../delivery/engine.js";
import type { Happening } from "../delivery/raise.js";
import type { World } from "../world.js";

/** The world, and the parts of the service that operations use. */
export interface Service extends World {
  readonly engine: Engine;
  /** Raises the event for an occasion, if there is one, and starts its deliveries. */
  readonly raise: (happening: Happening) => void;
  /** Returns the reason why an endpoint cannot have this URL, or undefined if it can. */
  readonly refuseUrl: (url: string) => Promise<string | undefined>;
  /** Passes an accepted email to the SMTP server, if there is one. */
  readonly relay: (sendId: string) => void;
}
