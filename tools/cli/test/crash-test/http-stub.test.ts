import { expect, onTestFinished, test } from "vitest";
import { Crossings } from "../../src/crash-test/crossings.js";
import { httpServer } from "../../src/crash-test/proxies/http.js";
import { respondAsStub } from "../../src/crash-test/stub-server.js";

test("a stub keeps no body, and compares large ones by their digest", async () => {
  const actions = { kill: () => Promise.resolve(), freeze: () => Promise.resolve() };
  const crossings = new Crossings([], [], actions);
  crossings.begin();
  crossings.recorder.attempt({ event: 0, n: 1, isCopy: false, process: "A" });
  const kept: number[] = [];
  const { port, close } = await httpServer({
    process: "A",
    name: "FILES_URL",
    path: "",
    crossings,
    respond(request) {
      kept.push(request.body.length);
      return respondAsStub(request);
    },
    ignoresBody: true,
  });
  onTestFinished(close);
  const body = Buffer.alloc(8 * 2 ** 20, "a");
  const other = Buffer.concat([body.subarray(1), Buffer.from("b")]);
  for (const one of [body, body, other]) {
    const response = await fetch(`http://127.0.0.1:${port}/a`, { method: "PUT", body: one });
    expect(response.status).toBe(200);
  }
  expect(kept).toEqual([0, 0, 0]);
  // The same request has the same key, so that whichever event sends it first, it counts once.
  const [first, same, changed] = crossings.recorder.calls.map(({ key }) => key);
  expect(same).toBe(first);
  expect(changed).not.toBe(first);
  expect(crossings.recorder.crossings.map(({ key }) => key)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
