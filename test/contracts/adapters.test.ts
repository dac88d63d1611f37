import { adapterContract } from "@svc-webhooks/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Served } from "../runtimes/launch.js";
import { platforms } from "../runtimes/platforms.js";

describe.each(platforms.filter(({ onlyInMatrix }) => !onlyInMatrix))("on $runtime", (platform) => {
  let served: Served;
  beforeAll(async () => {
    served = await platform.start();
  }, 120_000);
  afterAll(() => served?.close());

  for (const [adapter, path] of Object.entries(platform.adapters)) {
    adapterContract({ describe, it }, adapter, (_receiver, before) => ({
      url: `${served.origin}/${path}/${before}`,
    }));
  }

  it.each(platform.checks)("$title", async ({ check }) => {
    expect(await check(served.origin)).toBeUndefined();
  });
});
