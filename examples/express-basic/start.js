// Builds what the demo needs, and prints the build's output only if it fails. Then runs the demo.
import { spawnSync } from "node:child_process";

/** Shows a line on a terminal until the next call. */
const show = (line) => process.stderr.isTTY && process.stderr.write(`\r\u001b[K${line}`);

const example = "@svc-webhooks/example-express-basic";
const turbo = ["--env-file=packages/_build/turbo.env", "node_modules/turbo/bin/turbo"];
show("Building the packages, half a minute at first …");
const build = spawnSync(
  process.execPath,
  [...turbo, "run", "build", "--output-logs=errors-only", `--filter=${example}`],
  { cwd: `${import.meta.dirname}/../..`, encoding: "utf8" },
);
show("");
if (build.status !== 0) {
  process.stderr.write(`${build.stdout}${build.stderr}`);
  process.exit(1);
}

await import("./dist/demo.js");
