import { createClient, SvcError, type Client, type ErrorCode } from "@svc-webhooks/client";
import type { Context, ExitCode } from "../command.js";
import { Failure, UsageError } from "../errors.js";
import { secretFrom } from "./secret.js";
import { resolveTarget } from "./target.js";

/** Where `svc-webhooks sandbox` serves. */
const sandboxUrl = "http://127.0.0.1:4010";

export const serviceOptions = {
  "base-url": {
    type: "string",
    value: "url",
    text: `the service's URL before /v1; else SVC_BASE_URL, else the sandbox at ${sandboxUrl}`,
  },
  "api-key-env": {
    type: "string",
    value: "name",
    text: "environment variable with the API key; else SVC_API_KEY, else svc_test on this machine",
  },
  "api-key-file": { type: "string", value: "file", text: "file with the API key" },
} as const;

export type ServiceContext = Pick<Context<typeof serviceOptions>, "env" | "options" | "signal">;

export const baseUrlOf = ({ options, env }: ServiceContext): string =>
  options["base-url"] ?? (env["SVC_BASE_URL"] || sandboxUrl);

/**
 * Calls the service, with retries as the client makes them.
 *
 * @param work passes `signal` to each operation
 * @throws UsageError (as a rejection) for what the client refuses to send, Failure for what the service refuses
 */
export async function callService<Result>(
  context: ServiceContext,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const baseUrl = baseUrlOf(context);
  const apiKey = await readApiKey(context, baseUrl);
  try {
    return await work(createClient({ baseUrl, apiKey }));
  } catch (error) {
    context.signal.throwIfAborted();
    throw error instanceof SvcError ? explained(error) : error;
  }
}

/** As {@link callService}, for a command whose whole work it is. */
export const withService: (
  context: ServiceContext,
  work: (client: Client) => Promise<ExitCode>,
) => Promise<ExitCode> = callService;

async function readApiKey({ options, env }: ServiceContext, baseUrl: string): Promise<string> {
  const { "api-key-env": name, "api-key-file": file } = options;
  if (name !== undefined && file !== undefined) {
    throw new UsageError(
      "The API key is given twice.",
      "Use one of --api-key-env and --api-key-file.",
    );
  }
  const key = (await secretFrom("api-key", name, file, env)) ?? env["SVC_API_KEY"];
  if (key !== undefined && key !== "") return key;
  try {
    // Any key will do for a sandbox.
    await resolveTarget("The base URL", baseUrl, false);
    return "svc_test";
  } catch {
    throw new UsageError("There is no API key.", "Set the environment variable SVC_API_KEY.");
  }
}

const hints: Readonly<Partial<Record<ErrorCode, string>>> = {
  connection_failed: "Start the sandbox with svc-webhooks sandbox, or set SVC_BASE_URL.",
  authentication_required: "Set the environment variable SVC_API_KEY.",
  redirected: "Set SVC_BASE_URL to the URL that it redirects to, without /v1.",
  invalid_response: "Check SVC_BASE_URL: another program may listen there.",
  rate_limited: "Wait, and try again.",
};

/** The error in the words of the command line. */
function explained(error: SvcError): UsageError | Failure {
  const { code, message, status } = error;
  const isRefused =
    code === "invalid_option" || (code === "invalid_request" && status === undefined);
  // The client has refused its arguments.
  if (isRefused) return new UsageError(message, "--help describes the arguments.");
  return new Failure(code, message, hints[code] ?? "");
}
