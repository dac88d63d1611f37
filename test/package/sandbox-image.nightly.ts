import { expect, test } from "vitest";
import { errorsOf } from "../queues/blocks.js";
import { installedWith } from "../queues/install.js";
import { codeBlocks } from "./readme.js";

/** The packages of the block for Testcontainers, which needs a container engine to run. */
const packages = ["testcontainers@12.2.0", "@types/node@22"];

test("the code of docs/sandbox-image.md compiles against the packages that it uses", async () => {
  const folder = await installedWith(packages, { own: ["client", "svc-webhooks"] });
  const blocks = codeBlocks("docs/sandbox-image.md");
  expect(blocks).toHaveLength(1);
  expect(await errorsOf("typescript", folder, blocks)).toBe("");
});
