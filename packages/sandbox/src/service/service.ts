import type { Engine } from "../delivery/engine.js";
import type { World } from "../world.js";

/** What the operations work with. */
export interface Service extends World {
  readonly engine: Engine;
  /** Returns why an endpoint must not have this URL; undefined if it may. */
  readonly refuseUrl: (url: string) => Promise<string | undefined>;
  /** Passes an accepted email on. */
  readonly relay: (sendId: string) => void;
}
