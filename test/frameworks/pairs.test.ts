import { createServer, type RequestListener } from "node:http";
import { pathToFileURL } from "node:url";
import { getTestServer } from "@google-cloud/functions-framework/testing";
import { getRequestListener } from "@hono/node-server";
import { Logger } from "@nestjs/common";
import { H3, type EventHandler } from "h3";
import { seeded } from "@svc-webhooks/kit/random";
import { sized } from "@svc-webhooks/kit/sized";
import { senders, type SenderName } from "@svc-webhooks/schemes/senders";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { frameworks } from "../../site/fragments/frameworks.js";
import { codeOf, pairPage } from "../../site/fragments/pages.js";
import type { ReceiverFragment } from "../../site/fragments/receiver.js";
import { senderOf } from "../../site/fragments/senders.js";
import { pairs as pages, senders as names } from "../../site/pages.js";
import { compileBlocks, isInstalledHere, type CodeBlock } from "../package/readme.js";
import { originOf, originWhile } from "./page.js";

Logger.overrideLogger(false);

interface Pair {
  readonly framework: string;
  readonly sender: SenderName;
}

const all: readonly Pair[] = names.flatMap((sender) =>
  frameworks.map((framework) => ({ framework: framework.name, sender: sender as SenderName })),
);
const seed = process.env["PAIRS_SEED"] ?? String(Date.now() % 100_000);
const random = seeded(`${seed}/pairs`);
const chosen = sized<readonly Pair[]>(
  [],
  Array.from({ length: 20 }, () => random.pick(all)),
);

/** Each framework with one sender, each sender with one framework, and once more with methods of NestJS. */
const pairs = all.filter(
  (pair) =>
    pair.sender === "stripe" ||
    ["express", "nest"].includes(pair.framework) ||
    chosen.includes(pair),
);

const fragmentOf = (name: string) => {
  const framework = frameworks.find((one) => one.name === name);
  if (!framework) throw new Error(`No framework is named ${name}.`);
  return framework;
};

async function blockOf({ framework, sender }: Pair): Promise<CodeBlock> {
  const name = `${sender}-${framework}`;
  const code = await codeOf(fragmentOf(framework), senderOf(sender).receiver);
  return { name, file: name, line: 1, code, module: name, extension: "ts" };
}

const blocks = await Promise.all(pairs.map(async (pair) => [pair, await blockOf(pair)] as const));
const here = blocks.filter(([, block]) => isInstalledHere(block));
const { errorsIn, otherErrors, modulePath } = await compileBlocks(here.map(([, block]) => block));

beforeEach(() => {
  vi.spyOn(console, "log").mockReturnValue();
  vi.spyOn(console, "info").mockReturnValue();
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

type Handler = (input: never) => Response | Promise<Response>;
type Exports = Readonly<Record<string, unknown>>;

/** Listens with a function of Web requests. */
const withRequests = (handle: (request: Request) => Response | Promise<Response>) =>
  originOf(createServer(getRequestListener(handle) as RequestListener).listen(0, "127.0.0.1"));

const exported = (module: Exports, name: string, of: (request: Request) => unknown) =>
  withRequests((request) => (module[name] as Handler)(of(request) as never));

const inContext = (request: Request) => ({ request });

/** Calls the function of AWS Lambda as a function URL does. */
async function inLambda({ handler }: Exports, request: Request): Promise<Response> {
  const { search } = new URL(request.url);
  const response = await (handler as (event: object) => Promise<Record<string, never>>)({
    version: "2.0",
    rawQueryString: search.slice(1),
    requestContext: { http: { method: request.method } },
    headers: Object.fromEntries(request.headers),
    body: Buffer.from(await request.arrayBuffer()).toString("base64"),
    isBase64Encoded: true,
  });
  return new Response(response["body"], {
    status: Number(response["statusCode"]),
    headers: response["headers"] ?? {},
  });
}

/** How the files are served that do not listen themselves. */
const served: Readonly<Record<string, (module: Exports) => Promise<string>>> = {
  astro: (module) => exported(module, "POST", inContext),
  bun: ({ default: app }) => withRequests((app as { fetch: Handler }).fetch as never),
  deno: ({ default: app }) => withRequests((app as { fetch: Handler }).fetch as never),
  "google-cloud-functions": () => originOf(getTestServer("webhooks").listen(0, "127.0.0.1")),
  hono: ({ default: app }) => withRequests((app as { fetch: Handler }).fetch as never),
  lambda: (module) => withRequests((request) => inLambda(module, request)),
  next: (module) => exported(module, "POST", (request) => request),
  nuxt: ({ default: handler }) => {
    const app = new H3().all("/**", handler as EventHandler);
    return withRequests((request) => app.fetch(request));
  },
  "react-router": (module) => exported(module, "action", inContext),
  remix: (module) => exported(module, "action", inContext),
  sveltekit: (module) => exported(module, "POST", inContext),
};

async function urlOf({ framework }: Pair, file: string, { path }: ReceiverFragment) {
  const load = () => import(/* @vite-ignore */ pathToFileURL(file).href) as Promise<Exports>;
  const serve = served[framework];
  return (serve ? await serve(await load()) : await originWhile(load)) + path;
}

test.each(here)("%o compiles, receives events, and refuses a forged one", async (pair, block) => {
  expect(errorsIn(block)).toEqual([]);
  const { testKeys, sign, secretVariable, complete, type } = senders[pair.sender];
  const { secret, signingSecret } = await testKeys();
  vi.stubEnv(secretVariable, secret);
  vi.stubEnv("META_VERIFY_TOKEN", "a token");
  const { receiver } = senderOf(pair.sender);
  const url = await urlOf(pair, modulePath(block), receiver);
  const at = Date.now();
  const deliveryId = "d-1";
  const body = JSON.stringify(complete({}, { deliveryId, type, at }));
  const headers = await sign(body, { secret: signingSecret, at, deliveryId, type });
  const post = async (text: string) =>
    (await fetch(url, { method: "POST", headers: { ...headers }, body: text })).status;
  expect([await post(`${body} `), await post(body)]).toEqual([401, expect.toBeOneOf([200, 204])]);
  if (receiver.takesGet !== true) return;
  const query = "?hub.mode=subscribe&hub.verify_token=a%20token&hub.challenge=42";
  expect(await (await fetch(url + query)).text()).toBe("42");
});

test("only the pairs of Firebase need packages from elsewhere, and nothing else fails to compile", () => {
  expect(otherErrors).toEqual([]);
  const elsewhere = blocks.filter((block) => !here.includes(block));
  expect(new Set(elsewhere.map(([{ framework }]) => framework))).toEqual(new Set(["firebase"]));
});

test("each pair has a page, whose links lead to pages of the site", async () => {
  expect(pages).toHaveLength(frameworks.length * names.length);
  const page = await pairPage(fragmentOf("nest"), senderOf("stripe"));
  expect(page).toContain("# Stripe webhooks in NestJS\n");
  expect(page).toContain(" --save-dev stripe\n");
  expect(page).toContain("](/docs/reconcile#stripe)");
  expect(page).not.toMatch(/\]\((?!\/docs\/|https:)/);
});
