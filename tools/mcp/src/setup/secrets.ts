import { WebhookError } from "@svc-webhooks/core";
import { shortestSecret } from "../lib/mask.js";
import { Refusal } from "../refusal.js";

/** The signing secrets that tools may use. */
export interface Secrets {
  readonly names: readonly string[];
  /** The values, for masking. */
  readonly values: readonly string[];
  /**
   * Returns the secret with this name. The name may be omitted if there is only one secret.
   *
   * @throws Refusal `no_secret` if there are no secrets; `secret_not_allowed` for another name, or without a name if
   *   there are several secrets
   */
  readonly get: (name: string | undefined) => string;
}

/**
 * Reads the secrets from the environment once. Later changes of the variables have no effect.
 *
 * @throws WebhookError `wrong_usage` if a name is not valid, or if the variable is not set or too short to be masked
 */
export function readSecrets(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Secrets {
  const values = new Map(names.map((name) => [name, secretIn(name, env[name])]));
  return {
    names: [...values.keys()],
    values: [...values.values()],
    get(name) {
      const [only, ...others] = values.values();
      if (only === undefined) {
        throw new Refusal(
          "no_secret",
          "This server was started without a signing secret.",
          "Ask the user to add --secret-env with the name of an environment variable to the command that starts this server.",
        );
      }
      if (name === undefined && others.length === 0) return only;
      const value = values.get(name ?? "");
      if (value !== undefined) return value;
      throw new Refusal(
        "secret_not_allowed",
        "This server may not use the variable that `secret` names.",
        `Set \`secret\` to one of: ${[...values.keys()].join(", ")}. Only the user can allow another variable, by adding --secret-env to the command that starts this server.`,
      );
    },
  };
}

function secretIn(name: string, value: string | undefined): string {
  // The error does not contain the name, because a user may have written the secret itself in its place.
  if (
    !/^[A-Za-z_]\w{0,99}$/.test(name) ||
    (value === undefined && !/^[A-Z_][A-Z0-9_]*$/.test(name))
  )
    throw new WebhookError(
      "wrong_usage",
      "--secret-env does not name an environment variable that is set. Write the name of a variable, not its value: --secret-env SVC_WEBHOOK_SECRET.",
    );
  if (value === undefined || value === "") {
    const state = value === undefined ? "not set" : "empty";
    throw new WebhookError(
      "wrong_usage",
      `The environment variable ${name} is ${state}. Set it in the environment of this command.`,
    );
  }
  if (value.length >= shortestSecret) return value;
  throw new WebhookError(
    "wrong_usage",
    `The secret in ${name} has fewer than ${shortestSecret} characters, so it cannot be masked in results. Use the endpoint's whole secret.`,
  );
}
