import {
  createReceiver,
  memoryStore,
  type Clock,
  type ExecutionContext,
  type Receiver,
} from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/hono";
import { Hono } from "hono";

// What lasts is made here, at module scope, where a worker may neither wait nor draw lots.

let offsetMs = 0;

/** The runtime's clock, which can be put forward. */
const clock: Clock = {
  now: () => Date.now() + offsetMs,
  monotonic: () => performance.now() + offsetMs,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/** What has come to pass, as `"<delivery id> <what>"`. */
const passed: string[] = [];
const note = (deliveryId: string | undefined, what: string) =>
  void passed.push(`${deliveryId} ${what}`);

/** Looks again and again: a worker must not await what another request will settle. */
async function until(line: string): Promise<void> {
  while (!passed.includes(line)) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** Once somebody has said `"keys wait"`, the first import of a key goes on only when told to. */
const { subtle } = crypto;
const importKey = subtle.importKey.bind(subtle) as (...given: unknown[]) => Promise<CryptoKey>;
let imports = 0;
Object.defineProperty(subtle, "importKey", {
  async value(...given: unknown[]) {
    imports += 1;
    note("key", `import ${imports}`);
    if (imports === 1 && passed.includes("keys wait")) await until("key go on");
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
      // Its first run waits until it is told to go on; later ones need not.
      "event.waits": async (_event, { deliveryId, run }) => {
        note(deliveryId, `run ${run}`);
        if (run === 1) await until(`${deliveryId} go on`);
      },
    },
    observe: ({ deliveryId, code, phase }) => note(deliveryId, `${phase} ${code}`),
  });

interface Worker {
  Bindings: { readonly SVC_WEBHOOK_SECRET: string };
}

type App = Hono<Worker>;
type Given = Parameters<App["fetch"]>;

/** A receiver that is built when the first request brings the bindings. */
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
const hasty = receiverOf("hasty", "whsec_test", hastyMs);

/** Writes a line, puts the clock forward, waits for a line; answers all lines. */
async function tell(request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const line = searchParams.get("line");
  const awaited = searchParams.get("until");
  if (line) passed.push(line);
  offsetMs += Number(searchParams.get("advanceMs"));
  if (awaited) await until(awaited);
  return Response.json(passed);
}

const routes: Readonly<Record<string, (...given: Given) => Response | Promise<Response>>> = {
  "/patient": (...given) => patient.fetch(...given),
  "/patient-alone": (request) => patient.fetch(request),
  "/patient-hono": honoApp("patient-hono", patientMs).fetch,
  "/hasty": (...given) => hasty.fetch(...given),
  "/hasty-alone": (request) => hasty.fetch(request),
  "/hasty-hono": honoApp("hasty-hono", hastyMs).fetch,
  "/tell": tell,
};

export default {
  async fetch(
    request: Request,
    env: Worker["Bindings"],
    context: ExecutionContext & NonNullable<Given[2]>,
  ): Promise<Response> {
    const { pathname } = new URL(request.url);
    const deliveryId = request.headers.get("x-svc-delivery-id") ?? undefined;
    request.signal.addEventListener("abort", () => note(deliveryId, "hung up"));
    const route = routes[pathname];
    return route ? route(request, env, context) : new Response(null, { status: 404 });
  },
};
