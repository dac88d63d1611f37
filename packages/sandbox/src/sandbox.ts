import { ReceiverConfigError } from "@svc-webhooks/core";
import { createApi, type Reply } from "./http/api.js";
import { listen, type Listening, type ServerContext } from "./http/server.js";
import { createClock, type Scheduler, type SandboxClock } from "./clock.js";
import { createControl } from "./control/routes.js";
import { createEngine } from "./delivery/engine.js";
import { createFaults } from "./faults.js";
import { createIds } from "./lib/ids.js";
import { createRelay } from "./mail/relay.js";
import { inProcess, type Handler } from "./network/in-process.js";
import { networkTransport, type Transport } from "./network/transport.js";
import { allowedAddresses, checkUrl } from "./network/url-rule.js";
import { openApiDocument } from "./openapi.js";
import { resolveOptions, type ResolvedOptions, type SandboxOptions } from "./options.js";
import { continueSend } from "./service/sends.js";
import type { Service } from "./service/service.js";
import type { AssumptionState } from "./settings.js";
import { noJournal } from "./state/journal.js";
import { createRetention } from "./state/retention.js";
import { sqliteJournal } from "./state/sqlite-journal.js";
import { createState, type ChangeListener } from "./state/state.js";
import type { World } from "./world.js";

/** The service, on this machine. */
export interface Sandbox {
  /**
   * Serves a request to the interface, or to the control routes under `/_sandbox/`. Rejects with Error after
   * `close()`, and with TypeError if a fault closes the connection.
   */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Serves on 127.0.0.1; port 0 takes a free one. Rejects with Error if the port is taken, or after `close()`. */
  readonly listen: (port?: number) => Promise<Listening>;
  /**
   * Hands all deliveries to a function in this process, whatever the URL; undefined: over HTTP again.
   * @throws ReceiverConfigError `invalid_option` if `handler` is something else
   */
  readonly deliverTo: (handler: Handler | undefined) => void;
  readonly clock: SandboxClock;
  readonly assumptions: () => readonly AssumptionState[];
  /** Removes all data and faults, and restores the assumptions that it was created with. */
  readonly reset: () => void;
  /** Stops attempts, timers and servers. With `data`, what is waiting continues at the next start. */
  readonly close: () => Promise<void>;
}

