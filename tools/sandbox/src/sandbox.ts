import { createApi, type Reply } from "./http/api.js";
import { createServers, type BindAddress, type Listening } from "./http/server.js";
import type { SandboxClock, Scheduler } from "./clock.js";
import type { Perform } from "./control/actions.js";
import { createEngine } from "./delivery/engine.js";
import { raise } from "./delivery/raise.js";
import { createRelay } from "./mail/relay.js";
import { createWorld } from "./create-world.js";
import { createDestinations, type Destinations } from "./network/destinations.js";
import type { Handler } from "./network/in-process.js";
import { openApiDocument } from "./openapi/document.js";
import { resolveOptions, type ResolvedOptions, type SandboxOptions } from "./options.js";
import { createRateLimit } from "./service/rate-limit.js";
import { resumeWork } from "./service/resume.js";
import type { Service } from "./service/service.js";
import { createRecorder } from "./scenario/recorder.js";
import { createSite } from "./site.js";
import type { AssumptionState } from "./assumptions/ledger.js";
import { newestTime } from "./state/newest-time.js";
import { unusable } from "./state/sqlite-journal.js";
import type { ChangeListener } from "./state/state.js";

/** The service, simulated on this machine. */
export interface Sandbox {
  /**
   * Serves a request to the interface, its OpenAPI document, the page or the control routes under `/_sandbox/`. Rejects
   * with Error after `close()`, and with TypeError if a fault closes the connection. If a fault withholds the response,
   * rejects only when the request's signal is aborted, with the signal's reason.
   */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Serves on 127.0.0.1, or on all IPv4 addresses if `address` is `"0.0.0.0"`, which containers need. Every client that
   * can reach the port can then use the sandbox. Port 0 selects a free port. Default: 4010. Rejects with Error if the
   * port is in use, or after `close()`.
   *
   * @throws ConfigError (as a rejection) `invalid_option` for another address
   */
  readonly listen: (port?: number, address?: BindAddress) => Promise<Listening>;
  /**
   * Passes all deliveries to a function in this process, whatever their URL. Undefined restores delivery over HTTP.
   * @throws ConfigError `invalid_option` if `handler` is neither a function nor undefined
   */
  readonly deliverTo: (handler: Handler | undefined) => void;
  readonly clock: SandboxClock;
  readonly assumptions: () => readonly AssumptionState[];
  /**
   * Keeps a copy of the whole state: all records, pending deliveries, faults, assumptions, the clock, and the position
   * in the sequence of a `seed`. At most 5 checkpoints are kept: a sixth is refused with `conflict`. A data file stores
   * them too. A checkpoint does not include the state of receivers.
   *
   * @param name 1 to 60 letters, digits, hyphens and underscores; an earlier checkpoint of this name is replaced.
   *   Default `checkpoint`.
   * @throws Error (as a rejection) with the `code` `invalid_request` or `conflict`, or if the sandbox is closed
   */
  readonly checkpoint: (name?: string) => Promise<void>;
  /**
   * Restores the state of a checkpoint, including the clock. With `data`, this works after a restart too. Attempts that
   * were running at the checkpoint are made again. All checkpoints remain. With a `seed`, the same steps then lead to
   * the same ids and secrets.
   *
   * @param name Default `checkpoint`.
   * @throws Error (as a rejection) with the `code` `not_found`, with `conflict` while a recording is running that began
   *   after the checkpoint, or if the sandbox is closed
   */
  readonly rewind: (name?: string) => Promise<void>;
  /**
   * Removes all data, faults and checkpoints, and restores the assumptions that the sandbox was created with. The clock
   * keeps its mode and time.
   */
  readonly reset: () => void;
  /** Stops attempts, timers and servers. With `data`, pending work resumes at the next start. */
  readonly close: () => Promise<void>;
}

