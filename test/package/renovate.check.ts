import json5 from "json5";
import { satisfies } from "semver";
import { expect, test } from "vitest";
import { textOf } from "../suites.js";

interface Rule {
  readonly matchDepNames?: readonly string[];
  readonly allowedVersions?: string;
}

const { packageRules } = json5.parse<{ readonly packageRules: readonly Rule[] }>(
  textOf(".github/renovate.json5"),
);
const { devDependencies } = JSON.parse(textOf("package.json")) as {
  readonly devDependencies: Readonly<Record<string, string>>;
};
const actions = textOf(".github/workflows/release.yml").matchAll(/uses: (\S+)@\S+ # (\S+)/g);

/** The versions of all dependencies with a rule of their own. Those of actions are comments. */
const versions: Readonly<Record<string, string>> = {
  ...devDependencies,
  ...Object.fromEntries(Array.from(actions, ([, name = "", version = ""]) => [name, version])),
};

const named = packageRules.flatMap(({ matchDepNames = [], allowedVersions = "*" }) =>
  matchDepNames.map((name) => [name, allowedVersions] as const),
);

test.each(named)(
  "Renovate's rule for %s names a dependency, and allows its version",
  (name, allowed) => {
    const version = versions[name]?.replace(/^npm:.*@/, "") ?? "";
    expect([version, satisfies(version, allowed)]).toEqual([expect.stringMatching(/^\d/), true]);
  },
);