/**
 * Creates a sandbox, which implements the whole interface document: domains, sends, endpoints, signed
 * deliveries with retries, redelivery and rotation. Nothing leaves this machine.
 *
 * @throws ReceiverConfigError `unknown_option`, `invalid_option`
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
  const { allowHosts, assumptions, ledger, limits, log, lookup, ...resolved } =
    resolveOptions(options);
  const restoreAssumptions = () => {
    for (const { id, default: word } of ledger.list()) ledger.set(id, assumptions[id] ?? word);
  };

  const listeners = new Set<ChangeListener>();
  const state = createState({
    journal: resolved.data === undefined ? noJournal : sqliteJournal(resolved.data),
    onChange: (kind, id) => {
      for (const listener of listeners) listener(kind, id);
    },
    afterCommit: (written) => retention.committed(written),
    onError: (error) => log(`the data file could not be written: ${String(error)}`),
  });
  const retention = createRetention(state, limits);
  // A seeded sequence continues differently after a restart: its ids would be those of older records.
  const starts = Number(state.settings.get("starts")?.value ?? 0);
  state.settings.put({ id: "starts", value: starts + 1 });
  const ids = createIds(resolved.seed === undefined ? undefined : resolved.seed + starts);
  const clock = createClock(resolved.clock);
  const world: World = { state, ledger, clock, ids, faults: createFaults(state, ids), log };

  const ports = new Set<number>();
  const isOwn = (_address: string, port: number) => ports.has(port);
  const rule = () => ledger.get("endpoint.urls");
  const network = networkTransport({ rule, lookup, isOwn });
  let transport: Transport = network;
  const engine = createEngine(world, (request, signal) => transport(request, signal));

  const relay = createRelay(resolved.smtp, world);
  const service: Service = {
    ...world,
    engine,
    relay: relay.send,
    async refuseUrl(text) {
      const checked = checkUrl(text, rule());
      if ("refused" in checked) return checked.refused;
      const found = await allowedAddresses(checked.url, rule(), lookup, isOwn);
      if ("refused" in found) return found.refused;
      return "unresolved" in found ? found.unresolved : undefined;
    },
  };
  resume(service, resolved, assumptions);

  const api = createApi(service, retention);
  const control = createControl({
    service,
    restoreAssumptions,
    retention,
    listeners,
    saveClock: () => saveClock(service),
    isKept: resolved.data !== undefined,
  });

  const handle = async (request: Request): Promise<Reply> => {
    const { pathname } = new URL(request.url);
    if (pathname === "/v1" || pathname.startsWith("/v1/")) return api(request);
    if (pathname === "/openapi.json" && /^(?:GET|HEAD)$/.test(request.method))
      return { response: Response.json(openApiDocument(ledger)) };
    return { response: await control.fetch(request) };
  };

  const context: ServerContext = { handle, allowHosts, refuse: control.refuse };
  const servers = new Set<Listening>();
  let closed: Promise<void> | undefined;
  const assertOpen = () => {
    if (closed) throw new Error("The sandbox is closed. Create another one.");
  };
  const closeAll = async () => {
    engine.close();
    clock.close();
    control.close();
    relay.close();
    await Promise.all(Array.from(servers, (server) => server.close()));
    state.close();
  };

  return {
    fetch: async (request) => {
      assertOpen();
      const reply = await handle(request);
      if ("response" in reply) return reply.response;
      if (reply.lost === "silent") await aborted(request.signal);
      throw new TypeError("fetch failed", {
        cause: Object.assign(new Error("A fault closed the connection."), { code: "ECONNRESET" }),
      });
    },
    async listen(port = 4010) {
      assertOpen();
      const server = await listen(context, port);
      ports.add(server.port);
      const served = {
        ...server,
        async close() {
          await server.close();
          servers.delete(served);
          ports.delete(server.port);
        },
      };
      servers.add(served);
      return served;
    },
    deliverTo(handler) {
      if (handler !== undefined && typeof handler !== "function") {
        throw new ReceiverConfigError(
          "invalid_option",
          "handler",
          "`deliverTo` needs a function from a Request to a Response. Register a URL as an endpoint instead.",
        );
      }
      transport = handler ? inProcess(handler) : network;
    },
    clock: {
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
      async advance(ms) {
        await clock.advance(ms);
        saveClock(service);
        state.commit();
      },
      async advanceToNext() {
        const item = await clock.advanceToNext();
        saveClock(service);
        state.commit();
        return item;
      },
    },
    assumptions: () => ledger.list(),
    reset: control.reset,
    close: () => (closed ??= closeAll()),
  };
}

/** Continues what the last process left: time, sends on their course, deliveries that wait. */
function resume(
  service: Service,
  { clock: chosen, data }: Pick<ResolvedOptions, "clock" | "data">,
  assumptions: ResolvedOptions["assumptions"],
): void {
  const { state, clock, engine, ledger } = service;
  const saved = state.settings.get("clock")?.value as ReturnType<Scheduler["state"]> | undefined;
  if (saved) {
    const { mode, speed } = clock;
    clock.restore(saved);
    if (chosen === undefined) noteClock(service, data);
    else {
      clock.setMode(mode, speed);
      if (chosen.start === undefined) clock.catchUp();
    }
  }
  for (const { id, value } of state.settings.all()) {
    // What this start asks for wins.
    if (id.startsWith("A-") && assumptions[id] === undefined) ledger.set(id, value);
  }
  for (const call of state.calls.all()) {
    // Its response was never sent.
    if (call.status === 0 && !call.lost)
      state.calls.put(Object.assign(call, { status: 503, code: "service_unavailable" }));
  }
  for (const send of state.sends.all()) continueSend(service, send);
  for (const delivery of state.deliveries.all()) {
    if (delivery.state === "pending" || delivery.state === "attempting") engine.start(delivery);
  }
  saveClock(service);
}

/** A mode that nobody chose at this start may be why no retry runs. */
function noteClock({ clock, log }: Service, data = ""): void {
  if (clock.mode === "manual")
    log(`The clock of ${data} is manual and stands still: --clock real lets it run.`);
  else if (clock.mode === "accelerated")
    log(
      `The clock of ${data} runs ${clock.speed} times as fast as real time: --clock real changes that.`,
    );
}

function saveClock({ state, clock }: Service): void {
  state.settings.put({ id: "clock", value: clock.state() });
  state.commitSoon();
}

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    const end = () => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
