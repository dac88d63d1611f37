import { BlockList } from "node:net";
import { sign } from "@svc-webhooks/core";
import { fingerprint } from "@svc-webhooks/explain";
import { service, type Sender } from "@svc-webhooks/schemes/senders";
import { command, type Context } from "../command.js";
import { UsageError } from "../errors.js";
import { openCapture } from "../lib/capture.js";
import { idOf, newSecret } from "../lib/new-secret.js";
import { wholeNumber } from "../lib/number.js";
import {
  previousSecretOptions,
  readPreviousSecrets,
  readSecret,
  requireSecret,
  secretOptions,
} from "../lib/secret.js";
import { serviceOptions } from "../lib/service.js";
import { portOf, resolveTarget } from "../lib/target-rule.js";
import type { Address } from "../lib/target.js";
import { schemasOf } from "../drift/schemas.js";
import { vocabularyOf } from "../drift/vocabulary.js";
import { createExplainer } from "../listen/explainer.js";
import { isGone, leave, reasonOf, register, watch } from "../listen/registration.js";
import { serve } from "../listen/server.js";
import { createShow, type Show } from "../listen/show.js";
import { keyOf } from "../schemes/signing-secret.js";
import { createFixtures, type Fixtures } from "../redact/fixtures.js";
import { keepOption, keptText } from "../redact/options.js";
import { createRedactor, type Redactor } from "../redact/redactor.js";
import { schemeOption, senderOf } from "../schemes/option.js";

const options = {
  port: {
    type: "string",
    default: "4011",
    value: "number",
    text: "port on 127.0.0.1; 0 chooses a free port",
  },
  "forward-to": {
    type: "string",
    value: "url",
    text: "forward genuine deliveries to this URL, and return its response",
  },
  save: {
    type: "string",
    value: "file",
    text: "append requests to this file (mode 0600) before they are forwarded",
  },
  redact: {
    type: "boolean",
    text: "save and show requests without personal data, like redact",
  },
  ...keepOption,
  "max-bytes": {
    type: "string",
    default: "1048576",
    value: "number",
    text: "refuse bodies with more bytes",
  },
  ...schemeOption,
  ...secretOptions,
  ...previousSecretOptions,
  ...serviceOptions,
  "allow-external": {
    type: "boolean",
    text: "allow a target or a service on another machine, even over http",
  },
} as const;

