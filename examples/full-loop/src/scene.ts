import type { Client } from "@svc-webhooks/client";
import type { Stage } from "./stage.js";

/** The parts that all scenes share. */
export interface Demo {
  /** A client that prints its requests. */
  readonly client: Client;
  /** A client that prints nothing. */
  readonly quietly: Client;
  readonly stage: Stage;
  readonly endpointId: string;
  /** The secrets that the receiver accepts. It reads them again for each delivery. */
  readonly secrets: { readonly id: string; readonly key: string }[];
}

/** Plays one scene. Resolves to the problem, if there was one. */
export type Scene = (demo: Demo) => Promise<string | undefined>;
