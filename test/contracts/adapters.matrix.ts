import { expect, it } from "vitest";
import { everyPlatform } from "../runtimes/every-platform.js";
import { printed, runContract, tableFile } from "./run-contract.js";

const cells = runContract(everyPlatform);

it("matches the table in the documents; npm run test:matrix -- -u rewrites the table", async () => {
  const table = printed(cells, everyPlatform);
  console.log(`\n${table}`);
  await expect(table).toMatchFileSnapshot(tableFile);
});
