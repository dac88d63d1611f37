import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { readRawBody } from "@svc-webhooks/node";
import { messageOf } from "../errors.js";
import { listenLocally } from "../lib/listen-locally.js";
import { respond } from "../lib/respond.js";

type Handle = (event: unknown) => Promise<void>;

export interface HandlerServer {
  /** The URL to which the receiver's handler posts each event. */
  readonly url: string;
  readonly close: () => void;
}

/** The maximum size of a posted event, in bytes. The events of the contract are much smaller. */
const mostBytes = 4_194_304;

/** How long a request may take to arrive in full, in milliseconds. */
const requestMs = 10_000;

/**
 * Serves the handler of the receiver contract on 127.0.0.1. Each POST request with an event as JSON runs the handler.
 * The status is 204 if the run succeeds, and 500, with the error's message, if it fails: the receiver's handler must
 * then fail too. Other requests get 405 (not a POST), 403 (from a web page) or 400 (not JSON, or larger than 4 MiB).
 *
 * @param port the port to use, or 0 to choose a free port
 * @throws Failure (as a rejection) `port_unavailable`
 */
export async function serveHandler(port: number, handle: Handle): Promise<HandlerServer> {
  const server = createServer(
    { headersTimeout: requestMs, requestTimeout: requestMs, connectionsCheckingInterval: 1_000 },
    (request, response) => void run(request, response, handle),
  );
  server.maxConnections = 100;
  const actual = await listenLocally(server, port, "Choose another one with --handler-port.");
  return {
    url: `http://127.0.0.1:${actual}/`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function run(
  request: IncomingMessage,
  response: ServerResponse,
  handle: Handle,
): Promise<void> {
  response.on("error", () => {});
  const end = (status: number, text = "") =>
    respond(request, response, {
      status,
      headers: { "content-type": "text/plain" },
      body: Buffer.from(text),
    });
  if (request.method !== "POST") return end(405);
  // Refuses requests from web pages, which could change the results. A browser adds at least one of these headers to
  // each POST request.
  const { origin, "sec-fetch-site": site } = request.headers;
  if (origin !== undefined || site !== undefined) return end(403);
  let event: unknown;
  try {
    const body = await readRawBody(request, mostBytes);
    event = JSON.parse(new TextDecoder().decode(body));
  } catch {
    return end(400, "The body is not JSON, or is larger than 4 MiB. Post the event as JSON.");
  }
  try {
    await handle(event);
    end(204);
  } catch (error) {
    end(500, messageOf(error));
  }
}
