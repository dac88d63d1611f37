import type { CommandEntry } from "./command.js";

/** All commands, in the order in which `--help` lists them. */
export const commands: readonly CommandEntry[] = [
  {
    name: "dev",
    summary: "Run your app against a sandbox",
    load: async () => (await import("./commands/dev.js")).dev,
  },
  {
    name: "listen",
    summary: "Receive, verify, print, save and forward deliveries",
    load: async () => (await import("./commands/listen.js")).listen,
  },
  {
    name: "verify",
    summary: "Verify a signature, and find out why it is wrong",
    load: async () => (await import("./commands/verify.js")).verify,
  },
  {
    name: "doctor",
    summary: "Test a receiver from the outside, and report its mistakes",
    load: async () => (await import("./commands/doctor.js")).doctor,
  },
  {
    name: "replay",
    summary: "Send saved deliveries again, byte for byte",
    load: async () => (await import("./commands/replay.js")).replay,
  },
  {
    name: "sandbox",
    summary: "Simulate the whole service on this machine",
    load: async () => (await import("./commands/sandbox.js")).sandbox,
  },
  {
    name: "sign",
    summary: "Print the signature of a body",
    load: async () => (await import("./commands/sign.js")).sign,
  },
  {
    name: "redact",
    summary: "Make fixtures from saved deliveries, without personal data or secrets",
    load: async () => (await import("./commands/redact.js")).redact,
  },
  {
    name: "drift",
    summary: "Compare saved deliveries with your event schemas",
    load: async () => (await import("./commands/drift.js")).drift,
  },
  {
    name: "conformance",
    summary: "Test a receiver in any language against the receiver contract",
    load: async () => (await import("./commands/conformance.js")).conformance,
  },
  {
    name: "crash-test",
    summary: "Crash your server at each step, and report lost and duplicate effects",
    load: async () => (await import("./commands/crash-test.js")).crashTest,
  },
  {
    name: "service trigger",
    summary: "Trigger an event by sending an email or verifying a domain",
    load: async () => (await import("./commands/trigger.js")).trigger,
  },
  {
    name: "service emails send",
    summary: "Send an email",
    load: async () => (await import("./commands/emails-send.js")).emailsSend,
  },
  {
    name: "service sends get",
    summary: "Print the status of a send",
    load: async () => (await import("./commands/sends-get.js")).sendsGet,
  },
  {
    name: "service domains add",
    summary: "Add a sending domain",
    load: async () => (await import("./commands/domains.js")).domainsAdd,
  },
  {
    name: "service domains list",
    summary: "List the sending domains of the sandbox",
    load: async () => (await import("./commands/domains.js")).domainsList,
  },
  {
    name: "service domains verify",
    summary: "Verify a sending domain",
    load: async () => (await import("./commands/domains.js")).domainsVerify,
  },
  {
    name: "service endpoints create",
    summary: "Register a webhook endpoint",
    load: async () => (await import("./commands/endpoints.js")).endpointsCreate,
  },
  {
    name: "service endpoints list",
    summary: "List the webhook endpoints of the sandbox",
    load: async () => (await import("./commands/endpoints.js")).endpointsList,
  },
  {
    name: "service endpoints rotate-secret",
    summary: "Replace the signing secret of an endpoint",
    load: async () => (await import("./commands/endpoints.js")).endpointsRotateSecret,
  },
  {
    name: "service endpoints archive",
    summary: "Archive an endpoint",
    load: async () => (await import("./commands/endpoints.js")).endpointsArchive,
  },
  {
    name: "service events list",
    summary: "List deliveries",
    load: async () => (await import("./commands/events-list.js")).eventsList,
  },
  {
    name: "service events get",
    summary: "Print a delivery and its attempts",
    load: async () => (await import("./commands/events.js")).eventsGet,
  },
  {
    name: "service events redeliver",
    summary: "Redeliver a failed delivery",
    load: async () => (await import("./commands/events.js")).eventsRedeliver,
  },
  {
    name: "service events redeliver-failed",
    summary: "Redeliver all failed deliveries to an endpoint",
    load: async () => (await import("./commands/events.js")).eventsRedeliverFailed,
  },
  {
    name: "service event-types list",
    summary: "List the event types",
    load: async () => (await import("./commands/event-types-list.js")).eventTypesList,
  },
  {
    name: "inbox check",
    summary: "Check the settings of your queue",
    load: async () => (await import("./commands/inbox.js")).inboxCheck,
  },
  {
    name: "inbox stats",
    summary: "Count the jobs of your queue",
    load: async () => (await import("./commands/inbox.js")).inboxStats,
  },
  {
    name: "inbox list",
    summary: "List dead letters or other jobs",
    load: async () => (await import("./commands/inbox.js")).inboxList,
  },
  {
    name: "inbox show",
    summary: "Print a job",
    load: async () => (await import("./commands/inbox.js")).inboxShow,
  },
  {
    name: "inbox retry",
    summary: "Run a dead letter again, or a delayed job now",
    load: async () => (await import("./commands/inbox.js")).inboxRetry,
  },
  {
    name: "inbox discard",
    summary: "Remove a dead letter",
    load: async () => (await import("./commands/inbox.js")).inboxDiscard,
  },
  {
    name: "inbox release",
    summary: "Run dead letters again at a limited rate",
    load: async () => (await import("./commands/inbox.js")).inboxRelease,
  },
  {
    name: "reconcile",
    summary: "Find deliveries that were never handled, or lost",
    load: async () => (await import("./commands/reconcile.js")).reconcile,
  },
  {
    name: "mcp",
    summary: "Serve tools for debugging webhooks to an agent",
    load: async () => (await import("./commands/mcp.js")).mcp,
  },
  {
    name: "completions",
    summary: "Print shell completions for bash or zsh",
    load: async () => (await import("./commands/completions.js")).completions(commands),
  },
];

const service = {
  name: "service",
  summary: "Call the service: emails, domains, endpoints and deliveries",
};

/** Returns the name of a command without the word `service`. This is also its old name, an alias until 0.1.0. */
export const withoutService = (name: string): string => name.replace(/^service /, "");

/** The list of `--help`: an entry for each command, but only one for all commands of `service`. */
export const listed: readonly Pick<CommandEntry, "name" | "summary">[] = Array.from(
  new Map(
    commands.map((entry) => {
      const { name, summary } = entry.name.startsWith("service ") ? service : entry;
      return [name, { name, summary }];
    }),
  ).values(),
);
