import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { node, root } from "@svc-webhooks/kit/programs";
import { expect, test } from "vitest";

const fileOf = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));

test("the demo prints what its page shows", async () => {
  const { exitCode, stdout, stderr } = await node([fileOf("demo.js")], { cwd: root });
  const [, shown] =
    /^```\n(The Worker stores[^]*?)^```$/m.exec(readFileSync(fileOf("README.md"), "utf8")) ?? [];
  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: shown, stderr: "" });
});
