import { senders, service, type Sender, type SenderName } from "@svc-webhooks/schemes/senders";
import { UsageError } from "../errors.js";

export const schemeOption = {
  scheme: {
    type: "string",
    value: "name",
    values: Object.keys(senders) as readonly SenderName[],
    text: "the sender, if it is not the service, such as stripe",
  },
} as const;

/** Returns the sender that `--scheme` names, or the service without `--scheme`. The name has been checked before. */
export const senderOf = ({ scheme }: { readonly scheme: string | undefined }): Sender =>
  scheme === undefined ? service : senders[scheme as SenderName];

/**
 * Rejects options that have no effect with `--scheme`. Called only if `--scheme` is given.
 *
 * @param values the values by option: undefined and `false` count as not given
 * @throws UsageError if one of the options is given
 */
export function assertWithoutScheme(values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === false) continue;
    throw new UsageError(
      `--${name} is for the service's sandbox, which --scheme does not use.`,
      `Remove --${name} or --scheme.`,
    );
  }
}

/**
 * Rejects options that have no effect without `--scheme`. Called only if `--scheme` is not given.
 *
 * @param values the values by option: undefined, `false` and an empty list count as not given
 * @throws UsageError if one of the options is given
 */
export function assertWithScheme(values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === false || (Array.isArray(value) && value.length === 0))
      continue;
    throw new UsageError(`--${name} needs --scheme.`, `Add --scheme <name>, or remove --${name}.`);
  }
}
