import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { adapterContract } from "@svc-webhooks/testing/adapter";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Served } from "@svc-webhooks/kit/launch";
import { tableOf } from "@svc-webhooks/kit/tables";
import type { Platform } from "../runtimes/platforms.js";

/** The page with the table that lists the number of passed cases by adapter and runtime. */
export const tableFile = fileURLToPath(new URL("../../docs/runtimes.md", import.meta.url));

// Renamed, because the linter treats every call of `it` as a test in this file.
const register = it;

type Cells = Map<string, Map<string, number>>;

/** Registers the contract for each platform. As the cases pass, their numbers are added to the returned map. */
export function runContract(platforms: readonly Platform[]): Cells {
  const cells: Cells = new Map();
  describe.each(platforms)("on $runtime", ({ runtime, adapters, checks, start }) => {
    let served: Served;
    beforeAll(async () => {
      served = await start();
    });
    afterAll(() => served?.close());

    for (const [adapter, path] of Object.entries(adapters)) {
      const row = cells.get(adapter) ?? new Map<string, number>();
      cells.set(adapter, row);
      const counting = (title: string, body: () => Promise<void>) =>
        register(title, async () => {
          await expect(body()).resolves.toBeUndefined();
          row.set(runtime, (row.get(runtime) ?? 0) + 1);
        });
      adapterContract({ describe, it: counting }, adapter, (_receiver, bodyMiddleware) => ({
        url: `${served.origin}/${path}/${bodyMiddleware}`,
      }));
    }

    it.each(checks)("$title", async ({ check }) => {
      expect(await check(served)).toBeUndefined();
    });
  });
  return cells;
}

/** Formats the cells as the table in the documentation. */
export function printed(cells: Cells, platforms: readonly Platform[]): string {
  const runtimes = platforms.map(({ runtime }) => runtime);
  const rows = Array.from(cells, ([adapter, row]) => [
    adapter,
    ...runtimes.map((runtime) => String(row.get(runtime) ?? "")),
  ]);
  const line = (texts: readonly string[]) => `| ${texts.join(" | ")} |\n`;
  const head = ["adapter", ...runtimes];
  const table = [head, head.map((_, index) => (index ? "--:" : "---")), ...rows];
  return table.map(line).join("");
}

/** Returns the page with another table. */
export const pageWith = (table: string): string =>
  readFileSync(tableFile, "utf8").replace(/(?:^\|.*\|\n)+/m, () => table);

/** Returns the cells of the documented table: the number of cases by `adapter on runtime`. */
const documented = (): ReadonlyMap<string, number> =>
  new Map(
    tableOf("docs/runtimes.md", "adapter").flatMap(({ adapter, ...row }) =>
      Object.entries(row)
        .filter(([, passed]) => passed !== "")
        .map(([runtime, passed]) => [`${adapter} on ${runtime}`, Number(passed)] as const),
    ),
  );

/** Returns the cells in the same form, of the platforms that have run. */
export const ran = (cells: Cells): ReadonlyMap<string, number> =>
  new Map(
    Array.from(cells, ([adapter, row]) =>
      Array.from(row, ([runtime, passed]) => [`${adapter} on ${runtime}`, passed] as const),
    ).flat(),
  );

/** Returns the documented cells of these platforms. */
export const documentedFor = (platforms: readonly Platform[]): ReadonlyMap<string, number> => {
  const all = documented();
  return new Map(platforms.flatMap(servedBy).map((cell) => [cell, Number(all.get(cell))]));
};

/** Returns a platform's adapters, named as in {@link documented}. */
const servedBy = ({ runtime, adapters }: Platform): readonly string[] =>
  Object.keys(adapters).map((adapter) => `${adapter} on ${runtime}`);