/**
 * Creates a sandbox that implements the service's whole interface: domains, sends, endpoints, signed deliveries with
 * retries, redelivery and secret rotation. By default, nothing leaves this machine. With A-21 `private`, deliveries can
 * go to private addresses too. With `strict`, they can go only to public HTTPS URLs.
 *
 * @throws ConfigError `unknown_option`, `invalid_option`
 * @throws Error if the data file cannot be used
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createSandbox } from "@svc-webhooks/sandbox";
 *
 * const sandbox = createSandbox({ clock: "manual" });
 * sandbox.deliverTo((request) => new Response(request.headers.get("x-svc-event-id")));
 *
 * const response = await sandbox.fetch(
 *   new Request("http://sandbox.test/v1/webhook-event-types", {
 *     headers: { authorization: "Bearer svc_test" },
 *   }),
 * );
 * assert.equal(response.status, 200);
 * await sandbox.close();
 * ```
 */
export function createSandbox(options: SandboxOptions = {}): Sandbox {
  return assemble(options).sandbox;
}

/** A sandbox and its parts. */
export interface Assembly {
  readonly sandbox: Sandbox;
  readonly service: Service;
  readonly handle: (request: Request) => Promise<Reply>;
  readonly perform: Perform;
}

interface OwnRules {
  /** Returns each new signing secret, in place of a generated one. */
  readonly secret?: (() => string) | undefined;
  /** Returns the reason why an endpoint cannot have this URL, or undefined if A-21 decides. */
  readonly refuseUrl?: (url: string) => string | undefined;
}

/** Assembles a sandbox: first the shared parts, then the service, then the request handlers. */
export function assemble(options: SandboxOptions, own: OwnRules = {}): Assembly {
  const resolved = resolveOptions(options);
  const { data, assumptions, ledger } = resolved;
  let onChange: ChangeListener | undefined;
  const { world, retention } = createWorld(resolved, own.secret, {
    onChange: (kind, id) => onChange?.(kind, id),
    onRollBack: (delivery) => engine.takenBack(delivery),
  });
  const destinations = createDestinations({ ...resolved, refuseUrl: own.refuseUrl });
  const engine = createEngine(world, destinations.transport);
  const relay = createRelay(resolved.smtp, world);
  const service: Service = {
    ...world,
    engine,
    rateLimit: createRateLimit(),
    onCall: (exchange) => recorder.noteCall(exchange),
    raise(happening) {
      for (const delivery of raise(world, happening)) engine.start(delivery);
    },
    relay: relay.send,
    refuseUrl: destinations.refuseUrl,
  };
  const recorder = createRecorder(service);
  try {
    resume(service, resolved);
  } catch (error) {
    world.clock.close();
    world.state.close();
    throw data === undefined ? error : unusable(data, error);
  }

  const api = createApi(service, retention);
  const site = createSite({
    service,
    restoreAssumptions() {
      for (const { id, default: word } of ledger.list()) ledger.set(id, assumptions[id] ?? word);
    },
    retention,
    saveClock: () => saveClock(service),
    recorder,
    isKept: data !== undefined,
  });
  onChange = site.note;
  const handle = async (request: Request): Promise<Reply> => {
    const { pathname } = new URL(request.url);
    if (pathname === "/v1" || pathname.startsWith("/v1/")) return api(request);
    if (pathname === "/openapi.json" && /^(?:GET|HEAD)$/.test(request.method))
      return { response: Response.json(openApiDocument(ledger)) };
    return { response: await site.fetch(request) };
  };
  const { allowHosts } = resolved;
  const servers = createServers({ handle, allowHosts, refuse: site.refuse }, destinations.ports);
  const sandbox = openSandbox({ service, destinations, site, relay, handle, servers });
  return { sandbox, service, handle, perform: site.perform };
}

interface Parts {
  readonly service: Service;
  readonly destinations: Destinations;
  readonly site: ReturnType<typeof createSite>;
  readonly relay: ReturnType<typeof createRelay>;
  readonly handle: (request: Request) => Promise<Reply>;
  readonly servers: ReturnType<typeof createServers>;
}

