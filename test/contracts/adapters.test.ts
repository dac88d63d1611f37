import { expect, it } from "vitest";
import { host } from "../runtimes/platforms.js";
import { documentedFor, ran, runContract } from "./run-contract.js";

const cells = runContract([host]);

it("passes as many cases as the documents state", () => {
  expect(ran(cells)).toEqual(documentedFor([host]));
});
