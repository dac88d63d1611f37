/** The server's connection to the demo; a real server has none of this. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export type Message =
  | { readonly port: number }
  /** A handler has started. */
  | { readonly emailId: string; readonly run: number };

const send = (message: Message) => process.send?.(message);

export function listening(server: Server): void {
  send({ port: (server.address() as AddressInfo).port });
}

/** Stands for a handler's work. Resolves when the demo sends a message. */
export async function work(emailId = "", run = 0): Promise<void> {
  send({ emailId, run });
  await once(process, "message");
}

// The demo has exited, perhaps while this process was still loading its modules, so this process ends too.
process.once("disconnect", () => process.exit());
if (process.send && !process.connected) process.exit();