/** Returns the public interface of an assembled sandbox. The sandbox is open until `close` is called. */
function openSandbox({ service, destinations, site, relay, handle, servers }: Parts): Sandbox {
  let closed: Promise<void> | undefined;
  const assertOpen = () => {
    if (closed) throw new Error("The sandbox is closed. Create another one.");
  };
  const closeAll = async () => {
    service.engine.close();
    service.clock.close();
    site.close();
    relay.close();
    await servers.close();
    saveClock(service);
    service.state.close();
  };
  return {
    fetch: async (request) => {
      assertOpen();
      const reply = await handle(request);
      return "response" in reply ? reply.response : await failedFetch(request, reply.lost);
    },
    listen: async (port = 4010, address = "127.0.0.1") => {
      assertOpen();
      return servers.listen(port, address);
    },
    deliverTo: (handler) => destinations.deliverTo(handler),
    clock: savedClock(service),
    assumptions: () => service.ledger.list(),
    ...checkpointing(site.perform, assertOpen),
    reset: site.reset,
    close: () => (closed ??= closeAll()),
  };
}

/** Throws, because an action that does not appear in the timeline must not create a call. */
const notACall = (): never => {
  throw new TypeError("This action does not appear in the timeline.");
};

/** Returns the members of a sandbox that take checkpoints and rewind to them. */
function checkpointing(
  perform: Perform,
  assertOpen: () => void,
): Pick<Sandbox, "checkpoint" | "rewind"> {
  const act = async (
    name: "checkpoint" | "rewind",
    params: Readonly<Record<string, string>>,
    body: object,
  ) => {
    assertOpen();
    await perform(name, { params, given: body, call: notACall });
  };
  return {
    checkpoint: (name) => act("checkpoint", {}, name === undefined ? {} : { name }),
    rewind: (name = "checkpoint") => act("rewind", { name }, {}),
  };
}

/** Restores the saved clock and assumptions, and resumes unfinished sends and deliveries. */
function resume(
  service: Service,
  { clock: chosen, data, assumptions }: Pick<ResolvedOptions, "clock" | "data" | "assumptions">,
): void {
  const { state, clock, ledger } = service;
  const saved = state.settings.get("clock")?.value as ReturnType<Scheduler["state"]> | undefined;
  if (saved) {
    const { mode, speed } = clock;
    clock.restore(saved, newestTime(state));
    if (chosen === undefined) noteClock(service, data);
    else {
      clock.setMode(mode, speed);
      if (chosen.start === undefined) clock.catchUp();
    }
  }
  for (const { id, value } of state.settings.all()) {
    if (!id.startsWith("A-")) continue;
    const choice = ledger.choose(id, value);
    // Removes API keys from the file, where older versions saved them.
    if (choice.saved !== value) state.settings.put({ id, value: choice.saved });
    // The options of this start take precedence over saved values.
    if (assumptions[id] === undefined) choice.select();
  }
  resumeWork(service);
  saveClock(service);
}

/** Logs a manual or accelerated mode that comes from the data file, because it changes when retries run. */
function noteClock({ clock, log }: Service, data = ""): void {
  if (clock.mode === "manual")
    log(
      `The clock saved in ${data} is manual, so it stands still. To make it run, start the sandbox with --clock real, or with \`clock: "real"\` in code.`,
    );
  else if (clock.mode === "accelerated")
    log(
      `The clock saved in ${data} runs ${clock.speed} times as fast as real time. To change that, start the sandbox with --clock real, or with \`clock: "real"\` in code.`,
    );
}

/** Returns the public clock, which saves its state after each move. */
const savedClock = (service: Service): SandboxClock => {
  const { clock, state } = service;
  const saved = async <Result>(move: Promise<Result>): Promise<Result> => {
    const result = await move;
    saveClock(service);
    state.commit();
    return result;
  };
  return {
    get mode() {
      return clock.mode;
    },
    get offsetMs() {
      return clock.offsetMs;
    },
    get nextDue() {
      return clock.nextDue;
    },
    now: clock.now,
    advance: (ms) => saved(clock.advance(ms)),
    advanceToNext: () => saved(clock.advanceToNext()),
  };
};

function saveClock({ state, clock }: Service): void {
  state.settings.put({ id: "clock", value: clock.state() });
  state.commitSoon();
}

/** Rejects as the global `fetch` does: for `closed` immediately, for `silent` only when the request is aborted. */
async function failedFetch({ signal }: Request, lost: "closed" | "silent"): Promise<never> {
  if (lost === "silent") await aborted(signal);
  throw new TypeError("fetch failed", {
    cause: Object.assign(new Error("An injected fault closed the connection."), {
      code: "ECONNRESET",
    }),
  });
}

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    const end = () => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
