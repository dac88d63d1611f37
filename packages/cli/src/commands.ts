import type { Command } from "./command.js";

export interface CommandEntry {
  /** One word or two. */
  readonly name: string;
  readonly summary: string;
  /** Loads the command, and what it needs, only when it runs. */
  readonly load: () => Promise<Command>;
}

/** All commands, in the order of `--help`. */
export const commands: readonly CommandEntry[] = [
  {
    name: "sandbox",
    summary: "Serve the whole service on this machine",
    load: async () => (await import("./commands/sandbox.js")).sandbox,
  },
  {
    name: "listen",
    summary: "Receive deliveries: verify, show, save and forward them",
    load: async () => (await import("./commands/listen.js")).listen,
  },
  {
    name: "replay",
    summary: "Send saved deliveries again, byte by byte",
    load: async () => (await import("./commands/replay.js")).replay,
  },
  {
    name: "sign",
    summary: "Print the signature of a body",
    load: async () => (await import("./commands/sign.js")).sign,
  },
  {
    name: "verify",
    summary: "Verify a signature, and name the mistake that made it wrong",
    load: async () => (await import("./commands/verify.js")).verify,
  },
  {
    name: "doctor",
    summary: "Examine a receiver from outside, and name its mistakes",
    load: async () => (await import("./commands/doctor.js")).doctor,
  },
];
