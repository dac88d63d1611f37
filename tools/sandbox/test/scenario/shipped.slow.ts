import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runScenario, type ScenarioReport } from "@svc-webhooks/sandbox";
import { root } from "@svc-webhooks/kit/programs";
import { describe, expect, test } from "vitest";
import { newFile } from "../support.js";
import { handWritten, newSecret, oldSecret, rightReceiver, type Mistakes } from "./receivers.js";

const folder = join(root, "tools/sandbox/scenarios");
const read = (name: string): unknown =>
  JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));

const secrets = [oldSecret, newSecret];

const failed = ({ results }: ScenarioReport) =>
  results.filter(({ met }) => !met).map(({ step, found }) => ({ step, found }));

/** Each scenario, and a receiver whose mistake it finds. */
const planted: Readonly<Record<string, readonly [Mistakes, RegExp]>> = {
  "rotation-under-load": [{ secrets: [oldSecret] }, /5 × status 401/],
  "receiver-down-for-a-day": [{ duplicates: 500 }, /1 × status 500/],
  "reordered-and-duplicated": [{ duplicates: 500 }, /× status 500/],
  "slow-receiver": [{ hangs: true }, /3 × timeout/],
  "archived-in-the-middle": [{ sameEmail: 409 }, /× status 409/],
};

test("each scenario of the package has its test here", () => {
  const names = readdirSync(folder).map((file) => file.replace(/\.json$/, ""));
  expect(names.toSorted()).toEqual(Object.keys(planted).toSorted());
  for (const name of names) expect(read(name)).toMatchObject({ version: 1, name });
});

describe.each(Object.entries(planted))("%s", (name, [mistakes, mistake]) => {
  test("is met by a receiver on Express", async () => {
    const report = await runScenario(read(name), { to: await rightReceiver(), secrets });
    expect(failed(report)).toEqual([]);
    expect([report.met, report.ran]).toEqual([true, report.steps]);
    expect(report.results.length).toBeGreaterThan(8);
  });

  test("is met by a hand-written receiver without mistakes", async () => {
    const { met } = await runScenario(read(name), { to: await handWritten({}), secrets });
    expect(met).toBe(true);
  });

  test("is not met by a receiver with a mistake, and reports its result", async () => {
    const to = await handWritten(mistakes);
    const patienceMs = mistakes.hangs ? 50 : undefined;
    const report = await runScenario(read(name), { to, secrets, patienceMs });
    expect(report.met).toBe(false);
    expect(failed(report)[0]?.found).toMatch(mistake);
  });

  test("leads to the same report twice, on another port, and after a restart with data", async () => {
    const data = newFile();
    const run = async (options: object, wrong: boolean) => {
      const to = wrong
        ? await handWritten({ duplicates: 500, sameEmail: 409 })
        : await rightReceiver();
      return JSON.stringify(await runScenario(read(name), { to, secrets, ...options }));
    };
    for (const wrong of [false, true]) {
      const first = await run({}, wrong);
      expect(await run({}, wrong)).toBe(first);
      expect(await run({ data }, wrong)).toBe(first);
      expect(await run({ data }, wrong)).toBe(first);
    }
  });
});

test("a receiver that only accepts the new secret fails the rotation", async () => {
  const to = await handWritten({ secrets: [newSecret] });
  const report = await runScenario(read("rotation-under-load"), { to, secrets });
  expect(failed(report)[0]).toMatchObject({ found: expect.stringMatching(/10 × status 401/) });
});

test("a receiver that is not there is reported without its port", async () => {
  const report = await runScenario(read("slow-receiver"), { to: "http://127.0.0.1:9/", secrets });
  expect(report.met).toBe(false);
  expect(JSON.stringify(report)).toMatch(/3 × refused/);
  expect(JSON.stringify(report)).not.toMatch(/127\.0\.0\.1|:9\//);
});
