import { createServer, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { until } from "@svc-webhooks/kit/until";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { expect, onTestFinished } from "vitest";
import { key, valid } from "../network/certificates.js";
import type { Send } from "@svc-webhooks/kit/sandbox-responses";
import type { Opened } from "../support.js";

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly isSecure: boolean;
  readonly user: unknown;
  /** The name and value of each header, unfolded. */
  readonly headers: readonly (readonly [string, string])[];
  readonly raw: string;
}

const headersIn = (raw: string) =>
  (raw.split("\r\n\r\n")[0] ?? "")
    .replaceAll(/\r\n[ \t]+/g, " ")
    .split("\r\n")
    .map((line) => /^([^:]+): ?(.*)$/.exec(line)?.slice(1, 3) ?? [line, ""])
    .map(([name = "", value = ""]) => [name, value] as const);

/** Runs a real SMTP server on loopback until the test ends. */
export async function mailbox(
  options: SMTPServerOptions = {},
): Promise<{ readonly mails: readonly Mail[]; readonly smtp: string }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    // STARTTLS is offered with an untrusted certificate.
    key,
    cert: valid,
    async onData(stream, session, callback) {
      const raw = await text(stream);
      const { mailFrom, rcptTo } = session.envelope;
      mails.push({
        from: mailFrom ? mailFrom.address : "",
        to: rcptTo.map(({ address }) => address),
        isSecure: session.secure,
        user: session.user,
        headers: headersIn(raw),
        raw,
      });
      callback();
    },
    ...options,
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)));
  const { port } = server.server.address() as AddressInfo;
  return { mails, smtp: `smtp://127.0.0.1:${port}` };
}

/** Runs a server that passes each connection to `connected`, which may misbehave. */
export async function badServer(connected: (socket: Socket) => void): Promise<{
  readonly smtp: string;
  /** The server's open connections. */
  readonly sockets: ReadonlySet<Socket>;
}> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    connected(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { smtp: `smtp://127.0.0.1:${port}`, sockets };
}

/** Returns the status of a send, with its history. */
export const historyOf = async ({ call }: Opened, id: string): Promise<Send> =>
  (await call(`GET /v1/sends/${id}`)).body;

/** Sends an email, waits for the relay's line in its history, and returns that line. */
export async function noteOf(opened: Opened, changes: object = {}): Promise<string> {
  const { status, body } = await opened.send(changes);
  expect(status).toBe(202);
  let note: string | undefined;
  await until(async () => {
    const { history } = await historyOf(opened, body.send_id);
    note = history.find((entry) => entry.note !== undefined)?.note;
    return note !== undefined;
  }, "the history has a line of the relay");
  return note ?? "";
}
