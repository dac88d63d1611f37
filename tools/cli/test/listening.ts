import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { linesOf } from "@svc-webhooks/kit/collected";
import { freePort } from "@svc-webhooks/kit/free-port";
import { listen } from "@svc-webhooks/kit/servers";
import { service } from "@svc-webhooks/schemes/senders";
import { signedDelivery, type SignedDeliveryOptions } from "@svc-webhooks/testing";
import { onTestFinished } from "vitest";
import { serve } from "../src/listen/server.js";
import { secret, start, type Started } from "./support.js";

export interface Listening extends Started {
  readonly url: string;
  /** Returns the output after the first line, one object for each request. */
  readonly received: () => readonly Readonly<Record<string, unknown>>[];
}

/** Starts `listen --json` on a free port. */
export async function listening(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Listening> {
  const started = start(["listen", "--port=0", "--secret-env=SECRET", "--json", ...args], env);
  await started.shows(/\n/);
  const lines = () =>
    linesOf(started.output.stdout).map(
      (line) => JSON.parse(line) as Readonly<Record<string, unknown>>,
    );
  return { ...started, url: String(lines()[0]?.["url"]), received: () => lines().slice(1) };
}

/** Listens as `listen` does, in this process, until the test ends. */
export async function served(headersMs?: number) {
  const port = await freePort();
  const controller = new AbortController();
  const { signal } = controller;
  onTestFinished(() => controller.abort());
  await new Promise<void>((resolve) => {
    void serve({
      port,
      sender: service,
      secretsFor: async () => {
        resolve();
        return [];
      },
      maxBytes: 1,
      target: undefined,
      save: async () => undefined,
      onReceived: () => {},
      signal,
      ...(headersMs !== undefined && { headersMs }),
    });
  });
  return { port, signal };
}

/** Sends a delivery as the service does. */
export async function deliver(
  url: string,
  event: unknown,
  options: SignedDeliveryOptions = {},
): Promise<Response> {
  return fetch(url, {
    ...(await signedDelivery(event, { secret, ...options })),
    redirect: "manual",
  });
}

export interface Got {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** Starts a server that records its requests, and responds with 200 or as `respond` does. */
export async function target(
  respond: (response: ServerResponse, got: Got) => void = (response) => void response.end(),
): Promise<{ readonly url: string; readonly got: readonly Got[] }> {
  const got: Got[] = [];
  const port = await listen(async (request, response) => {
    const { method, url: path, rawHeaders, headers } = request;
    const one = { method, path, rawHeaders, headers, body: await buffer(request) };
    got.push(one);
    respond(response, one);
  });
  return { url: `http://127.0.0.1:${port}/hooks`, got };
}

export const sha256 = (body: Uint8Array): string => createHash("sha256").update(body).digest("hex");

/** Reads the requests of a capture file. */
export const captured = (file: string): readonly Readonly<Record<string, unknown>>[] =>
  linesOf(readFileSync(file, "utf8")).map(
    (line) => JSON.parse(line) as Readonly<Record<string, unknown>>,
  );
