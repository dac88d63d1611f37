import { expect, test } from "vitest";
import {
  canHappen,
  faultKinds,
  faultName,
  isFaultKind,
  placeOf,
  readFaults,
  writeFaults,
} from "../src/faults.js";
import { isAcceptable } from "../src/search/options.js";

test("crossing n has the points 2n − 1, before it is sent, and 2n, after its execution", () => {
  expect([1, 2, 3, 4].map(placeOf)).toEqual([
    { crossing: 1, isAfter: false },
    { crossing: 1, isAfter: true },
    { crossing: 2, isAfter: false },
    { crossing: 2, isAfter: true },
  ]);
});

test("faults are written and read", () => {
  const faults = [
    { kind: "crash", point: 3 },
    { kind: "response_lost", point: 12 },
  ] as const;
  expect(writeFaults(faults)).toBe("crash@3 response_lost@12");
  expect(readFaults("crash@3 response_lost@12")).toEqual(faults);
  expect(readFaults("  crash@3\n response_lost@12 ")).toEqual(faults);
});

test.each([
  ["", "nothing"],
  ["crash", "no point"],
  ["crash@0", "point 0"],
  ["crash@-1", "a negative point"],
  ["crash@03", "a leading zero"],
  ["crash@1.5", "a fraction"],
  ["crash@1234567", "a point that is too large"],
  ["kill@3", "an unknown kind"],
  ["constructor@3", "a name of every object"],
  ["crash@3,crash@4", "a comma"],
  ["crash@3 crash", "a second part that is wrong"],
  ["crash@3 crash@3", "a point twice"],
  ["crash@10 crash@9", "points that are not in order"],
])("does not read %j: %s", (text) => expect(readFaults(text)).toBeUndefined());

test.each([undefined, null, 1, "kill", "Crash", "toString", ["crash"]])(
  "%j is not a kind of fault",
  (value) => expect(isFaultKind(value)).toBe(false),
);

test("the fault `duplicate` is not read as a finding of that kind, nor the finding as a fault", () => {
  expect([isAcceptable("duplicate@1"), isAcceptable("duplicate slack")]).toEqual([false, true]);
  expect(readFaults("duplicate slack")).toBeUndefined();
  expect(readFaults("duplicate@1")).toEqual([{ kind: "duplicate", point: 1 }]);
  expect(["duplicate", "response_lost", "status"].filter(isFaultKind).map(faultName)).toEqual([
    "duplicate delivery",
    "response lost",
    "status",
  ]);
});

test("each kind can happen at the points of the design's table", () => {
  const crossings = {
    store: { kind: "store" },
    statement: { kind: "statement" },
    call: { kind: "call" },
    request: { kind: "call", isRequest: true },
  } as const;
  const points = Object.entries(crossings).flatMap(([name, crossing]) =>
    [false, true].map((isAfter) => {
      const possible = faultKinds.filter((fault) => canHappen(fault, isAfter, crossing));
      return [`${name}, ${isAfter ? "after" : "before"}`, possible.join(" ")];
    }),
  );
  expect(Object.fromEntries(points)).toEqual({
    "store, before": "crash fail duplicate slow freeze outage",
    "store, after": "crash response_lost freeze",
    "statement, before": "crash fail duplicate slow freeze",
    "statement, after": "crash response_lost freeze",
    "call, before": "crash fail duplicate slow freeze",
    "call, after": "crash response_lost freeze",
    "request, before": "crash fail status duplicate slow freeze",
    "request, after": "crash response_lost freeze",
  });
});
