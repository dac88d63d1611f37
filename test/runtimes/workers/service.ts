import {
  createReceiver,
  memoryStore,
  type Clock,
  type ExecutionContext,
  type Receiver,
} from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/hono";
import { Hono } from "hono";

// Receivers are built at module scope, where a Worker may neither await nor use random numbers.

let offsetMs = 0;

/** The runtime's clock, which `control` can advance. */
const clock: Clock = {
  now: () => Date.now() + offsetMs,
  monotonic: () => performance.now() + offsetMs,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Notes in the form `"<delivery id> <event>"`. */
const notes: string[] = [];
const note = (deliveryId: string | undefined, event: string) =>
  void notes.push(`${deliveryId} ${event}`);

/** Waits for a note by polling: a Worker must not await a promise that another request settles. */
async function until(line: string): Promise<void> {
  while (!notes.includes(line)) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** After the note `"keys wait"`, the first import of a key waits for `"key continue"`. */
const { subtle } = crypto;
const importKey = subtle.importKey.bind(subtle) as (...given: unknown[]) => Promise<CryptoKey>;
let imports = 0;
Object.defineProperty(subtle, "importKey", {
  async value(...given: unknown[]) {
    imports += 1;
    note("key", `import ${imports}`);
    if (imports === 1 && notes.includes("keys wait")) await until("key continue");
    return importKey(...given);
  },
});

const receiverOf = (name: string, secret: string, handlerTimeoutMs: number): Receiver =>
  createReceiver({
    name,
    secret,
    clock,
    store: memoryStore({ clock }),
    leaseMs: 10_000,
    handlerTimeoutMs,
    on: {
      "event.works": (_event, { deliveryId, run }) => note(deliveryId, `run ${run}`),
      // The first run waits for the note `"<delivery id> continue"`; later runs do not wait.
      "event.waits": async (_event, { deliveryId, run }) => {
        note(deliveryId, `run ${run}`);
        if (run === 1) await until(`${deliveryId} continue`);
      },
    },
    observe: ({ deliveryId, code, phase }) => note(deliveryId, `${phase} ${code}`),
  });

/** A receiver whose handler is synchronous, and whose store waits for the note `"store continue"` to complete or release. */
function closingReceiver(name: string, handler: () => void): Receiver {
  const store = memoryStore({ clock });
  const waits = async <T>(close: () => T): Promise<T> => {
    note("store", "waits");
    await until("store continue");
    return close();
  };
  return createReceiver({
    name,
    secret: "whsec_test",
    clock,
    store: {
      ...store,
      complete: (...call) => waits(() => store.complete(...call) as "owner"),
      release: (...call) => waits(() => store.release(...call) as boolean),
    },
    on: { "*": handler },
    onHandlerError: () => {},
    storeTimeouts: { complete: 10_000, release: 10_000 },
    observe: ({ deliveryId, code, phase }) => note(deliveryId, `${phase} ${code}`),
  });
}

interface Worker {
  Bindings: { readonly SVC_WEBHOOK_SECRET: string };
}

type App = Hono<Worker>;
type Given = Parameters<App["fetch"]>;

/** Returns an app whose receiver is built on the first request, from its bindings. */
const honoApp = (name: string, handlerTimeoutMs: number): App =>
  new Hono<Worker>().post(
    "*",
    webhooks((c) => {
      note(name, "is built");
      return receiverOf(name, c.env.SVC_WEBHOOK_SECRET, handlerTimeoutMs);
    }),
  );

const patientMs = 5_000;
const hastyMs = 20;
const patient = receiverOf("patient", "whsec_test", patientMs);
const completing = closingReceiver("completing", () => {});
const releasing = closingReceiver("releasing", () => {
  throw new Error("no");
});
const hasty = receiverOf("hasty", "whsec_test", hastyMs);

/**
 * Adds the note `line`, advances the clock by `advanceMs` and waits for the note `until`. Responds with all
 * notes.
 */
async function control(request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const line = searchParams.get("line");
  const awaited = searchParams.get("until");
  if (line) notes.push(line);
  offsetMs += Number(searchParams.get("advanceMs"));
  if (awaited) await until(awaited);
  return Response.json(notes);
}

const routes: Readonly<Record<string, (...given: Given) => Response | Promise<Response>>> = {
  "/patient": (...given) => patient.fetch(...given),
  "/patient-alone": (request) => patient.fetch(request),
  "/patient-hono": honoApp("patient-hono", patientMs).fetch,
  "/hasty": (...given) => hasty.fetch(...given),
  "/hasty-alone": (request) => hasty.fetch(request),
  "/hasty-hono": honoApp("hasty-hono", hastyMs).fetch,
  "/completing": (...given) => completing.fetch(...given),
  "/releasing": (...given) => releasing.fetch(...given),
  "/control": control,
};

export default {
  async fetch(
    request: Request,
    env: Worker["Bindings"],
    context: ExecutionContext & NonNullable<Given[2]>,
  ): Promise<Response> {
    const { pathname } = new URL(request.url);
    const deliveryId = request.headers.get("x-svc-delivery-id") ?? undefined;
    request.signal.addEventListener("abort", () => note(deliveryId, "disconnected"));
    const route = routes[pathname];
    return route ? route(request, env, context) : new Response(null, { status: 404 });
  },
};
