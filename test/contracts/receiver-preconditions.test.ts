import { receiverContract, type MountReceiver } from "@svc-webhooks/testing/receiver";
import { expect, test, vi } from "vitest";
import { casesOf, type ContractCase } from "./contract-cases.js";
import { goodReceiver, serving } from "./good-receiver.js";
import { served } from "./mounted-receivers.js";

type Options = Parameters<typeof receiverContract>[3];

const good = served((handler) => serving(goodReceiver, handler));
const responding = (status: number) =>
  served(() => (_request, response) => response.writeHead(status).end());

const casesFor = (mount: MountReceiver | string, options?: Options) =>
  casesOf((runner) => receiverContract(runner, "a receiver", mount, options));

const messageOf = ({ run }: ContractCase) =>
  run().then(
    () => "passed",
    (error: unknown) => (error as Error).message,
  );

async function messagesOf(cases: readonly ContractCase[]): Promise<readonly string[]> {
  const messages: string[] = [];
  for (const one of cases) messages.push(await messageOf(one));
  return messages;
}

const silentMs = { timeoutMs: 20 };
const otherSecret = { secret: "whsec_other" };
const nothingListens =
  "Nothing is listening at http://127.0.0.1:1. Start the receiver before the contract runs, or in `mount` before it returns the URL.";
const mountReturned = (found: string) =>
  `\`mount\` returned ${found}. Return a URL with its scheme, such as "http://127.0.0.1:3000/webhooks", or an object with \`url\` and \`close\`.`;
const mountFailed =
  "`mount` failed: no port is free. It is called for each case, and must serve the receiver and return its URL.";
const refused = (status: number) =>
  `A genuine delivery got a ${status} response instead of a 2xx. The receiver's secret may differ from the one that signed the delivery. If they are equal, check how the receiver computes the signature: it must be sha256= followed by the hex digits of the raw body's HMAC-SHA256, keyed with the whole secret, including whsec_.`;
const notFound = (status: number) =>
  `A genuine delivery got a ${status} response instead of a 2xx. Make the receiver accept POST requests at the path of the URL.`;
const oneRun =
  "The receiver must run the handler once per delivery, pass it the parsed body, and then respond.";

const returning = (value: unknown) => (() => value) as MountReceiver;

/**
 * Each row: the receiver's problem, how it is mounted, the message of the first case, and any options of the contract.
 */
