import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { getRequestListener } from "@hono/node-server";
import { webhooks as expressWebhooks } from "@svc-webhooks/express";
import { bundled, type Served } from "@svc-webhooks/kit/launch";
import { expresses, type Express } from "@svc-webhooks/kit/servers";
import { workerd } from "@svc-webhooks/kit/workers";
import { webhooks as nodeWebhooks } from "@svc-webhooks/node";
import { afterAll, beforeAll } from "vitest";
import { createHonoApp } from "./hono-app.js";
import {
  createInboxes,
  type BodyName,
  type Claims,
  type InboxNotes,
  type InboxSettings,
} from "./inboxes.js";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Serves on a free local port. */
export async function serve(listener: RequestListener): Promise<Served> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function expressListener(express: Express): RequestListener {
  const app = express();
  for (const { path: route, receiver, control } of createInboxes()) {
    app.post(route, expressWebhooks(receiver));
    app.all(route, getRequestListener(control, { overrideGlobalObjects: false }));
  }
  // Express types its apps with its own request class.
  return app as RequestListener;
}

function nodeListener(): RequestListener {
  const listeners = new Map(
    createInboxes().map(({ path: route, receiver, control }) => [
      route,
      {
        deliver: nodeWebhooks(receiver),
        control: getRequestListener(control, { overrideGlobalObjects: false }),
      },
    ]),
  );
  return (request, response) => {
    const inbox = listeners.get(request.url ?? "");
    void inbox?.[request.method === "POST" ? "deliver" : "control"](request, response);
  };
}

async function honoOnWorkerd(): Promise<Served> {
  const worker = workerd(await bundled(path("worker.ts"), "workerd"));
  const { origin } = await worker.ready;
  return { origin, close: () => worker.dispose() };
}

const honoOnNode = () =>
  serve(getRequestListener(createHonoApp().fetch, { overrideGlobalObjects: false }));

const starts = {
  ...(Object.fromEntries(
    expresses.map(({ name, express }) => [name, () => serve(expressListener(express))]),
  ) as Record<(typeof expresses)[number]["name"], () => Promise<Served>>),
  "node:http": () => serve(nodeListener()),
  "Hono on Node": honoOnNode,
  "Hono on workerd": honoOnWorkerd,
};

export type Platform = keyof typeof starts;
export const everyPlatform = Object.keys(starts) as Platform[];
export const start = (platform: Platform): Promise<Served> => starts[platform]();

/** An inbox on a running server. */
export interface RemoteInbox {
  readonly url: string;
  /** Starts again, with other settings. */
  readonly configure: (settings: InboxSettings) => Promise<void>;
  readonly change: (settings: Partial<InboxSettings>) => Promise<void>;
  readonly notes: () => Promise<InboxNotes>;
  readonly claims: () => Promise<Claims>;
}

/** Starts real servers on loopback before the tests, and returns how to reach their inboxes. */
export function startServers<Name extends string>(
  platforms: readonly Name[],
  startOne: (platform: Name) => Promise<Served>,
): (platform: Name, body: BodyName) => RemoteInbox {
  const running = new Map<Name, Served>();
  beforeAll(async () => {
    const started = platforms.map(async (name) => running.set(name, await startOne(name)));
    await Promise.all(started);
  });
  afterAll(() => Promise.all(Array.from(running.values(), ({ close }) => close())));

  return (platform, body) => {
    const url = `${running.get(platform)?.origin}/inboxes/${body}`;
    const control = async (method: string, settings?: Partial<InboxSettings>) => {
      const response = await fetch(url, {
        method,
        ...(settings && { body: JSON.stringify(settings) }),
      });
      return response.json();
    };
    return {
      url,
      configure: async (settings) => void (await control("PUT", settings)),
      change: async (settings) => void (await control("PATCH", settings)),
      notes: async () => (await control("GET")) as InboxNotes,
      claims: async () => (await control("DELETE")) as Claims,
    };
  };
}
