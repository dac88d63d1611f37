import { codeOf } from "@svc-webhooks/core/adapter";
import type { InboxAdmin } from "@svc-webhooks/core/inbox";
import type { Context, ExitCode } from "../command.js";
import { Failure, UsageError } from "../errors.js";
import { causeOf, exportOf, loadModule, type Exports } from "./module.js";
import { patienceMs, withPatience } from "./patience.js";

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

type AdminContext = Context<typeof adminOptions>;

/** Runs a command with the `InboxAdmin` of `--admin`. Rejects if this takes more than 30 s, and on Ctrl-C. */
export const withAdmin = (
  context: AdminContext,
  work: (admin: InboxAdmin) => Promise<ExitCode>,
): Promise<ExitCode> => soon(context, withPatientAdmin(context, work));

/** Runs a command with the inbox of `--admin`. Rejects if this takes more than 30 s, and on Ctrl-C. */
export const withInbox = (
  context: AdminContext,
  work: (inbox: Checked) => Promise<ExitCode>,
): Promise<ExitCode> => soon(context, withLoaded(context, inboxOf, work));

/**
 * Runs a command like {@link withAdmin}, but only the import of the module has a time limit. After Ctrl-C, the command
 * must end by itself.
 */
export const withPatientAdmin = (
  context: AdminContext,
  work: (admin: InboxAdmin) => Promise<ExitCode>,
): Promise<ExitCode> => withLoaded(context, adminOf, work);

/** Resolves to the exit code of a command. Rejects if the command has not ended after 30 s, or on Ctrl-C. */
const soon = ({ options, signal }: AdminContext, done: Promise<ExitCode>): Promise<ExitCode> =>
  withPatience(
    signal,
    () => queueTimeout(options.admin),
    () => done,
  );

async function withLoaded<Part>(
  { options, signal }: AdminContext,
  partOf: (module: Exports, file: string) => Part,
  work: (part: Part) => Promise<ExitCode>,
): Promise<ExitCode> {
  const part = partOf(await load(options.admin, signal), options.admin);
  try {
    return await work(part);
  } catch (error) {
    if (signal.aborted) throw error;
    throw queueFailure(error, options.admin);
  }
}

/**
 * Converts an error of the queue to a Failure with a fix. Returns a Failure, and an error about an option, unchanged.
 */
export function queueFailure(error: unknown, file: string): unknown {
  if (error instanceof Failure || isWrongOption(error)) return error;
  return new Failure(
    "inbox_failed",
    `The queue of --admin ${file} failed: ${causeOf(error)}.`,
    isReachable,
    { cause: error },
  );
}

export const queueTimeout = (file: string): Failure =>
  new Failure(
    "inbox_timeout",
    `The queue of --admin ${file} did not reply within ${patienceMs / 1_000} s.`,
    isReachable,
  );

const isReachable = "Check that its server runs, and that the module connects to it.";

const isWrongOption = (error: unknown) =>
  ["invalid_option", "unknown_option"].includes(String(codeOf(error)));

const load = (file: string, signal: AbortSignal): Promise<Exports> =>
  loadModule(
    "--admin",
    file,
    "admin_failed",
    'Create a module such as: import { inbox } from "./webhooks.js"; export default inbox; With pg-boss, it must also call await boss.start().',
    signal,
  );

/** Imports the module of `--admin`, and resolves to its `InboxAdmin`. */
export const loadAdmin = async (file: string, signal: AbortSignal): Promise<InboxAdmin> =>
  adminOf(await load(file, signal), file);

/** Returns the names of the `InboxAdmin` operations that a value lacks. The value may be an inbox or its `admin`. */
const missingIn = (value: unknown) =>
  operations.filter((name) => typeof adminIn(value)[name] !== "function");

function adminIn(value: unknown): Partial<InboxAdmin> {
  const { admin = value } = Object(value) as { readonly admin?: unknown };
  return Object(admin) as Partial<InboxAdmin>;
}

const hasAdmin = (value: unknown): value is object => missingIn(value).length === 0;

/** Returns the `InboxAdmin` of a module that exports an inbox or its `admin`. */
function adminOf(module: Exports, file: string): InboxAdmin {
  const inboxOrAdmin = exportOf(module, "inbox", hasAdmin);
  if (inboxOrAdmin) return adminIn(inboxOrAdmin) as InboxAdmin;
  throw new UsageError(
    `The default export of --admin ${file} is not an InboxAdmin: it has no ${missingIn(module["default"]).join(", ")}.`,
    "Write: export default inbox;",
  );
}

const hasCheck = (value: unknown): value is Checked =>
  typeof (Object(value) as Partial<Checked>).check === "function";

function inboxOf(module: Exports, file: string): Checked {
  const inbox = exportOf(module, "inbox", hasCheck);
  if (inbox) return inbox;
  throw new UsageError(
    `The default export of --admin ${file} has no check.`,
    "Write: export default inbox; The inboxes of svc-webhooks/pg-boss and svc-webhooks/bullmq have one.",
  );
}
