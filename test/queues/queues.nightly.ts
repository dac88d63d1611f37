import { withoutLimit } from "@svc-webhooks/kit/programs";
import { describe, expect, test, beforeAll } from "vitest";
import { codeBlocks } from "../package/readme.js";
import { runEngineTests } from "../pg-boss/engine.js";
import { errorsOf } from "./blocks.js";
import { installedWith } from "./install.js";

/** The packages of the recipes in `docs/queues.md`. */
const packages = [
  "graphile-worker@0.17.3",
  "pg@8.23.1",
  "@types/pg@8.23.1",
  "amqplib@2.3.1",
  "@aws-sdk/client-sqs@3.1175.0",
  "@types/aws-lambda@8.10.164",
  "inngest@4.24.0",
  ...["client", "common", "workflow"].map((name) => `@temporalio/${name}@1.24.0`),
  ...["sdk", "sdk-clients"].map((name) => `@restatedev/restate-${name}@1.17.2`),
  "@restatedev/restate-server@1.7.12",
  "@trigger.dev/sdk@4.8.3",
  "@types/node@22",
];

describe("docs/queues.md", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await installedWith(packages, { own: ["svc-webhooks", "testing"] });
  });

  test.each(["typescript", "typescript5"] as const)(
    "its code compiles against the packages of the queues, with %s",
    async (compiler) => {
      const blocks = codeBlocks("docs/queues.md");
      expect(blocks).toHaveLength(10);
      expect(await errorsOf(compiler, folder, blocks)).toBe("");
    },
  );

  test("its code for Restate runs, on Node 22", withoutLimit, async () => {
    expect(await runEngineTests("22", folder, ["restate"], {}, "queues")).toBe(4);
  });
});
