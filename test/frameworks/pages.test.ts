import { join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { format, resolveConfig } from "prettier";
import { expect, test } from "vitest";
import { importsOf } from "../../site/fragments/code.js";
import {
  adapterReadme,
  frameworkIndex,
  frameworkPage,
  frameworksPage,
  mountingOf,
  pageOf,
} from "../../site/fragments/pages.js";
import { frameworks } from "../../site/fragments/frameworks.js";
import type { ReceiverFragment } from "../../site/fragments/receiver.js";

/** Formats the text of a page. */
async function formatted(file: string, text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(file)), filepath: file });
}

test.each(frameworks)(
  "the page of $title begins with the code of its fragment (npx vitest run test/frameworks/pages.test.ts -u writes it)",
  async (framework) => {
    const file = join(root, pageOf(framework));
    await expect(await formatted(file, await frameworkPage(framework))).toMatchFileSnapshot(file);
  },
);

test("the index lists all frameworks (npx vitest run test/frameworks/pages.test.ts -u writes the list)", async () => {
  const file = join(root, frameworkIndex);
  await expect(await formatted(file, frameworksPage())).toMatchFileSnapshot(file);
});

const adapters = new Set(["express", "fastify", "hono", "nest", "next", "node"]);

test.each(frameworks.filter(({ name }) => adapters.has(name)))(
  "the README of the adapter for $title has the code of its page (npx vitest run test/frameworks/pages.test.ts -u writes it)",
  async (framework) => {
    const file = join(root, `packages/${framework.name}/README.md`);
    await expect(await formatted(file, await adapterReadme(framework))).toMatchFileSnapshot(file);
  },
);

const stripe: ReceiverFragment = {
  imports: ['import { stripe } from "svc-webhooks/schemes";', 'import type Stripe from "stripe";'],
  options: ["scheme: stripe()"],
  secretVariable: "STRIPE_WEBHOOK_SECRET",
  handlers: [{ type: "invoice.paid", parameters: ["event"], body: "console.log(event.id)" }],
  events: "Stripe.Event",
  path: "/webhooks/stripe",
};

test.each(frameworks)("$title mounts the receiver of another sender", async (framework) => {
  const text = await mountingOf(framework, stripe);
  expect(text).toContain("scheme: stripe(),");
  expect(text).toContain("STRIPE_WEBHOOK_SECRET");
  expect(text).not.toContain("SVC_WEBHOOK_SECRET");
  expect(text).toContain('"invoice.paid"');
  expect(text.match(/from "stripe"/g)).toHaveLength(1);
});

test("NestJS has a method of typed events for another sender", async () => {
  const nest = frameworks.filter(({ name }) => name === "nest");
  const [text] = await Promise.all(nest.map((framework) => mountingOf(framework, stripe)));
  expect(text).toContain(`const OnEvent = handlerOf<Stripe.Event>();

@Injectable()
class Handlers {
  @OnEvent("invoice.paid")
  invoicePaid(event: Extract<Stripe.Event, { type: "invoice.paid" }>) {
    console.log(event.id);
  }
}
`);
});

test("import declarations are sorted, and those of one module are merged", () => {
  const declarations = [
    'import Koa from "koa";',
    'import { b } from "svc-webhooks";',
    'import { createServer } from "node:http";',
    'import type { T } from "svc-webhooks";',
    'import { a, b } from "svc-webhooks";',
    'import Koa from "koa";',
  ];
  expect(importsOf(declarations).split("\n")).toEqual([
    'import { createServer } from "node:http";',
    'import { a, b } from "svc-webhooks";',
    'import type { T } from "svc-webhooks";',
    'import Koa from "koa";',
  ]);
});
