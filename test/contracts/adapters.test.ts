import { expect, it } from "vitest";
import { platforms } from "../runtimes/platforms.js";
import { documented, runContract } from "./run-contract.js";

const cells = runContract(platforms.filter(({ onlyInMatrix }) => !onlyInMatrix));

it("has passed as many cases as the documents say", () => {
  for (const [adapter, row] of cells) {
    for (const [runtime, passed] of row) {
      expect({ adapter, runtime, passed }).toEqual({
        adapter,
        runtime,
        passed: documented(adapter, runtime),
      });
    }
  }
});
