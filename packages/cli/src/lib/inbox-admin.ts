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
    text: "module whose default export is the `admin` of your inbox",
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

/** How long a command waits for the queue, in milliseconds. */
const patienceMs = 30_000;

/** Runs a command with the `InboxAdmin` of `--admin`, for up to 30 s. */
export async function withAdmin(
  context: Context<typeof adminOptions>,
  work: (admin: InboxAdmin) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { admin } = context.options;
  const deadline = AbortSignal.timeout(patienceMs);
  const ended = once(AbortSignal.any([context.signal, deadline]), "abort").then(() => {
    context.signal.throwIfAborted();
    throw new Failure(
      "inbox_timeout",
      `The queue of --admin ${admin} did not reply within ${patienceMs / 1_000} s.`,
      isReachable,
    );
  });
  return Promise.race([withPatientAdmin(context, work), ended]);
}

/** Like {@link withAdmin}, for a command that ends by itself after Ctrl-C and may take any time. */
export async function withPatientAdmin(
  { options, signal }: Context<typeof adminOptions>,
  work: (admin: InboxAdmin) => Promise<ExitCode>,
): Promise<ExitCode> {
  const admin = await load(options.admin);
  try {
    return await work(admin);
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

async function load(file: string): Promise<InboxAdmin> {
  const path = resolve(file);
  if (!existsSync(path)) {
    throw new UsageError(
      `--admin ${file} does not exist.`,
      'Create a module such as: import { inbox } from "./webhooks.js"; export default inbox.admin; With pg-boss, it also calls await boss.start().',
    );
  }
  let exported: { readonly default?: unknown };
  try {
    exported = (await import(pathToFileURL(path).href)) as typeof exported;
  } catch (error) {
    throw new Failure(
      "admin_failed",
      `--admin ${file} cannot be imported: ${causeOf(error)}.`,
      "Run it with node to see where it fails. If it is written in TypeScript and your version of Node cannot run it, compile it first.",
      { cause: error },
    );
  }
  const admin = Object(exported.default) as Partial<InboxAdmin>;
  const missing = operations.filter((name) => typeof admin[name] !== "function");
  if (missing.length === 0) return admin as InboxAdmin;
  throw new UsageError(
    `The default export of --admin ${file} is not an InboxAdmin: it has no ${missing.join(", ")}.`,
    "Write: export default inbox.admin;",
  );
}
