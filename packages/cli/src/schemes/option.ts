import { senders, type SenderName } from "@svc-webhooks/schemes/senders";

export const schemeOption = {
  scheme: {
    type: "string",
    value: "name",
    values: Object.keys(senders) as readonly SenderName[],
    text: "the sender, if it is not the service, such as stripe",
  },
} as const;

/** Returns the sender that `--scheme` names, or undefined for the service. The names are checked before. */
export const senderOf = ({
  scheme,
}: {
  readonly scheme: string | undefined;
}): (typeof senders)[SenderName] | undefined =>
  scheme === undefined ? undefined : senders[scheme as SenderName];
