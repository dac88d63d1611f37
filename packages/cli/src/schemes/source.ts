import { headerNames, sign } from "@svc-webhooks/core";
import { senders, type Sender } from "@svc-webhooks/schemes/senders";
import type { Context } from "../command.js";
import { UsageError } from "../errors.js";
import type { Captured } from "../lib/capture.js";
import { deliveryHeaders, headerOf, senderHeaders } from "../lib/delivery-headers.js";
import { requireSecret, type secretOptions } from "../lib/secret.js";
import type { HeaderList } from "../lib/target.js";
import { identityOf } from "./identity.js";
import { requireSigningSecret } from "./signing-secret.js";
import { senderOf, type schemeOption } from "./option.js";

/** How captured requests are sent again. */
export interface Source {
  readonly headersOf: (captured: Captured) => Promise<HeaderList>;
  readonly idOf: (captured: Captured) => Promise<string | undefined>;
}

type SourceContext = Context<
  typeof schemeOption &
    typeof secretOptions & {
      readonly resign: { readonly type: "boolean"; readonly text: string };
    }
>;

/** Returns the source of the service's requests. It notes once that a request is one of another sender. */
function sourceOfService({ note }: SourceContext): Source {
  let isNoted = false;
  return {
    async headersOf({ headers }) {
      const has = (name: string) => headerOf(headers, name) !== undefined;
      const sender = Object.values(senders).find(({ form }) => has(form.header))?.name;
      if (sender && !isNoted && !has(headerNames.signature)) {
        isNoted = true;
        note(`The headers of ${sender} are not sent. To send them, add --scheme ${sender}.`);
      }
      return deliveryHeaders(headers);
    },
    idOf: async ({ headers }) => headerOf(headers, headerNames.deliveryId),
  };
}

/**
 * Returns the source that the options select.
 *
 * @throws UsageError (as a rejection) for `--resign` without a secret, and for a secret without `--resign`
 */
export async function sourceOf(context: SourceContext): Promise<Source> {
  const { options } = context;
  const { resign } = options;
  const sender = senderOf(options);
  if (!resign) {
    const isGiven = options["secret-env"] ?? options["secret-file"] ?? options["secret-stdin"];
    if (isGiven) {
      throw new UsageError(
        "A secret has no effect without --resign.",
        "Add --resign, or remove the secret.",
      );
    }
    return sender
      ? sourceOfSender(sender, async ({ headers }) => senderHeaders(headers))
      : sourceOfService(context);
  }
  if (!sender) {
    const secret = await requireSecret(context);
    // A secret that cannot sign is wrong usage.
    await sign("", secret);
    const source = sourceOfService(context);
    return {
      ...source,
      async headersOf(captured) {
        const kept = (await source.headersOf(captured)).filter(
          ([name]) => name.toLowerCase() !== headerNames.signature,
        );
        return [...kept, ["X-SVC-Signature", await sign(captured.body, secret)]];
      },
    };
  }
  const { scheme, sign: signAs } = sender;
  const secret = await requireSigningSecret(context, sender);
  return sourceOfSender(sender, async (captured) => {
    const { deliveryId, type } = await identityOf(scheme, captured);
    const signed = await signAs(captured.body, { secret, deliveryId, type });
    const kept = senderHeaders(captured.headers).filter(
      ([name]) => !Object.hasOwn(signed, name.toLowerCase()),
    );
    return [...kept, ...Object.entries(signed)];
  });
}

const sourceOfSender = ({ scheme }: Sender, headersOf: Source["headersOf"]): Source => ({
  headersOf,
  idOf: async (captured) => (await identityOf(scheme, captured)).deliveryId,
});