const rows: readonly (readonly [string, MountReceiver | string, string | RegExp, Options?])[] = [
  ["nothing is listening", () => "http://127.0.0.1:1/webhooks", nothingListens],
  ["nothing listens at a URL with a password", () => "http://me:pass@127.0.0.1:1/", nothingListens],
  ["nothing listens and there is no mount", "http://127.0.0.1:1/webhooks", nothingListens],
  [
    "the receiver serves http: in place of https:",
    async (handler) => {
      const { url, ...mounted } = Object(await good(handler)) as { readonly url: string };
      return { ...mounted, url: url.replace("http:", "https:") };
    },
    /^https:\/\/127\.0\.0\.1:\d+ cannot be reached: [^]+ Start the receiver before/,
  ],
  ["the URL has no scheme", returning("127.0.0.1:80/"), mountReturned('"127.0.0.1:80/"')],
  [
    "the URL has no port",
    returning("http://127.0.0.1:undefined/"),
    mountReturned('"http://127.0.0.1:undefined/"'),
  ],
  ["mount returns undefined", returning(undefined), mountReturned("undefined")],
  ["mount returns a port", returning(3000), mountReturned("a value of type number")],
  [
    "mount returns an object without a URL",
    returning({}),
    mountReturned("an object whose `url` is undefined"),
  ],
  [
    "mount throws",
    () => {
      throw new Error("no port is free");
    },
    mountFailed,
  ],
  ["mount rejects", () => Promise.reject(new Error("no port is free.")), mountFailed],
  ["the secrets differ", good, refused(401), otherSecret],
  ["the receiver responds with 400", responding(400), refused(400)],
  ["the receiver responds with 403", responding(403), refused(403)],
  ["the secret is invalid", good, /^`secret` is empty\. [^]+#invalid_secret$/, { secret: "" }],
  ["the path differs", responding(404), notFound(404)],
  ["the method differs", responding(405), notFound(405)],
  [
    "the receiver responds with 500",
    responding(500),
    "A genuine delivery got a 500 response instead of a 2xx. The receiver's log may show the reason.",
  ],
  [
    "the receiver does not respond",
    served(() => () => {}),
    `No response arrived within 20 ms. ${oneRun}`,
    silentMs,
  ],
  [
    "the receiver closes the connection",
    served(() => (request) => request.destroy()),
    `The receiver closed the connection without a response. ${oneRun}`,
  ],
  [
    "the response of the receiver has no end",
    served(() => (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", more);
      more();
    }),
    "The response is larger than 1 MiB, so the rest was not read. Respond to deliveries with a short body or no body.",
  ],
  [
    "the handler is not mounted",
    responding(200),
    "The response was a 2xx, but no run of the handler was reported. Register the handler for email.sent (with a scheme, for every type), and let it report each event to the test.",
  ],
  [
    "the handler runs twice",
    served((handler) =>
      serving(goodReceiver, (event) => handler(event).then(() => handler(event))),
    ),
    `The handler ran 2 times instead of once. ${oneRun}`,
  ],
];

test.each(rows)(
  "if %s, the first case states it, and the others refer to the first",
  // Vitest's types do not support tuples with optional members.
  async (...row: readonly unknown[]) => {
    const [, mount, message, options] = row as unknown as (typeof rows)[number];
    const cases = casesFor(mount, options).filter(({ title }) => !title.includes("(skipped"));
    const [first, ...others] = await messagesOf(cases);
    if (typeof message === "string") expect(first).toBe(message);
    else expect(first).toMatch(message);
    expect(new Set(others)).toEqual(new Set(["See the first case."]));
  },
);

test("a case that runs without the first one states what the first one would", async () => {
  const [, ...others] = casesFor(responding(404));
  expect(await messagesOf(others.slice(0, 2))).toEqual([notFound(404), "See the first case."]);
  const [, one] = casesFor(good);
  expect(one && (await messageOf(one))).toBe("passed");
});

test("the other cases run when the first one has been repeated with success", async () => {
  const mount = vi.fn<typeof good>(good).mockRejectedValueOnce(new Error("no port is free"));
  const [first, ...others] = casesFor(mount);
  const cases = [first, first, ...others].filter((one) => one !== undefined);
  expect(new Set((await messagesOf(cases)).slice(1))).toEqual(new Set(["passed"]));
});

test("a precondition that fails later has no fix of a case", async () => {
  const [, ...failed] = await messagesOf(
    casesFor(
      vi
        .fn<MountReceiver>(() => Promise.reject(new Error("no port is free")))
        .mockImplementationOnce(good),
    ),
  );
  expect(new Set(failed)).toEqual(new Set([mountFailed]));

  const [, ...unreachable] = await messagesOf(
    casesFor(vi.fn<MountReceiver>(() => "http://127.0.0.1:1").mockImplementationOnce(good)),
  );
  expect(new Set(unreachable)).toEqual(new Set([nothingListens]));

  const [, ...notRun] = await messagesOf(
    casesFor(vi.fn(responding(200)).mockImplementationOnce(good)),
  );
  expect(notRun.filter((text) => text === "The handler did not run.")).toHaveLength(3);
});

test("a failure of what a case is about ends with its fix, unless it may be a lock", async () => {
  const [first, ...others] = casesFor(vi.fn(served(() => () => {})).mockImplementationOnce(good), {
    timeoutMs: 1_000,
  });
  await first?.run();
  const messages = await Promise.all(
    others.map(async (one) => [one.title, await messageOf(one)] as const),
  );
  for (const [title, message] of messages) {
    // A case that sends a genuine delivery first fails before it sends its forgery.
    const mayLock = /^refuses (?!a forged copy)|forgery|after refusing/.test(title);
    expect(message).toMatch(
      mayLock ? /^Not checked: / : /^No response arrived within 1000 ms\. \S.*\.$/,
    );
  }
});

test("a receiver whose URL is invalid is closed", async () => {
  const close = vi.fn<() => void>();
  const [first] = casesFor(() => ({ url: "localhost", close }));
  await first?.run().catch(() => {});
  expect(close).toHaveBeenCalledOnce();
});