export const listen = command({
  usage: "[--secret-env <name>] [--forward-to <url>] [--save <file>]",
  details: [
    "Receives deliveries at any path on 127.0.0.1, and prints its URL and a line for each delivery.",
    "Without a secret, this command registers an endpoint for all event types, prints its secret for your receiver, and archives the endpoint on exit. It exits with 1 if the sandbox loses the endpoint or rotates its secret. It uses the sandbox unless --base-url or SVC_BASE_URL names another service. If you pass a secret, register the command's own URL yourself. A previous secret is accepted too.",
    "The body is forwarded byte for byte, with the documented X-SVC-* headers, Idempotency-Key and Content-Type; redirects are not followed. The sender receives the target's status and body, or 502 or 504 if the target does not respond. A delivery with a wrong signature gets 401 and is not forwarded; at most ten a minute are explained. Without --forward-to, genuine deliveries get 200.",
    "With --scheme and the sender's secret, this command verifies each delivery as a receiver with that scheme would. All headers are forwarded except connection headers, cookies and Authorization.",
    "A saved request is a line of JSON: { at, method, path, headers, body, verdict }, with the body in base64. To send it again, use svc-webhooks replay.",
  ],
  examples: [
    "svc-webhooks listen --forward-to http://localhost:3000/webhooks",
    "svc-webhooks listen --secret-env SVC_WEBHOOK_SECRET --forward-to http://localhost:3000/webhooks",
    "svc-webhooks listen --scheme github --secret-env GITHUB_WEBHOOK_SECRET --save deliveries.jsonl",
  ],
  options,
  async run(context) {
    const { options: values, signal } = context;
    const port = wholeNumber("--port", values.port, 0, 65_535);
    const maxBytes = wholeNumber("--max-bytes", values["max-bytes"], 1, 2 ** 30);
    const to = values["forward-to"];
    const target =
      to === undefined
        ? undefined
        : await resolveTarget("--forward-to", to, values["allow-external"]);
    if (target && portOf(target.url) === port && target.addresses.some(isOwn)) {
      throw new UsageError(
        "--forward-to is this command itself.",
        "Point --forward-to at your receiver's port, or choose another --port.",
      );
    }
    const previousSecrets = await readPreviousSecrets(context);
    const sender = senderOf(values);
    // Only the service can register an endpoint and return its secret. For another sender, the secret must be given.
    const known = await (sender === service ? readSecret(context) : requireSecret(context));
    // Signs with each secret once, so that an invalid one is rejected now and not at the first delivery.
    for (const secret of [known, ...previousSecrets]) {
      if (secret !== undefined) await sign("", keyOf(sender.scheme, secret));
    }
    const redaction = await redactionOf(context, sender);
    const file =
      values.save === undefined
        ? undefined
        : openCapture("--save", values.save, redaction !== undefined);
    let show: Show | undefined;
    let endpoint: string | undefined;
    const counts = { received: 0, refused: 0 };
    const gone = new AbortController();
    try {
      await serve({
        port,
        sender,
        maxBytes,
        target,
        signal: AbortSignal.any([signal, gone.signal]),
        async secretsFor(url) {
          const registered = known === undefined ? await register(context, `${url}/`) : undefined;
          endpoint = registered && idOf(registered);
          const created =
            registered &&
            newSecret(registered, `The endpoint ${endpoint ?? "we_…"} was registered.`, another);
          const secret = known ?? created ?? "";
          const own = endpoint === undefined ? undefined : { id: endpoint, url: `${url}/`, secret };
          show = createShow(context, {
            explain: createExplainer(sender, secret, previousSecrets),
            endpoint,
            reasonOf: async (id) => own && reasonOf(context, own, gone, id),
            forwardTo: target?.url,
            redact: redaction?.redactor,
          });
          if (own) void watch(context, own, gone);
          const secret_fingerprint = await fingerprint(keyOf(sender.scheme, secret));
          const first = { url, webhook_endpoint_id: endpoint, secret: created, secret_fingerprint };
          context.show(first, listeningText(first), created);
          if (redaction) {
            const { secret: test } = redaction.fixtures;
            if (!context.json)
              context.show({}, [`Saved requests verify with the secret ${test}`], test);
          }
          return [
            { id: "current", key: secret },
            ...previousSecrets
              .filter((key) => key !== secret)
              .map((key) => ({ id: "previous", key })),
          ];
        },
        async save(captured) {
          if (!redaction) {
            file?.write(captured);
            return undefined;
          }
          const result = await redaction.fixtures.make(captured);
          if (typeof result === "string") return result;
          file?.write(result);
          return undefined;
        },
        onReceived(received) {
          counts.received += 1;
          if (received.status >= 300) counts.refused += 1;
          void show?.(received);
        },
      });
    } finally {
      file?.close();
      if (signal.aborted && !context.json)
        context.show({}, [
          `${counts.received} received, ${counts.refused} refused.`,
          ...(redaction ? [keptText(redaction.redactor.kept())] : []),
        ]);
      if (endpoint !== undefined && !isGone(gone))
        await leave(context, endpoint, leaving(endpoint));
    }
    gone.signal.throwIfAborted();
    return 0;
  },
});

/**
 * Resolves to the redactor and the fixtures for `--redact`, or to undefined without `--redact`.
 *
 * @throws UsageError (as a rejection) for `--keep` without `--redact`, and for `--redact` without `--save`
 */
async function redactionOf(
  { options: values, signal }: Context<typeof options>,
  sender: Sender,
): Promise<{ readonly redactor: Redactor; readonly fixtures: Fixtures } | undefined> {
  const { keep } = values;
  if (!values.redact) {
    if (keep.length === 0) return undefined;
    throw new UsageError("--keep needs --redact.", "Add --redact, or remove --keep.");
  }
  if (values.save === undefined) {
    throw new UsageError("--redact needs --save.", "Add --save <file>, or remove --redact.");
  }
  const vocabulary = vocabularyOf(await schemasOf(undefined, signal));
  const redactor = createRedactor({ keep, vocabulary });
  return { redactor, fixtures: createFixtures(sender, redactor) };
}

/** Returns whether a connection to this address reaches 127.0.0.1, where the command listens. */
const isOwn = ({ address, family }: Address): boolean =>
  own.check(address, family === 4 ? "ipv4" : "ipv6");

const own = new BlockList();
own.addAddress("127.0.0.1", "ipv4");
own.addAddress("0.0.0.0", "ipv4");

const another = "Register an endpoint with another command, and pass its secret with --secret-env.";

interface Listening {
  readonly url: string;
  /** The id of the endpoint that the command registered. Undefined if it registered none. */
  readonly webhook_endpoint_id: string | undefined;
  readonly secret: string | undefined;
  readonly secret_fingerprint: string;
}

const listeningText = ({ url, webhook_endpoint_id: id, secret, secret_fingerprint }: Listening) => [
  `Listening at ${url}${id === undefined ? "" : `, registered as ${id}`}`,
  ...(secret === undefined ? [] : [`The secret for your receiver: ${secret}`]),
  `Fingerprint of the secret: ${secret_fingerprint}`,
];

const leaving = (id: string) => ({
  archived: `${id} was archived. The sandbox marks deliveries that were still pending as failed.`,
  kept: `${id} could not be archived. To try again, run svc-webhooks service endpoints archive ${id}.`,
});
