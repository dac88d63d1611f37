import { isFull, sized } from "@svc-webhooks/kit/sized";
import { expect, it } from "vitest";
import { everyPlatform } from "../runtimes/every-platform.js";
import { documentedFor, pageWith, printed, ran, runContract, tableFile } from "./run-contract.js";

/** The Node of `npm test`, versions between the ends, and a server that only developers use. */
const onlyInFull = new Set(["Node", "Node 22", "Node 24", "next dev"]);

/** The platforms to run; docs/runtimes.md names the others. */
const platforms = sized(
  everyPlatform.filter(({ runtime }) => !onlyInFull.has(runtime)),
  everyPlatform,
);
const cells = runContract(platforms);

it("matches the table in the documents; SVC_SUITE=full npm run test:matrix -- -u rewrites the table", async () => {
  const table = printed(cells, platforms);
  console.log(`\n${table}`);
  if (isFull) await expect(pageWith(table)).toMatchFileSnapshot(tableFile);
  else expect(ran(cells)).toEqual(documentedFor(platforms));
});
