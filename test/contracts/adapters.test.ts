import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { platforms } from "../runtimes/platforms.js";
import { documented, documentedFor, ran, runContract, servedBy } from "./run-contract.js";

it("runs on exactly the platforms that the documents name", () => {
  expect([...documented().keys()]).toEqual(expect.arrayContaining(platforms.flatMap(servedBy)));
  const page = readFileSync(new URL("../../docs/runtimes.md", import.meta.url), "utf8");
  const [, named] = /^npm test +# (.+)$/m.exec(page) ?? [];
  expect(platforms.map(({ runtime }) => runtime)).toEqual(named?.split(", "));
});

const cells = runContract(platforms);

it("passes as many cases as the documents state", () => {
  expect(ran(cells)).toEqual(documentedFor(platforms));
});
