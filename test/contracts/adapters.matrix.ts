import { expect, it } from "vitest";
import { platforms } from "../runtimes/platforms.js";
import { printed, runContract, tableFile } from "./run-contract.js";

const cells = runContract(platforms);

it("matches the table in the documents; npm run test:matrix -- -u rewrites the table", async () => {
  const table = printed(cells, platforms);
  console.log(`\n${table}`);
  await expect(table).toMatchFileSnapshot(tableFile);
});
