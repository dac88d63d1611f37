/** What a server does only because it plays a part in the story. */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export type Line =
  | { readonly port: number }
  /** A handler has begun. */
  | { readonly emailId: string; readonly run: number };

const say = (line: Line) => process.send?.(line);

export function listening(server: Server): void {
  say({ port: (server.address() as AddressInfo).port });
}

/** Stands for what a handler does; takes until the story says that it is done. */
export async function work(emailId = "", run = 0): Promise<void> {
  say({ emailId, run });
  await once(process, "message");
}

// The story is gone.
process.once("disconnect", () => process.exit());
