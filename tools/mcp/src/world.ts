import type { Clock } from "./clock.js";
import type { Hosts } from "./setup/hosts.js";
import type { Secrets } from "./setup/secrets.js";
import type { Service } from "./setup/service.js";

/** The settings and objects that all tools share. They stay the same while the server runs. */
export interface World {
  readonly secrets: Secrets;
  readonly hosts: Hosts;
  readonly service: Service;
  /** Whether tools may write to receivers, and to a service that this server did not start. */
  readonly write: boolean;
  readonly clock: Clock;
}
