import type { Engine } from "../delivery/engine.js";
import type { Happening } from "../delivery/raise.js";
import type { World } from "../world.js";

/** The world, and the parts of the service that operations use. */
export interface Service extends World {
  readonly engine: Engine;
  /** Raises the event of an occasion, if it has one, and starts its deliveries. */
  readonly raise: (happening: Happening) => void;
  /** Returns why an endpoint must not have this URL; undefined if it may. */
  readonly refuseUrl: (url: string) => Promise<string | undefined>;
  /** Passes an accepted email on. */
  readonly relay: (sendId: string) => void;
}
