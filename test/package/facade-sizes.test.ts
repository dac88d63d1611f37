import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { isPackage } from "../../tools/build/is-package.js";

/** Returns the bytes of a program with all of this project's code that it imports, minified and gzipped. */
async function sizeOf(code: string, platform: string): Promise<number> {
  const bundle = await rolldown({
    input: "app",
    cwd: root,
    external: (id) => isPackage(id) && !/^@?svc-webhooks\/|^svc-webhooks$|^app$|^#/.test(id),
    platform: "neutral",
    resolve: { conditionNames: [platform, "import"] },
    plugins: [
      {
        name: "app",
        resolveId: (id) => (id === "app" ? id : undefined),
        load: (id) => (id === "app" ? code : undefined),
      },
    ],
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  expect(output).toHaveLength(1);
  return gzipSync(output[0].code, { level: 9 }).length;
}

const apps = {
  "a receiver": 'export { createReceiver } from "svc-webhooks";',
  "a receiver in Hono":
    'export { createReceiver } from "svc-webhooks"; export { webhooks } from "svc-webhooks/hono";',
  "a receiver of Stripe in Express, with PostgreSQL": `
    export { createReceiver } from "svc-webhooks";
    export { webhooks } from "svc-webhooks/express";
    export { stripe } from "svc-webhooks/schemes";
    export { postgresStore } from "svc-webhooks/postgres";`,
  "two functions": 'export { sign, verify } from "svc-webhooks";',
};

/** Returns a program with the names of the parts in place of the facade's. */
const withParts = (code: string) =>
  code
    .replaceAll('"svc-webhooks"', '"@svc-webhooks/core"')
    .replaceAll('"svc-webhooks/', '"@svc-webhooks/');

const platforms = ["workerd", "edge-light", "node"];
const cases = platforms.flatMap((platform) =>
  Object.entries(apps).map(([name, code]) => [name, platform, code] as const),
);

test.each(cases)(
  "the facade adds nothing to the bundle of %s on %s",
  async (_name, platform, code) => {
    const [facade, parts] = await Promise.all([
      sizeOf(code, platform),
      sizeOf(withParts(code), platform),
    ]);
    expect(parts).toBeGreaterThan(500);
    expect(Math.abs(facade / parts - 1)).toBeLessThanOrEqual(0.01);
  },
);
