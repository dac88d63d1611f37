import json5 from "json5";
import { satisfies } from "semver";
import { describe, expect, test } from "vitest";
import { textOf } from "../suites.js";

/** The settings of updates that this file uses. */
interface Settings {
  readonly enabled?: boolean;
  readonly groupName?: string;
  readonly automerge?: boolean;
  readonly allowedVersions?: string;
}

interface Rule extends Settings {
  readonly matchDepNames?: readonly string[];
  readonly matchDepTypes?: readonly string[];
  readonly matchUpdateTypes?: readonly string[];
}

const config = json5.parse<{
  readonly minimumReleaseAge: string;
  readonly vulnerabilityAlerts: Readonly<Record<string, unknown>>;
  readonly packageRules: readonly Rule[];
}>(textOf(".github/renovate.json5"));

const { devDependencies } = JSON.parse(textOf("package.json")) as {
  readonly devDependencies: Readonly<Record<string, string>>;
};

/** The versions of all dependencies with a rule of their own: those of actions are comments. */
const versions: Readonly<Record<string, string>> = {
  ...devDependencies,
  ...Object.fromEntries(
    Array.from(
      textOf(".github/workflows/release.yml").matchAll(/uses: (\S+)@\S+ # (\S+)/g),
      ([, name = "", version = ""]) => [name, version],
    ),
  ),
};

/** Returns the settings of an update as Renovate merges them: if several rules match, the last one wins. */
function settingsOf(name: string, updateType: string, depType = "devDependencies"): Settings {
  const includes = (list: readonly string[] | undefined, one: string) =>
    list?.includes(one) ?? true;
  const matching = config.packageRules.filter(
    ({ matchDepNames, matchDepTypes, matchUpdateTypes }) =>
      includes(matchDepNames, name) &&
      includes(matchDepTypes, depType) &&
      includes(matchUpdateTypes, updateType),
  );
  return Object.assign({}, ...matching) as Settings;
}

test("updates wait for seven days, except fixes of vulnerabilities", () => {
  expect(config.minimumReleaseAge).toBe("7 days");
  expect(config.vulnerabilityAlerts).toMatchObject({ minimumReleaseAge: null });
});

test("non-major updates are one group, and only patches of devDependencies are merged unseen", () => {
  expect(settingsOf("zod", "minor").groupName).toBe("non-major updates");
  expect(settingsOf("zod", "minor").automerge).toBeUndefined();
  expect(settingsOf("zod", "patch")).toMatchObject({
    groupName: "patches of devDependencies",
    automerge: true,
  });
  expect(settingsOf("hono", "patch", "dependencies").automerge).toBeUndefined();
  expect(settingsOf("zod", "major").groupName).toBeUndefined();
});

test.each(["peerDependencies", "engines"])("%s are never raised", (depType) => {
  expect(settingsOf("express", "major", depType).enabled).toBe(false);
});

test.each([
  ["vitest", "@stryker-mutator/vitest-runner"],
  ["@stryker-mutator/core", "@stryker-mutator/vitest-runner"],
  ["oxlint", "oxlint-tsgolint"],
])("%s and %s are raised together, and apart from all others", (one, other) => {
  for (const type of ["major", "minor", "patch"]) {
    const { groupName } = settingsOf(one, type);
    expect(groupName).toBe(settingsOf(other, type).groupName);
    expect(groupName).not.toBe(settingsOf("zod", type).groupName);
  }
});

test("the two versions of TypeScript are in groups of their own", () => {
  const groups = ["typescript", "typescript5", "zod"].map(
    (name) => settingsOf(name, "minor").groupName,
  );
  expect(new Set(groups).size).toBe(3);
});

describe.each([
  ["typescript5", "6.0.0"],
  ["@types/node", "22.0.0"],
  ["@changesets/cli", "3.0.0"],
  ["changesets/action", "2.0.0"],
  ["express4", "5.0.0"],
  ["ioredis5", "6.0.0"],
])("%s", (name, next) => {
  const { allowedVersions = "*" } = settingsOf(name, "major");

  test(`may have its version, and never ${next}`, () => {
    const version = versions[name]?.replace(/^npm:.*@/, "") ?? "";
    expect([version, next].map((one) => satisfies(one, allowedVersions))).toEqual([true, false]);
  });
});

test("each rule names dependencies that the repository has", () => {
  const names = config.packageRules.flatMap(({ matchDepNames = [] }) => matchDepNames);
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !(name in versions))).toEqual([]);
});
