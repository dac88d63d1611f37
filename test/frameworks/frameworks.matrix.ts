import {
  responsesOf,
  exampleEvent,
  exampleSecret,
  expectedResponses,
} from "@svc-webhooks/kit/examples";
import { signedDelivery } from "@svc-webhooks/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Served } from "@svc-webhooks/kit/launch";
import { ends } from "@svc-webhooks/kit/sized";
import { tarballsOf } from "@svc-webhooks/kit/tarballs";
import { build } from "./install.js";
import { nextProjects } from "./next-projects.js";
import { projects } from "./projects.js";

const SVC_WEBHOOK_SECRET = exampleSecret;
let tarballs: readonly string[];
beforeAll(async () => {
  tarballs = await tarballsOf(["svc-webhooks"]);
});

const all = projects.toSpliced(1, 0, ...nextProjects);

describe.each(ends(all))("$name $version", (project) => {
  let serve: Awaited<ReturnType<typeof build>>;
  let served: Served;
  beforeAll(async () => {
    serve = await build(project, tarballs);
    served = await serve({ SVC_WEBHOOK_SECRET });
  });
  afterAll(() => served?.close());

  const status = async (origin: string, event: object, headers: Record<string, string> = {}) => {
    const delivery = await signedDelivery(event, { secret: exampleSecret, headers });
    return (await fetch(`${origin}${project.path}`, delivery)).status;
  };

  test("a delivery is processed once, and a forged one is not processed", async () => {
    expect(await responsesOf(`${served.origin}${project.path}`)).toEqual(expectedResponses);
  });

  const text = { "content-type": "text/plain" };
  const refusesText = ["sveltekit", "astro"].includes(project.name);
  test(`a delivery as plain text is ${refusesText ? "refused" : "processed"}`, async () => {
    expect(await status(served.origin, exampleEvent, text)).toBe(refusesText ? 403 : 200);
  });

  test.runIf(project.name === "sveltekit")(
    "a body above 512 kB is processed only with BODY_SIZE_LIMIT",
    async () => {
      const large = { ...exampleEvent, html: "x".repeat(600_000) };
      expect(await status(served.origin, large)).toBe(503);
      const other = await serve({ SVC_WEBHOOK_SECRET, BODY_SIZE_LIMIT: "1M" });
      expect(await status(other.origin, large)).toBe(200);
      await other.close();
    },
  );
});
