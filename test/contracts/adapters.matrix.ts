import { expect, it } from "vitest";
import { platforms } from "../runtimes/platforms.js";
import { runContract, tableFile, tableOf } from "./run-contract.js";

const cells = runContract(platforms);

it("is what the documents say; write it anew with npm run test:matrix -- -u", async () => {
  const table = tableOf(cells, platforms);
  console.log(`\n${table}`);
  await expect(table).toMatchFileSnapshot(tableFile);
});
