import { Agent, request, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { onTestFinished } from "vitest";
import type { OutcomeCode } from "@svc-webhooks/core";
import type { TestDelivery } from "./deliveries.js";

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The `status` or the error's `code`, if the receiver responded. */
  readonly code: OutcomeCode | undefined;
  /** Whether the request used the connection of an earlier one. */
  readonly reusedConnection: boolean;
}

interface SendOptions {
  readonly method?: string;
  readonly path?: string;
  readonly agent?: Agent;
  /** Sends the body in chunks, without a `Content-Length`. */
  readonly chunked?: boolean;
}

/** Sends one delivery over HTTP; a header given as a list is sent as several lines. */
export function send(
  port: number,
  { headers, body }: Pick<TestDelivery, "headers" | "body">,
  { method = "POST", path = "/webhooks", agent, chunked = false }: SendOptions = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const framing = chunked
      ? { "transfer-encoding": "chunked" }
      : { "content-length": String(body.length) };
    const outgoing = request({
      host: "127.0.0.1",
      port,
      method,
      path,
      agent: agent ?? false,
      headers: { ...framing, ...headers } as Record<string, string | string[]>,
    });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          code: outcomeIn(text),
          reusedConnection: outgoing.reusedSocket,
        });
      });
    });
    outgoing.end(body);
  });
}

/** Returns the outcome code in the body of a response, or undefined if the receiver did not respond. */
export function outcomeIn(text: string): OutcomeCode | undefined {
  if (!text.startsWith("{")) return undefined;
  const { status, error } = JSON.parse(text) as {
    readonly status?: OutcomeCode;
    readonly error?: { readonly code: OutcomeCode };
  };
  return status ?? error?.code;
}

/** Returns an agent that keeps a single connection open until the test ends. */
export function oneConnection(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}

export interface RawConnection {
  readonly write: (data: string | Uint8Array) => void;
  /** Disconnects without sending anything. */
  readonly destroy: () => void;
  /** Resolves with the first complete response, head and body. */
  readonly response: Promise<string>;
  /** Resolves with everything that was received, once the connection is closed. */
  readonly closed: Promise<string>;
}

/** Opens a raw connection, for requests that no HTTP client would send. */
export function dial(port: number): RawConnection {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  const response = new Promise<string>((resolve) => {
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      const [head, body] = received.split("\r\n\r\n", 2);
      const length = /^content-length: (\d+)$/im.exec(head ?? "")?.[1];
      if (length !== undefined && (body?.length ?? 0) >= Number(length)) resolve(received);
    });
  });
  // A server resets the connection of a request that it stops reading.
  socket.on("error", () => {});
  const closed = new Promise<string>((resolve) => {
    socket.on("close", () => resolve(received));
  });
  onTestFinished(() => void socket.destroy());
  return {
    write: (data) => void socket.write(data),
    destroy: () => void socket.destroy(),
    response,
    closed,
  };
}

/** Returns the head of a request, as text. A header given as a list is sent as several lines. */
export function requestHead(
  headers: TestDelivery["headers"],
  requestLine = "POST /webhooks HTTP/1.1",
): string {
  const lines = Object.entries({ host: "127.0.0.1", ...headers }).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}`),
  );
  return `${[requestLine, ...lines].join("\r\n")}\r\n\r\n`;
}
