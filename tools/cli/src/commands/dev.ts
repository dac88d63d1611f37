import { setTimeout as pause } from "node:timers/promises";
import { fingerprint } from "@svc-webhooks/explain";
import { openInBrowser } from "@svc-webhooks/sandbox/command";
import { command, type Context } from "../command.js";
import { isOpen, type App } from "../dev/app.js";
import { collectLines, type LogLines } from "../dev/log-lines.js";
import { runWithSample } from "../dev/sample.js";
import { useSandbox } from "../dev/service.js";
import { createTimeline } from "../dev/timeline.js";
import { exitCodeOf, withApp } from "../dev/with-app.js";
import { Failure, UsageError } from "../errors.js";
import { followDeliveries } from "../lib/control.js";
import { conceal } from "../lib/mask.js";
import { idOf, newSecret } from "../lib/new-secret.js";
import { wholeNumber } from "../lib/number.js";
import { callService, type ServiceContext } from "../lib/service.js";
import { hostOf, portOf, resolveTarget } from "../lib/target-rule.js";
import { fields } from "../lib/terminal/table.js";
import { isGone, leave, register, watch } from "../listen/registration.js";
import {
  assertWithoutScheme,
  assertWithScheme,
  schemeOption,
  senderOf,
} from "../schemes/option.js";

/** The polling interval for the deliveries, in milliseconds. */
const lookMs = 500;

const options = {
  ...schemeOption,
  "secret-env": {
    type: "string",
    value: "name",
    text: "with --scheme: the variable from which your app reads its secret (default: that of the sender's page)",
  },
  type: {
    type: "string",
    value: "type",
    text: "with --scheme: the event type of the sample",
  },
  to: {
    type: "string",
    default: "http://localhost:3000/webhooks",
    value: "url",
    text: "URL of the receiver in your app",
  },
  wait: {
    type: "string",
    default: "30",
    value: "seconds",
    text: "how long your app may take to listen on the port",
  },
  open: { type: "boolean", text: "open the sandbox's page in the default browser" },
  "base-url": {
    type: "string",
    value: "url",
    text: "URL of a sandbox on this machine (default: SVC_BASE_URL, or the sandbox at --sandbox-port)",
  },
  "sandbox-port": {
    type: "string",
    default: "4010",
    value: "number",
    text: "port of the sandbox to use or to start; 0 starts one on a free port",
  },
} as const;

export const dev = command({
  usage: "[--to <url>] [--open] -- <program> [arguments]",
  rest: "program",
  details: [
    "Uses the sandbox that is already running, or starts one, and registers your app's receiver as an endpoint. Then starts your app, sends a test email, and prints each delivery attempt with its outcome. On Ctrl-C, or when your app exits, the command stops your app, archives the endpoint, and stops the sandbox if the command started it. If the sandbox no longer has the endpoint or rotates its secret, the command ends with exit code 1.",
    "With --scheme, no sandbox is used: the command gives your app a new secret of that sender, and sends it one signed sample.",
    "The command sets SVC_WEBHOOK_SECRET, SVC_BASE_URL and SVC_API_KEY for your app, and PORT to the port of --to unless PORT is already set. It adds the sandbox to NO_PROXY. With --json, your app's output goes to stderr. Lines of your app's output that contain a delivery id appear on the sandbox's page, next to the attempt.",
  ],
  examples: [
    "svc-webhooks dev -- node app.mjs",
    "svc-webhooks dev --to http://localhost:8080/hooks --open -- npm start",
    "svc-webhooks dev --scheme stripe -- node app.mjs",
  ],
  options,
  async run(context) {
    const { args, options: values, env, note } = context;
    if (args[0]?.trim() === "") {
      throw new UsageError(
        "The program name after -- is empty.",
        "Write the command that starts your app after --, such as -- node app.mjs.",
      );
    }
    const waitMs = wholeNumber("--wait", values.wait, 1, 3_600) * 1_000;
    const sandboxPort = wholeNumber("--sandbox-port", values["sandbox-port"], 0, 65_535);
    const target = await resolveTarget("--to", values.to, undefined);
    const { url: to } = target;
    if (await isOpen(to)) {
      throw new Failure(
        "port_in_use",
        `Another program is already listening on port ${portOf(to)}.`,
        "Stop it, or pass --to with another port.",
      );
    }
    const sender = senderOf(values);
    const { "secret-env": variable = sender.secretVariable, type = sender.type } = values;
    if (values.scheme !== undefined) {
      assertWithoutScheme({ open: values.open, "base-url": values["base-url"] });
      return runWithSample(context, { sender, target, waitMs, variable, type });
    }
    assertWithScheme({ "secret-env": values["secret-env"], type: values.type });
    const isOption = values["base-url"] !== undefined;
    const sandbox = await useSandbox(
      isOption ? "--base-url" : "SVC_BASE_URL",
      values["base-url"] ?? env["SVC_BASE_URL"],
      sandboxPort,
      note,
    );
    try {
      return await runWith(context, sandbox.url, to, waitMs);
    } finally {
      await sandbox.close();
    }
  },
});

