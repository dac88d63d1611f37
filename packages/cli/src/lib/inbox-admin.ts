import { once } from "node:events";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { codeOf } from "@svc-webhooks/core";
import type { InboxAdmin } from "@svc-webhooks/core/inbox";
import type { Context, ExitCode } from "../command.js";
import { Failure, messageOf, UsageError } from "../errors.js";

export const adminOptions = {
  admin: {
    type: "string",
    default: "inbox.admin.js",
    value: "file",
    text: "module whose default export is your inbox or its `admin`",
  },
} as const;

const operations: readonly (keyof InboxAdmin)[] = [
  "stats",
  "list",
  "get",
  "retry",
  "discard",
  "release",
];

/** The part of an inbox that `inbox check` calls. */
export interface Checked {
  /** Resolves to the conditions that can lose or delay events, one sentence each. */
  readonly check: () => Promise<readonly string[]>;
}

/** How long a command waits for the queue, in milliseconds. */
const patienceMs = 30_000;

type AdminContext = Context<typeof adminOptions>;

/** Runs a command with the `InboxAdmin` of `--admin`, for up to 30 s. */
export const withAdmin = (
  context: AdminContext,
  work: (admin: InboxAdmin) => Promise<ExitCode>,
): Promise<ExitCode> => soon(context, withPatientAdmin(context, work));

/** Runs a command with the inbox of `--admin`, for up to 30 s. */
export const withInbox = (
  context: AdminContext,
  work: (inbox: Checked) => Promise<ExitCode>,
): Promise<ExitCode> => soon(context, withLoaded(context, inboxOf, work));

/** Like {@link withAdmin}, for a command that ends by itself after Ctrl-C and may take any time. */
export const withPatientAdmin = (
  context: AdminContext,
  work: (admin: InboxAdmin) => Promise<ExitCode>,
): Promise<ExitCode> => withLoaded(context, adminOf, work);

/** Rejects if a command is not done after 30 s, or after Ctrl-C. */
function soon({ options, signal }: AdminContext, done: Promise<ExitCode>): Promise<ExitCode> {
  const deadline = AbortSignal.timeout(patienceMs);
  const ended = once(AbortSignal.any([signal, deadline]), "abort").then(() => {
    signal.throwIfAborted();
    throw new Failure(
      "inbox_timeout",
      `The queue of --admin ${options.admin} did not reply within ${patienceMs / 1_000} s.`,
      isReachable,
    );
  });
  return Promise.race([done, ended]);
}

async function withLoaded<Part>(
  { options, signal }: AdminContext,
  partOf: (exported: unknown, file: string) => Part,
  work: (part: Part) => Promise<ExitCode>,
): Promise<ExitCode> {
  const part = partOf(await load(options.admin), options.admin);
  try {
    return await work(part);
  } catch (error) {
    if (error instanceof Failure || signal.aborted || isWrongOption(error)) throw error;
    throw new Failure(
      "inbox_failed",
      `The queue of --admin ${options.admin} failed: ${causeOf(error)}.`,
      isReachable,
      { cause: error },
    );
  }
}

const isReachable = "Check that its server runs, and that the module connects to it.";

const isWrongOption = (error: unknown) =>
  ["invalid_option", "unknown_option"].includes(String(codeOf(error)));

const causeOf = (error: unknown) => messageOf(error).replace(/\.+$/, "");

async function load(file: string): Promise<unknown> {
  const path = resolve(file);
  if (!existsSync(path)) {
    throw new UsageError(
      `--admin ${file} does not exist.`,
      'Create a module such as: import { inbox } from "./webhooks.js"; export default inbox; With pg-boss, it also calls await boss.start().',
    );
  }
  try {
    return ((await import(pathToFileURL(path).href)) as { readonly default?: unknown }).default;
  } catch (error) {
    throw new Failure(
      "admin_failed",
      `--admin ${file} cannot be imported: ${causeOf(error)}.`,
      "Run it with node to see where it fails. If it is written in TypeScript and your version of Node cannot run it, compile it first.",
      { cause: error },
    );
  }
}

/** Returns the `InboxAdmin` of a default export, which is an inbox or its `admin`. */
function adminOf(exported: unknown, file: string): InboxAdmin {
  const { admin = exported } = Object(exported) as { readonly admin?: unknown };
  const found = Object(admin) as Partial<InboxAdmin>;
  const missing = operations.filter((name) => typeof found[name] !== "function");
  if (missing.length === 0) return found as InboxAdmin;
  throw new UsageError(
    `The default export of --admin ${file} is not an InboxAdmin: it has no ${missing.join(", ")}.`,
    "Write: export default inbox;",
  );
}

function inboxOf(exported: unknown, file: string): Checked {
  const inbox = Object(exported) as Partial<Checked>;
  if (typeof inbox.check === "function") return inbox as Checked;
  throw new UsageError(
    `The default export of --admin ${file} has no check.`,
    "Write: export default inbox; The inboxes of @svc-webhooks/pg-boss and @svc-webhooks/bullmq have a check.",
  );
}
