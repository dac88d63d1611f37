import { readFileSync, writeFileSync } from "node:fs";
import getReleasePlan from "@changesets/get-release-plan";

/*
 * Part of `npm run release:version`: adds the next release to `CHANGELOG.md`, with each change once and the packages
 * that it names. It runs before `changeset version`, which writes the changelogs of the packages and removes the
 * changesets.
 */

const { changesets, releases } = await getReleasePlan(process.cwd());
const versions = releases.filter(({ type }) => type !== "none").map(({ newVersion }) => newVersion);
const types = ["major", "minor", "patch"];

/** Returns the greatest of the changes that a changeset makes to its packages. */
const typeOf = (changeset) =>
  types.find((type) => changeset.releases.some((release) => release.type === type));

function entryOf({ releases: named, summary }) {
  const names = named.map(({ name }) => `\`${name}\``).join(", ");
  const subject = named.length === versions.length ? "All packages" : names;
  return `- ${subject}: ${summary.replaceAll(/\n(?=.)/g, "\n  ")}`;
}

const file = "CHANGELOG.md";
const text = readFileSync(file, "utf8");
const heading = `## ${versions[0]}`;
if (versions.length > 0 && !text.includes(`${heading}\n`)) {
  const changes = types.flatMap((type) => {
    const entries = changesets.filter((changeset) => typeOf(changeset) === type).map(entryOf);
    const title = `### ${type[0].toUpperCase()}${type.slice(1)} changes`;
    return entries.length === 0 ? [] : [title, entries.join("\n")];
  });
  const [introduction = "", ...earlier] = text.split(/^(?=## )/m);
  const parts = [introduction.trimEnd(), heading, ...changes, earlier.join("")];
  writeFileSync(file, `${parts.join("\n\n").trimEnd()}\n`);
}