/**
 * Registers an endpoint and runs the app. Resolves to the exit code when the app has exited. Rejects after an error or
 * Ctrl-C, and if the sandbox loses the endpoint or rotates its secret. In each case, first stops the app, and archives
 * the endpoint unless the sandbox no longer has it.
 */
async function runWith(
  context: Context<typeof options>,
  baseUrl: string,
  to: URL,
  waitMs: number,
): Promise<0 | 1> {
  const { env, signal, stdin, note } = context;
  // By default, a sandbox accepts any key, so the real one is not passed on.
  const access = { SVC_BASE_URL: baseUrl, SVC_API_KEY: "svc_test" };
  const registration: ServiceContext & Pick<Context, "note"> = {
    env: { ...env, ...access },
    options: {
      "base-url": undefined,
      "api-key-env": undefined,
      "api-key-file": undefined,
      "allow-external": false,
    },
    signal,
    stdin,
    note,
  };
  const registered = await register(registration, to.href);
  const endpoint = idOf(registered) ?? "we_…";
  const secret = conceal(
    newSecret(
      registered,
      `The endpoint ${endpoint} was registered.`,
      `Archive it with svc-webhooks service endpoints archive ${endpoint}, and use another sandbox.`,
    ),
  );
  const secret_fingerprint = await fingerprint(secret);
  const log = collectLines();
  const gone = new AbortController();
  const running = {
    to,
    waitMs,
    log,
    env: { SVC_WEBHOOK_SECRET: secret, ...access, ...withoutProxy(env, hostOf(new URL(baseUrl))) },
    onStart: () => showStart(context, { baseUrl, endpoint, to, secret_fingerprint }),
  };
  try {
    return await withApp(context, running, (app) => {
      void watch(registration, { id: endpoint, url: to.href, secret }, gone);
      const either = AbortSignal.any([signal, gone.signal]);
      return follow({ ...context, signal: either }, registration, { endpoint, log, app });
    });
  } finally {
    if (!isGone(gone)) {
      await leave(registration, endpoint, {
        archived: `${endpoint} was archived.`,
        kept: `${endpoint} could not be archived. It may still be registered at ${baseUrl}.`,
      });
    }
    gone.abort();
  }
}

/** Returns the variables that make the app connect to a host without a proxy. */
function withoutProxy({ NO_PROXY, no_proxy }: Context["env"], host: string) {
  const withHost = (hosts = "") => (hosts === "" ? host : `${hosts},${host}`);
  return { NO_PROXY: withHost(NO_PROXY ?? no_proxy), no_proxy: withHost(no_proxy ?? NO_PROXY) };
}

interface Started {
  readonly baseUrl: string;
  readonly endpoint: string;
  readonly to: URL;
  readonly secret_fingerprint: string;
}

function showStart(
  { show, note, options: { open } }: Context<typeof options>,
  { baseUrl, endpoint, to, secret_fingerprint }: Started,
): void {
  const page = `${baseUrl}/`;
  show(
    { url: baseUrl, webhook_endpoint_id: endpoint, to: to.href, secret_fingerprint },
    fields({
      sandbox: page,
      endpoint: `${endpoint} at ${to.href}`,
      secret: `SVC_WEBHOOK_SECRET, fingerprint ${secret_fingerprint}`,
    }),
  );
  if (open) openInBrowser(page, note);
}

interface Followed {
  readonly endpoint: string;
  readonly log: LogLines;
  readonly app: App;
}

/** Sends a test email, and prints the delivery attempts until the app exits. Resolves to the exit code. */
async function follow(
  context: Context<typeof options>,
  service: ServiceContext,
  { endpoint, log, app }: Followed,
): Promise<0 | 1> {
  const { signal, note } = context;
  return callService({ ...service, signal }, async (client) => {
    const deliveries = followDeliveries(client, endpoint, signal);
    const print = createTimeline(context, deliveries, log);
    // Uses the sandbox's route for test emails, because an email through the API would need a verified domain.
    await client.request("POST", "/_sandbox/test-email", { body: {} }, { signal });
    note("Sent a test email. Press Ctrl-C to stop your app and this command.");
    let end: string | undefined;
    do {
      end = await Promise.race([app.ended, pause(lookMs, undefined, { signal })]);
      await print(client, signal);
    } while (end === undefined);
    return exitCodeOf(context, end, app);
  });
}
