import { Server } from "node:net";
import * as prelude from "./readme-prelude.js";

Object.assign(globalThis, prelude);

type Listening = (() => void) | undefined;

// As properties: that is what methods are to somebody who replaces them.
const servers = Server.prototype as {
  listen: (this: Server, port: number, host: string, listening: Listening) => Server;
};
const { listen } = servers;

/** Listens wherever it is free, and keeps no process alive: blocks that serve would never end. */
servers.listen = function listenUnawares(this: Server, ...args: unknown[]): Server {
  const listening = args.find((arg) => typeof arg === "function") as Listening;
  return listen.call(this, 0, "127.0.0.1", listening).unref();
};
