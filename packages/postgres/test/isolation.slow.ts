import { sized } from "@svc-webhooks/kit/sized";
import { clientKinds, pooledClientKinds, type TestStore } from "@svc-webhooks/kit/postgres-clients";
import {
  describeWithPgBouncer,
  describeWithPostgres,
  pgBouncer,
  type PgBouncer,
} from "@svc-webhooks/kit/postgres-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimed, effects, insert, keyOf, prepare, useServer } from "./support.js";

const keyCount = sized(24, 200);
const racers = Array.from({ length: 8 }, (_value, index) => `racer-${index}`);

/** Tests calls that wait for each other by default, and that the server refuses under a stricter isolation. */
function races(kind: string, open: () => TestStore): void {
  describe(`over ${kind}`, () => {
    let client: TestStore;
    beforeAll(async () => {
      client = open();
      await prepare(client);
    });
    afterAll(() => client?.close());

    test(`of 8 claims for each of ${keyCount} keys one owns it, and each transaction commits`, async () => {
      const { store } = client;
      const owners: string[] = [];
      const race = async (key: string) => {
        const results = await Promise.all(
          racers.map(async (one) => store.claim(key, claimBy(one), call)),
        );
        const won = results.flatMap((result, index) =>
          result.status === "claimed" ? [{ ...result, token: racers[index] as string }] : [],
        );
        expect(results.map(({ status }) => status)).toContain("claimed");
        for (const { token, fence } of won) {
          owners.push(key);
          const request = claimBy(token);
          expect(await store.extend(key, request, call)).toBe(true);
          await store.transaction({ idempotencyKey: key, fence }, (tx) =>
            client.queryIn(tx, insert, [key]),
          );
          expect(await store.complete(key, request, call)).toBe("owner");
        }
      };
      const keys = Array.from({ length: keyCount }, (_value, index) => keyOf(index));
      for (let index = 0; index < keys.length; index += 4) {
        await Promise.all(keys.slice(index, index + 4).map(race));
      }
      expect(owners.toSorted()).toEqual(keys);
      expect(new Set(await effects(client))).toEqual(new Set(keys));
      expect(await effects(client)).toHaveLength(keys.length);
    });

    test("a transaction in which the lease is renewed writes nothing", async () => {
      const { store } = client;
      const context = await claimed(store, { key: keyOf(1_002) });
      const renewed = store.transaction(context, async (tx) => {
        await client.queryIn(tx, insert, ["renewed"]);
        expect(await store.extend(keyOf(1_002), claimBy("a"), call)).toBe(true);
      });
      await expect(renewed).rejects.toBeInstanceOf(Error);
      expect(await effects(client)).not.toContain("renewed");
      await store.transaction(context, (tx) => client.queryIn(tx, insert, ["renewed"]));
      expect(await effects(client)).toContain("renewed");
    });

    test("of racing completions of an absent record one restores it", async () => {
      const results = await Promise.all(
        racers.map(async (one) => client.store.complete(keyOf(1_000), claimBy(one), call)),
      );
      expect(results.toSorted()).toEqual([...racers.slice(1).map(() => "already"), "restored"]);
    });

    test("of racing releases of a claim one releases it", async () => {
      await client.store.claim(keyOf(1_001), claimBy("a"), call);
      const request = { ...claimBy("a"), to: "failed" } as const;
      const results = await Promise.all(
        racers.map(async () => client.store.release(keyOf(1_001), request, call)),
      );
      expect(results.filter(Boolean)).toHaveLength(1);
    });
  });
}

describe.each(["serializable", "repeatable read"])("with the default isolation %s", (isolation) => {
  const settings = { fsync: "off", default_transaction_isolation: isolation };

  describeWithPostgres("on a server", () => {
    const server = useServer(settings);
    for (const { name, open } of clientKinds) races(name, () => open(server().connectionString));
  });

  describeWithPgBouncer("through PgBouncer", () => {
    const server = useServer(settings);
    let bouncer: PgBouncer;
    beforeAll(async () => {
      bouncer = await pgBouncer(server());
    });
    afterAll(() => bouncer?.close());
    for (const { name, open } of pooledClientKinds) {
      races(name, () => open(bouncer.connectionString));
    }
  });
});
