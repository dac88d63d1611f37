import { expect, test, vi } from "vitest";
import { declarationsOf } from "./declarations.js";
import { publicPackages } from "@svc-webhooks/kit/workspace";

// The module exists only on Workers.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object }));

const entries = publicPackages.flatMap((one) => one.entries);

test.each(entries)("%s exports what the snapshot lists", async (entry) => {
  const { exports } = declarationsOf(entry);
  const values = exports.filter(({ isType }) => !isType).map(({ name }) => name);
  const module = (await import(entry)) as object;
  expect(Object.keys(module).toSorted()).toEqual(values);
  const lines = exports.map(({ name, isType }) => (isType ? `type ${name}` : name));
  expect(lines.join("\n")).toMatchSnapshot();
});
