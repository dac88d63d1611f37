import { receiverConformance } from "@svc-webhooks/testing/conformance";
import { command } from "../command.js";
import { serveHandler, type HandlerServer } from "../conformance/handler-server.js";
import { reportOf, summaryOf } from "../conformance/lines.js";
import { wholeNumber } from "../lib/number.js";
import { secretInVariable, secretOptions } from "../lib/secret.js";
import { resolveTarget, targetOptions } from "../lib/target-rule.js";
import { ConnectionError, explainConnection } from "../lib/tls.js";
import { createProgress } from "../lib/terminal/progress.js";
import { paint } from "../paint.js";
import { assertSigningSecret, signingFingerprint } from "../schemes/signing-secret.js";
import { schemeOption, senderOf } from "../schemes/option.js";

const options = {
  ...schemeOption,
  "secret-env": { ...secretOptions["secret-env"], required: true },
  "handler-port": {
    type: "string",
    value: "port",
    text: "port to which the receiver's handler posts each event; 0 for a free one",
  },
  timeout: {
    type: "string",
    default: "5",
    value: "seconds",
    text: "how long the receiver may take to respond",
  },
  ...targetOptions,
} as const;

export const conformance = command({
  usage: "<url> --secret-env <name>",
  args: ["url"],
  details: [
    "Runs the receiver contract on a receiver in any language. Each case passes, fails or is not judged. A failure is printed with its reason and with the sentence of a specification on which the case rests. To find the cause of a failure, use doctor.",
    "Pass the receiver's secret. The receiver's handler for email.sent runs for made-up events, so run the command on a receiver for development. If the receiver refuses the first genuine delivery, the command stops.",
    "Responses do not show how often a handler ran. To judge the cases that depend on it, pass --handler-port, and let the receiver's handler post each event as JSON to http://127.0.0.1:<port>/ when it applies its effect. The handler must fail, with the text of the response, unless the status is 2xx.",
    "With --scheme, the deliveries are signed as that sender would sign them, and the receiver must handle every type. If the sender signs with a private key, pass that key as the secret.",
    "Exits with 1 if the receiver fails a case that is a must. A failure that breaks only a recommendation is a should. With --json, prints { url, secret_fingerprint, conforms, results: [{ title, level, source, status, reason? }] }.",
  ],
  examples: [
    "svc-webhooks conformance http://localhost:3000/webhooks --secret-env SVC_WEBHOOK_SECRET",
  ],
  options,
  async run(context) {
    const { args, options: values, show, note, signal, env } = context;
    const [text = ""] = args;
    const timeoutMs = wholeNumber("--timeout", values.timeout, 1, 60) * 1_000;
    const port = values["handler-port"];
    const handlerPort =
      port === undefined ? undefined : wholeNumber("--handler-port", port, 0, 65_535);
    const target = await resolveTarget("The URL", text, values["allow-external"]);
    const sender = senderOf(values);
    const secret = secretInVariable("secret", values["secret-env"], env);
    await assertSigningSecret(secret, sender);
    const { href: url } = target.url;
    const progress = createProgress(context);
    let server: HandlerServer | undefined;
    try {
      const results = await receiverConformance(url, {
        secret,
        timeoutMs,
        scheme: sender.name === "service" ? undefined : sender.name,
        signal,
        lookup: target.lookup,
        async explainError(error) {
          const explained = await explainConnection(error, target.url);
          return explained instanceof ConnectionError ? explained.message : undefined;
        },
        onResult: ({ title }, index, total) => progress.update((index + 1) / total, title),
        ...(handlerPort !== undefined && {
          async onHandler(handler: (event: unknown) => Promise<void>) {
            server = await serveHandler(handlerPort, handler);
            note(`The receiver's handler must post each event to ${server.url}.`);
          },
        }),
      });
      progress.clear();
      const conforms = results.every(
        ({ level, status }) => level !== "must" || status !== "failed",
      );
      const secret_fingerprint = await signingFingerprint(secret, sender);
      const [first] = results;
      const head = [
        `${url}: ${summaryOf(results)}`,
        `Fingerprint of the secret: ${secret_fingerprint}`,
      ];
      const verdict = conforms
        ? paint("green", "The receiver passes every case that is a must and was judged.")
        : paint("red", "The receiver does not conform. svc-webhooks doctor can find the causes.");
      const lines =
        first?.status === "failed"
          ? [...head, "", [paint("red", `Stopped at the first case. ${first.reason ?? ""}`)]]
          : [...head, "", ...reportOf(results), "", [verdict]];
      show({ url, secret_fingerprint, conforms, results }, lines);
      return conforms ? 0 : 1;
    } finally {
      progress.clear();
      server?.close();
    }
  },
});
