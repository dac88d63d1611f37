import type { Logger } from "@nestjs/common";
import type { DiscoveryService, HttpAdapterHost } from "@nestjs/core";
import type { Receiver } from "@svc-webhooks/core";
import { assertValid } from "@svc-webhooks/core/adapter";
import { assertRoutes } from "./discovery.js";
import { mount } from "./mount.js";
import type { WebhooksOptions } from "./options.js";
import { nameOf, receiverToken } from "./receiver-token.js";

/** The token of the one `Mounted` of each WebhooksModule. */
export const mountedToken = "svc-webhooks:mounted";

/** A receiver at its path in one Nest app. */
export class Mounted {
  /** The path without a slash at the end. */
  readonly path: string;
  readonly #logger: Logger;
  readonly #name: string;
  readonly #drainMs: number;
  readonly #receiver: Receiver;
  readonly #discovery: DiscoveryService;
  readonly #host: HttpAdapterHost;

  /** @throws ConfigError `invalid_option` */
  constructor(
    name: string,
    logger: Logger,
    { path, drainMs = 10_000 }: WebhooksOptions,
    receiver: Receiver,
    discovery: DiscoveryService,
    host: HttpAdapterHost,
  ) {
    assertValid(
      typeof path === "string" && /^\/[\w\-./~!$&'+,;=@]*$/.test(path),
      "path",
      "`path` must begin with a slash. It is the exact path, so it cannot contain a pattern, a query or a `%`.",
    );
    assertValid(
      Number.isInteger(drainMs) && drainMs >= 0 && drainMs < 2 ** 31,
      "drainMs",
      "`drainMs` must be an integer from 0 to 2147483647, in milliseconds.",
    );
    assertValid(
      !host.listening,
      "imports",
      "WebhooksModule was loaded after the app had begun to listen. Import it in a module that is not loaded lazily.",
    );
    this.#name = name;
    this.#logger = logger;
    // A router may match a slash at the end or not, so both paths are mounted.
    this.path = path.replace(/\/+$/, "");
    this.#drainMs = drainMs;
    this.#receiver = receiver;
    this.#discovery = discovery;
    this.#host = host;
  }

  /**
   * Adds the receiver to Nest's HTTP server.
   *
   * @throws ConfigError `invalid_option`
   */
  mount(): void {
    // Those of another copy of this package are not instances of this class.
    const same = this.#discovery
      .getProviders()
      .filter(({ token, instance }) => token === mountedToken && instance?.path === this.path);
    assertValid(
      same.length <= 1,
      "path",
      `Two receivers have the path "${this.path || "/"}". Give each its own path.`,
    );
    mount(this.#host.httpAdapter, this.path, this.#receiver);
  }

  /**
   * Throws if a handler or a receiver of the app would never be called.
   *
   * @throws ConfigError `invalid_handler`, `invalid_option`
   */
  check(): void {
    assertRoutes(this.#discovery);
    const own = receiverToken(this.#name);
    assertValid(
      this.#discovery.getProviders().filter(({ token }) => token === own).length === 1,
      "name",
      `Two calls of WebhooksModule create ${nameOf(this.#name)}. Give each receiver its own \`name\`. To use one receiver in several modules, import it once: it can be injected everywhere.`,
    );
  }

  /** Waits for pending deliveries, at most for `drainMs`, and refuses others from now on: Nest's server still listens. */
  async drain(): Promise<void> {
    const pending = await this.#receiver.drain({ deadlineMs: this.#drainMs, isFinal: true });
    if (pending > 0) {
      this.#logger.warn(
        `Closing with ${pending} pending deliveries, after ${this.#drainMs} ms (drainMs).`,
      );
    }
  }
}
