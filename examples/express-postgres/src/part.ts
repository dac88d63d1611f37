/** The server's connection to the demo; a real server has none of this. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A place in the handler: rows are written but not committed, or committed but the handler has not returned. */
export type Point = "written" | "committed";

export type Message = { readonly port: number } | { readonly point: Point };

const send = (message: Message) => process.send?.(message);

export function listening(server: Server): void {
  send({ port: (server.address() as AddressInfo).port });
}

/** Waits until the demo lets the handler continue. It may kill this process instead. */
export async function reached(point: Point): Promise<void> {
  if (!process.connected) return;
  send({ point });
  await once(process, "message");
}

// The demo has exited, perhaps while this process was still loading its modules, so this process ends too.
process.once("disconnect", () => process.exit());
if (process.send && !process.connected) process.exit();
