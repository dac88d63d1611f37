import { createClient, SvcError, type Client, type ErrorCode } from "@svc-webhooks/client";
import type { Context, ExitCode } from "../command.js";
import { Failure, isRefusal, UsageError } from "../errors.js";
import { fetchFrom } from "./fetch.js";
import { secretFrom } from "./secret.js";
import { resolveTarget } from "./target-rule.js";
import { ConnectionError, explainConnection } from "./tls.js";

/** The default URL of `svc-webhooks sandbox`. */
const sandboxUrl = "http://127.0.0.1:4010";

export const serviceOptions = {
  "base-url": {
    type: "string",
    value: "url",
    text: `the service's URL before /v1 (default: SVC_BASE_URL, or the sandbox at ${sandboxUrl})`,
  },
  "api-key-env": {
    type: "string",
    value: "name",
    text: "environment variable that contains the API key (default: SVC_API_KEY, or the key svc_test on this machine)",
  },
  "api-key-file": {
    type: "string",
    value: "file",
    isInput: true,
    text: "file with the API key",
  },
  "allow-external": {
    type: "boolean",
    text: "allow sending the API key to another machine over unencrypted http",
  },
} as const;

/** The option that limits a command to the deliveries of one endpoint. */
export const endpointOption = {
  type: "string",
  value: "id",
  text: "only the deliveries of this endpoint (we_…)",
} as const;

/** The option of the commands that can wait for the end of a send. */
export const waitOption = {
  type: "boolean",
  text: "wait up to 60 s until the email is delivered, bounced or failed",
} as const;

export type ServiceContext = Pick<
  Context<typeof serviceOptions>,
  "env" | "options" | "signal" | "stdin"
>;

/** Returns the service's URL before `/v1`. */
export const baseUrlOf = ({
  options,
  env,
}: Pick<ServiceContext, "env"> & {
  readonly options: Pick<ServiceContext["options"], "base-url">;
}): string => options["base-url"] ?? (env["SVC_BASE_URL"] || sandboxUrl);

/**
 * Calls the service, with the client's retries. Requests to a service on this machine, or over `http:`, go only to the
 * addresses that were checked.
 *
 * @param work a function that calls operations of the client. It must pass `signal` to each of them
 * @param onlyHere whether a service on another machine needs `--allow-external`, even over `https:`
 * @throws UsageError (as a rejection) for arguments that the client refuses, and for an API key that is missing or
 *   would be sent unencrypted; Failure (as a rejection) for a request that fails; and the reason of `signal`
 */
export async function callService<Result>(
  context: ServiceContext,
  work: (client: Client) => Promise<Result>,
  onlyHere = false,
): Promise<Result> {
  const baseUrl = baseUrlOf(context);
  const allowExternal = context.options["allow-external"];
  const isPlain = /^http:/i.test(baseUrl);
  // Without `onlyHere`, ignores a URL that is invalid or has no address. The checks below or the client report it.
  const target = await resolveTarget("The base URL", baseUrl, allowExternal || !onlyHere).catch(
    (error: unknown) => {
      if (onlyHere) throw error;
      return undefined;
    },
  );
  const isHere = target?.isHere === true;
  if (!isHere && isPlain && !allowExternal) {
    throw new UsageError(
      "The API key would be sent unencrypted to an address that is not a loopback address.",
      "Use the https URL of the service, or add --allow-external.",
    );
  }
  const apiKey = await readApiKey(context, isHere);
  const fetch = target && (isHere || isPlain) ? fetchFrom(target) : undefined;
  try {
    return await work(createClient({ baseUrl, apiKey, fetch }));
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof SvcError)) throw error;
    throw (await connectionFailure(error, baseUrl)) ?? explained(error, baseUrl, isHere);
  }
}

/** Calls the service like {@link callService}, and resolves to the exit code from `work`. */
export const withService: (
  context: ServiceContext,
  work: (client: Client) => Promise<ExitCode>,
  onlyHere?: boolean,
) => Promise<ExitCode> = callService;

