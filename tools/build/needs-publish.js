import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/*
 * Prints whether this commit is a release that the registry lacks, as outputs of a workflow's step: `version=0.1.0` and
 * `publish=true`. Without this check, each push would ask a reviewer to approve a publish. If changesets are left, the
 * commit is newer than the release. If the registry does not have the package at all, the first version has to be
 * published without a workflow, because npm cannot trust one before.
 */

const { name, version } = JSON.parse(readFileSync("packages/core/package.json", "utf8"));
const changesets = readdirSync(".changeset").filter((file) => file.endsWith(".md"));

const { status, stdout, stderr } = spawnSync("npm", ["view", name, "versions", "--json"], {
  encoding: "utf8",
});
const answer = JSON.parse(stdout || "{}");
const isUnknown = status !== 0 && answer.error?.code === "E404";
if (status !== 0 && !isUnknown) {
  process.stderr.write(`${stderr}npm view ${name} failed. Run this job again.\n`);
  process.exit(1);
}

// npm prints a single version without a list.
const isMissing = !isUnknown && ![answer].flat().includes(version);
process.stdout.write(`version=${version}\npublish=${isMissing && changesets.length === 0}\n`);
