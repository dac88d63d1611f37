import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { format, resolveConfig } from "prettier";
import { expect, test } from "vitest";
import { statuses } from "../src/outcome.js";
import { outcomeText, outcomeTexts, pageLink } from "../src/outcomes.js";

test("docs/troubleshooting.md explains every code (npx vitest run packages/core/test/outcome-texts.test.ts -u writes it)", async () => {
  const file = join(root, "docs/troubleshooting.md");
  // The order of the outcomes, then that of the warnings.
  const inOrder = Object.assign({}, statuses, outcomeTexts) as typeof outcomeTexts;
  const sections = Object.entries(inOrder).map(
    ([code, { happened, cause, fix }]) =>
      `### \`${code}\`\n\n${happened}\n\n${cause && `**Likely cause:** ${cause}\n\n`}**Fix:** ${fix}\n\n`,
  );
  const text = readFileSync(file, "utf8");
  const written = text.replace(
    /^## Every code\n[^]*/m,
    () => `## Every code\n\n${sections.join("")}`,
  );
  const options = await resolveConfig(file);
  await expect(await format(written, { ...options, filepath: file })).toMatchFileSnapshot(file);
});

test("every outcome has a text in whole sentences, and a link to its section", () => {
  expect(Object.keys(outcomeTexts)).toEqual(expect.arrayContaining(Object.keys(statuses)));
  for (const [code, { happened, cause, fix, link }] of Object.entries(outcomeTexts)) {
    for (const text of [happened, cause, fix].filter(Boolean)) expect(text).toMatch(/^[A-Z`].*\.$/);
    expect(link).toBe(pageLink("docs/troubleshooting", code));
  }
});

test("a code from elsewhere has a text only if it is one of this package", () => {
  expect(outcomeText("duplicate")).toBe(outcomeTexts.duplicate);
  for (const code of ["toString", "__proto__", ""]) expect(outcomeText(code)).toBeUndefined();
});

test("a scheme's texts name its sender and headers, and the others stay", () => {
  const scheme = {
    name: "acme",
    headers: ["x-acme"],
    form: "v1=<64 hex digits>",
    inspect: () => ({}),
    importKey: () => ({ verify: () => true }),
    identify: () => ({}),
  };
  expect(outcomeText("signature_malformed", scheme)).toMatchObject({
    happened: "x-acme does not have the form v1=<64 hex digits>.",
    fix: expect.stringContaining("acme"),
    link: outcomeTexts.signature_malformed.link,
  });
  expect(outcomeText("duplicate", scheme)).toBe(outcomeTexts.duplicate);
});
