import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { root } from "@svc-webhooks/kit/programs";
import { textOf } from "../suites.js";

const folder = ".github/ISSUE_TEMPLATE";
const forms = readdirSync(join(root, folder)).filter((file) => file !== "config.yml");

/** An element of a form. */
interface Field {
  readonly type: string;
  readonly id?: string;
  readonly attributes: { readonly label?: string; readonly value?: string };
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly Field[];
}

const read = (file: string): unknown => parse(textOf(`${folder}/${file}`));

test.each(forms)("%s is a form that the forge accepts", (file) => {
  const { name, description, body } = read(file) as Form;
  expect([name, description]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
  const fields = body.filter(({ type }) => type !== "markdown");
  const ids = fields.map(({ id }) => id);
  expect(fields.length).toBeGreaterThan(0);
  expect([...new Set(ids)]).toEqual(ids);
  const bad = body.filter(({ type, id, attributes: { label, value } }) =>
    type === "markdown"
      ? !value
      : !/^(?:input|textarea|dropdown|checkboxes|upload)$/.test(type) ||
        !/^[\w-]+$/.test(id ?? "") ||
        !label,
  );
  expect(bad).toEqual([]);
});

test("the bug report warns against secrets, and requests what a maintainer needs first", () => {
  const { body } = read("bug.yml") as Form;
  expect(body[0]?.attributes.value).toContain("Do not paste secrets");
  expect(body.map(({ id }) => id)).toEqual(
    expect.arrayContaining(["outcome", "log", "versions", "runtime", "doctor"]),
  );
});

test("config.yml sends other questions to pages of the repository that exist", () => {
  const { blank_issues_enabled, contact_links } = read("config.yml") as {
    readonly blank_issues_enabled: boolean;
    readonly contact_links: readonly Readonly<Record<"name" | "url" | "about", string>>[];
  };
  expect(blank_issues_enabled).toBe(false);
  const repository = "https://github.com/svc-webhooks/svc-webhooks";
  for (const { name, url, about } of contact_links) {
    expect([name, about]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
    expect(url.startsWith(`${repository}/`)).toBe(true);
    const [, page] = /\/blob\/main\/(.*)$/.exec(url) ?? [];
    if (page !== undefined) expect(textOf(page)).not.toBe("");
  }
});
