import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { npx } from "@svc-webhooks/kit/npx";
import { root, withoutLimit } from "@svc-webhooks/kit/programs";
import { describeWithPostgres, postgresServer } from "@svc-webhooks/kit/postgres-server";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { codeBlocks, textOf } from "../package/readme.js";
import { errorsOf } from "../queues/blocks.js";
import { runEngineTests } from "./engine.js";
import { installed } from "./install.js";

/** The pages and sources with code that imports `pg-boss`. */
const pages = ["packages/pg-boss/README.md", "packages/pg-boss/src/pg-boss-inbox.ts"];

describeWithPostgres("the package for pg-boss", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await installed();
  });

  test(
    "passes its tests on Node 22.12, the lowest that pg-boss supports",
    withoutLimit,
    async () => {
      // `chaos.long.ts` runs the two others.
      const files = readdirSync(join(root, "test/pg-boss/engine"))
        .filter((file) => /^(?!chaos|controls).*\.engine\.ts$/.test(file))
        .map((file) => file.replace(".engine.ts", ""));
      expect(await runEngineTests("22.12.0", folder, files)).toBeGreaterThan(100);
    },
  );

  test.each(["typescript", "typescript5"] as const)(
    "accepts a PgBoss in the code of its pages, with %s",
    async (compiler) => {
      const blocks = pages.flatMap(codeBlocks);
      expect(blocks.length).toBeGreaterThanOrEqual(pages.length);
      expect(await errorsOf(compiler, folder, blocks)).toBe("");
    },
  );

  test("its example prints what its page shows, on Node 24", async () => {
    const server = await postgresServer({});
    onTestFinished(() => server.close());
    const example = join(folder, "inbox-postgres");
    cpSync(join(root, "examples/inbox-postgres"), example, { recursive: true });
    const { exitCode, stdout } = await npx(
      ["--yes", "--package", "node@24", "node", join(example, "demo.mjs")],
      { cwd: example, env: { DATABASE_URL: server.connectionString } },
    );
    expect(exitCode).toBe(0);
    const [, shown] =
      /^```\n(The server stores[^]*?)^```$/m.exec(textOf("examples/inbox-postgres/README.md")) ??
      [];
    expect(stdout).toBe(shown);
  });
});
