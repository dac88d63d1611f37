import { Server } from "node:net";
import * as prelude from "./readme-prelude.js";

Object.assign(globalThis, prelude);

type Listening = (() => void) | undefined;

// `listen` is declared as a property, because replacing a method is a lint error.
const servers = Server.prototype as {
  listen: (this: Server, port: number, host: string, listening: Listening) => Server;
};
const { listen } = servers;

/** Listens on a free port without keeping the process alive, because a block with a server would never exit. */
servers.listen = function listenOnFreePort(this: Server, ...args: unknown[]): Server {
  const listening = args.find((arg) => typeof arg === "function") as Listening;
  return listen.call(this, 0, "127.0.0.1", listening).unref();
};
