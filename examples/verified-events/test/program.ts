/** A request as its sender signs it. */
export interface SignedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A program of the example, in a folder of its own: `before.mjs` and `after.mjs`. */
export interface Program {
  /** The name of its folder. */
  readonly folder: string;
  /** The versions of packages that the workspace lacks, such as `@slack/bolt@5.1.0`. Default: none. */
  readonly packages?: readonly string[];
  /** Whether the program exports a route or a function, which `serve.mjs` serves. Default: it listens on `PORT`. */
  readonly isServed?: boolean;
  /** The files that have each effect once. Default: `after.mjs`. */
  readonly fixed?: readonly string[];
  /** The secret, or the private key, with which the sender signs. */
  readonly secret: string;
  /** Another secret of the same kind. Absent if only the sender can write to the channel, so that nothing is signed. */
  readonly wrongSecret?: string;
  /** Returns the environment variables that the program reads, besides `PORT`, `REDIS_URL` and `EFFECTS_URL`. */
  readonly environment: () => Readonly<Record<string, string>>;
  /** Signs a request for an event. `id` is the id that the program passes to `effect`. */
  readonly sign: (id: string, secret: string) => SignedRequest | Promise<SignedRequest>;
  /** Signs other requests that the program must refuse. Default: none. */
  readonly signWrong?: (id: string) => readonly SignedRequest[];
  /** Signs an earlier event of the same object, which has no effect. Default: none. */
  readonly signEarlier?: (id: string) => SignedRequest;
  /** The effects of an event that `before.mjs` handles. */
  readonly before: {
    /** Its first run fails while its second copy runs. */
    readonly failure: number;
    /** Its process is killed in its first run, before the effect. */
    readonly crash: number;
  };
}