async function readApiKey(context: ServiceContext, isHere: boolean): Promise<string> {
  const { options, env } = context;
  const { "api-key-env": name, "api-key-file": file } = options;
  if (name !== undefined && file !== undefined) {
    throw new UsageError(
      "The API key was given more than once.",
      "Use either --api-key-env or --api-key-file.",
    );
  }
  const key = (await secretFrom("api-key", name, file, context)) ?? env["SVC_API_KEY"];
  if (key !== undefined && key !== "") return key;
  // On this machine, the service is probably a sandbox, which accepts any key by default.
  if (isHere) return "svc_test";
  throw new UsageError("The API key is missing.", "Set the environment variable SVC_API_KEY.");
}

const checkUrl = "Check SVC_BASE_URL or --base-url.";
const checkProgram = "Check SVC_BASE_URL or --base-url: another program may be listening there.";

const hints: Readonly<Partial<Record<ErrorCode, string>>> = {
  connection_failed: checkUrl,
  authentication_required: "Check the API key in SVC_API_KEY, --api-key-env or --api-key-file.",
  redirected: "Set SVC_BASE_URL to the part of the redirect's target before /v1.",
  invalid_response: checkProgram,
  rate_limited: "Wait, and try again.",
};

/** The names that error texts use for parameters of the client. Most are command-line flags. */
const flags: Readonly<Record<string, string>> = {
  apiKey: "The API key",
  baseUrl: "--base-url",
  event_types: "--event",
  idempotencyKey: "--idempotency-key",
  from: "--from",
  to: "--to",
  subject: "--subject",
  url: "--url",
};

/** Returns the error's message. If it begins with a parameter, such as `to.1`, puts the flag there: `--to number 2`. */
function withFlag({ message, param = "" }: SvcError): string {
  const [name = "", index = "0"] = param.split(".");
  const flag = flags[name];
  if (flag === undefined || !message.startsWith(`${param} `)) return message;
  const which = index === "0" ? flag : `${flag} number ${Number(index) + 1}`;
  return which + message.slice(param.length);
}

/** Resolves to a Failure that explains why a connection failed, or to undefined if there is no explanation. */
async function connectionFailure(
  { code, cause }: Pick<SvcError, "code" | "cause">,
  baseUrl: string,
): Promise<Failure | undefined> {
  if (code !== "connection_failed") return undefined;
  // Explains the innermost cause, because the client copies errors: the copy of a ConnectionError is an ordinary error.
  if (!(cause instanceof Error)) return undefined;
  const inner = await connectionFailure({ code, cause: cause.cause }, baseUrl);
  if (inner) return inner;
  const failed = await explainConnection(cause, new URL(baseUrl));
  return failed instanceof ConnectionError
    ? new Failure(code, failed.message, checkUrl)
    : undefined;
}

/** Converts an error of the client to one for the command line, with a fix if one is known. */
function explained(error: SvcError, baseUrl: string, isHere: boolean): UsageError | Failure {
  const { code, message, status } = error;
  const isRefused =
    code === "invalid_option" || (code === "invalid_request" && status === undefined);
  // The client rejected its arguments before making a request, so the command was used wrongly.
  if (isRefused) {
    const text = message.replaceAll(/`(\w+)`/g, (_, name: string) => flags[name] ?? name);
    return new UsageError(text, "--help describes the arguments.");
  }
  if (code === "connection_failed" && isRefusal(error)) {
    const hint = isHere
      ? "Start the sandbox with svc-webhooks sandbox, or set SVC_BASE_URL."
      : checkUrl;
    return new Failure(code, `Nothing is listening at ${baseUrl}.`, hint);
  }
  if (code === "response_too_large") {
    const text = "The response is larger than 1 MiB. The request was processed.";
    return new Failure(code, text, checkProgram);
  }
  return new Failure(code, withFlag(error), hints[code] ?? "");
}
