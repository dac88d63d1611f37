import { headerNames } from "@svc-webhooks/core/adapter";
import { senders, service } from "@svc-webhooks/schemes/senders";
import type { Context } from "../command.js";
import { UsageError } from "../errors.js";
import type { Captured } from "../lib/capture.js";
import { headerOf, passedHeaders, withHeaders } from "../lib/delivery-headers.js";
import type { secretOptions } from "../lib/secret.js";
import type { HeaderList } from "../lib/target.js";
import { identityOf } from "./identity.js";
import { signatureOf } from "./signature.js";
import { requireSigningSecret } from "./signing-secret.js";
import { senderOf, type schemeOption } from "./option.js";

/** Determines the headers and the delivery ids of captured requests that are sent again. */
export interface Source {
  readonly headersOf: (captured: Captured) => Promise<HeaderList>;
  /** Resolves to the delivery id, or to undefined if the request has none. */
  readonly idOf: (captured: Captured) => Promise<string | undefined>;
}

type SourceContext = Context<
  typeof schemeOption &
    typeof secretOptions & {
      readonly resign: { readonly type: "boolean"; readonly text: string };
    }
>;

/**
 * Returns a function that prints a note for the first request that has the signature header of another sender and no
 * `X-SVC-Signature`. Without `--scheme`, the headers of that sender are not sent.
 */
function noteOther({ note }: SourceContext): (captured: Captured) => void {
  let isNoted = false;
  return ({ headers }) => {
    const has = (name: string) => headerOf(headers, name) !== undefined;
    const sender = Object.values(senders).find(({ form }) => has(form.header))?.name;
    if (!sender || isNoted || has(headerNames.signature)) return;
    isNoted = true;
    note(`The headers of ${sender} are not sent. To send them, add --scheme ${sender}.`);
  };
}

/**
 * Resolves to the source that the options select. With `--resign`, its headers contain a new signature.
 *
 * @throws UsageError (as a rejection) for `--resign` without a readable secret, and for a secret without `--resign`
 * @throws ConfigError (as a rejection) `invalid_secret` for a secret that the receiver would refuse. A private
 *   key is not checked
 */
export async function sourceOf(context: SourceContext): Promise<Source> {
  const { options } = context;
  const sender = senderOf(options);
  const noteIfOther = noteOther(context);
  const passed = (captured: Captured) => {
    if (sender === service) noteIfOther(captured);
    return passedHeaders(captured.headers, sender);
  };
  const idOf: Source["idOf"] = async (captured) =>
    (await identityOf(sender.scheme, captured)).deliveryId;
  if (!options.resign) {
    const isGiven = options["secret-env"] ?? options["secret-file"] ?? options["secret-stdin"];
    if (isGiven) {
      throw new UsageError(
        "A secret has no effect without --resign.",
        "Add --resign, or remove the secret.",
      );
    }
    return { idOf, headersOf: async (captured) => passed(captured) };
  }
  const secret = await requireSigningSecret(context, sender);
  return {
    idOf,
    async headersOf(captured) {
      const signing = { secret, ...(await identityOf(sender.scheme, captured)) };
      const signature = await signatureOf(sender, captured.body, signing, "X-SVC-Signature");
      return withHeaders(passed(captured), Object.entries(signature));
    },
  };
}
