import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { withoutLimit } from "@svc-webhooks/kit/programs";
import { beforeAll, expect, test } from "vitest";
import { codeBlocks, isInstalledHere } from "../package/readme.js";
import { runEngineTests } from "../pg-boss/engine.js";
import { installed } from "../pg-boss/install.js";
import { errorsOf } from "../queues/blocks.js";

describeWithPostgres("a job that is stored in a transaction", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await installed();
  });

  test(
    "passes its tests on Node 22.12, the lowest that pg-boss supports",
    withoutLimit,
    async () => {
      expect(await runEngineTests("22.12.0", folder, ["commit"], {}, "effects")).toBe(15);
    },
  );

  test.each(["typescript", "typescript5"] as const)(
    "the code of its recipe compiles, with %s",
    async (compiler) => {
      const blocks = codeBlocks("docs/recipes.md").filter((block) => !isInstalledHere(block));
      expect(blocks).toHaveLength(2);
      expect(await errorsOf(compiler, folder, blocks)).toBe("");
    },
  );
});
