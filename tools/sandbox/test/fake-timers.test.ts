import { createRequire } from "node:module";
import * as esm from "@svc-webhooks/sandbox";
import { expect, onTestFinished, test, vi } from "vitest";
import * as source from "../src/index.js";
import { email, posted, receiver } from "./support.js";

type Package = typeof source;

const cjs = createRequire(import.meta.url)("@svc-webhooks/sandbox") as Package;

const builds: readonly (readonly [string, Package])[] = [
  ["the source", source],
  ["the ES module", esm],
  ["the CommonJS module", cjs],
];

const fakes: readonly (readonly [string, Parameters<typeof vi.useFakeTimers>[0]])[] = [
  ["by default", undefined],
  [
    "with setImmediate and performance",
    {
      toFake: [
        "setTimeout",
        "clearTimeout",
        "setInterval",
        "clearInterval",
        "setImmediate",
        "clearImmediate",
        "performance",
        "Date",
      ],
    },
  ],
];

const post = (path: string, body: object) =>
  new Request(`http://sandbox.test${path}`, posted(body));

test.for(
  builds.flatMap(([build, { createSandbox }]) =>
    fakes.map(([how, options]) => [build, how, createSandbox, options] as const),
  ),
)("%s works under timers that are faked %s", async ([, , createSandbox, options]) => {
  const receiving = await receiver([500, 200]);
  vi.useFakeTimers(options);
  onTestFinished(() => void vi.useRealTimers());
  const sandbox = createSandbox({ clock: "manual", log: () => {} });
  onTestFinished(() => sandbox.close());
  const start = sandbox.clock.now();
  const endpoint = { url: receiving.url, event_types: ["email.sent"] };
  expect((await sandbox.fetch(post("/v1/webhook-endpoints", endpoint))).status).toBe(201);
  expect((await sandbox.fetch(post("/v1/emails", email))).status).toBe(202);
  await sandbox.clock.advance(5_000);
  expect(receiving.values("x-svc-attempt")).toEqual(["1", "2"]);
  expect(sandbox.clock.now() - start).toBe(5_000);
});
