import { sign } from "@svc-webhooks/core";
import { headerNames } from "@svc-webhooks/core/adapter";
import { service, type Sender, type SignOptions } from "@svc-webhooks/schemes/senders";

/**
 * Resolves to the headers that sign a body as a sender does. For the service, this is only the signature, in the header
 * `name`, because the signature does not cover the other headers.
 */
export const signatureOf = async (
  sender: Sender,
  body: Uint8Array,
  options: SignOptions,
  name: string = headerNames.signature,
): Promise<Readonly<Record<string, string>>> =>
  sender === service ? { [name]: await sign(body, options.secret) } : sender.sign(body, options);
