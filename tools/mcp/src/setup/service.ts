import { Readable } from "node:stream";
import { isSvcError, type Client, type SvcError } from "@svc-webhooks/client";
import { callService } from "@svc-webhooks/cli/workbench";
import { Refusal } from "../refusal.js";

/** The service that tools read from and write to. */
export interface Service {
  /** Whether this server started the service as its own sandbox. */
  readonly isOwn: boolean;
  /**
   * Calls the service.
   *
   * @throws Refusal (as a rejection) for a request that fails, with the service's message as an untrusted text
   */
  readonly call: <Result>(
    work: (client: Client) => Promise<Result>,
    signal: AbortSignal,
  ) => Promise<Result>;
}

export interface ServiceOptions {
  readonly isOwn: boolean;
  readonly baseUrl: string;
  readonly apiKeyEnv: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const serviceAt = ({ isOwn, baseUrl, apiKeyEnv, env }: ServiceOptions): Service => ({
  isOwn,
  async call(work, signal) {
    const options = {
      "base-url": baseUrl,
      "api-key-env": apiKeyEnv,
      "api-key-file": undefined,
      "allow-external": false,
    };
    // Omits the environment for the sandbox, which accepts any key and must not receive the key of the real service.
    const variables = isOwn ? {} : env;
    const context = { options, env: variables, signal, stdin: Readable.from([]) };
    const result = await callService(context, async (client) => {
      try {
        return { value: await work(client) };
      } catch (error) {
        signal.throwIfAborted();
        if (isSvcError(error)) return { error };
        throw error;
      }
    });
    if ("error" in result) throw refusalOf(result.error);
    return result.value;
  },
});

const texts: Readonly<Record<number, readonly [code: string, happened: string, fix: string]>> = {
  400: [
    "invalid_request",
    "The service refused the request as invalid.",
    "Correct the arguments. The field `untrusted` contains the service's message.",
  ],
  401: [
    "authentication_required",
    "The service refused the API key.",
    "Ask the user to check the API key in SVC_API_KEY, or in the variable that --api-key-env names.",
  ],
  404: [
    "not_found",
    "The service has no such item, or is not a sandbox.",
    "Call timeline for the ids that exist. Only a sandbox has faults, test emails and the bodies of deliveries.",
  ],
  409: [
    "conflict",
    "The service refused the request because of the item's state.",
    "Call timeline to see the state. The field `untrusted` contains the service's message.",
  ],
  429: [
    "rate_limited",
    "The service refused the request because of its rate limit.",
    "Wait a minute, then call the tool again.",
  ],
};

function refusalOf(error: SvcError): Refusal {
  const { status, message } = error;
  if (status === undefined) {
    return new Refusal(
      "connection_failed",
      "The service did not respond.",
      "Ask the user to start the service with svc-webhooks sandbox, to add --sandbox to the command that starts this server, or to correct --base-url.",
      [["error", message]],
      { cause: error },
    );
  }
  const [code, happened, fix] = texts[status] ?? [
    "service_error",
    `The service responded with status ${status}.`,
    "Ask the user to check the service's log, and whether --base-url or SVC_BASE_URL is the service's URL before /v1.",
  ];
  return new Refusal(code, happened, fix, [["message of the service", message]], { cause: error });
}
