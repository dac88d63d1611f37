import type { CommandEntry } from "./command.js";

/** All commands, in the order of `--help`. */
export const commands: readonly CommandEntry[] = [
  {
    name: "dev",
    summary: "Run your app with a sandbox",
    load: async () => (await import("./commands/dev.js")).dev,
  },
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
    summary: "Send saved deliveries again, byte for byte",
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
    summary: "Test a receiver from outside, and name its mistakes",
    load: async () => (await import("./commands/doctor.js")).doctor,
  },
  {
    name: "trigger",
    summary: "Raise an event: send an email, or verify a domain",
    load: async () => (await import("./commands/trigger.js")).trigger,
  },
  {
    name: "emails send",
    summary: "Send an email",
    load: async () => (await import("./commands/emails-send.js")).emailsSend,
  },
  {
    name: "sends get",
    summary: "Print the status of a send",
    load: async () => (await import("./commands/sends-get.js")).sendsGet,
  },
  {
    name: "domains add",
    summary: "Add a sending domain",
    load: async () => (await import("./commands/domains.js")).domainsAdd,
  },
  {
    name: "domains list",
    summary: "List the sending domains of the sandbox",
    load: async () => (await import("./commands/domains.js")).domainsList,
  },
  {
    name: "domains verify",
    summary: "Verify a sending domain",
    load: async () => (await import("./commands/domains.js")).domainsVerify,
  },
  {
    name: "endpoints create",
    summary: "Register a webhook endpoint",
    load: async () => (await import("./commands/endpoints.js")).endpointsCreate,
  },
  {
    name: "endpoints list",
    summary: "List the webhook endpoints of the sandbox",
    load: async () => (await import("./commands/endpoints.js")).endpointsList,
  },
  {
    name: "endpoints rotate-secret",
    summary: "Replace the signing secret of an endpoint",
    load: async () => (await import("./commands/endpoints.js")).endpointsRotateSecret,
  },
  {
    name: "endpoints archive",
    summary: "Archive an endpoint",
    load: async () => (await import("./commands/endpoints.js")).endpointsArchive,
  },
  {
    name: "events list",
    summary: "List deliveries",
    load: async () => (await import("./commands/events-list.js")).eventsList,
  },
  {
    name: "events get",
    summary: "Print a delivery and its attempts",
    load: async () => (await import("./commands/events.js")).eventsGet,
  },
  {
    name: "events redeliver",
    summary: "Redeliver a failed delivery",
    load: async () => (await import("./commands/events.js")).eventsRedeliver,
  },
  {
    name: "events redeliver-failed",
    summary: "Redeliver all failed deliveries to an endpoint",
    load: async () => (await import("./commands/events.js")).eventsRedeliverFailed,
  },
  {
    name: "event-types list",
    summary: "List the event types",
    load: async () => (await import("./commands/event-types-list.js")).eventTypesList,
  },
  {
    name: "completions",
    summary: "Print shell completions for bash or zsh",
    load: async () => (await import("./commands/completions.js")).completions(commands),
  },
];
