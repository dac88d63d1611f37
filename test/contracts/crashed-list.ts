import {
  createIntake,
  createReceiver,
  type DeliveryContext,
  type DeliveryStore,
} from "@svc-webhooks/core";
import { secret, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { seeded } from "@svc-webhooks/kit/random";
import { patient } from "@svc-webhooks/kit/receivers";
import { storeThrough } from "@svc-webhooks/kit/store-through";
import { expect } from "vitest";

/** A database with a store and a table of effects. */
export interface ListWorld {
  readonly store: DeliveryStore;
  readonly advance: (ms: number) => unknown;
  /** Commits an effect and the completion of a run in one transaction. */
  readonly apply: (context: DeliveryContext, effect: string) => unknown;
  readonly effects: () => Promise<readonly string[]>;
}

const leaseMs = 300_000;
const limits = { leaseMs, handlerTimeoutMs: leaseMs - 5_000 };
const never = new Promise<never>(() => {});

/** A process that receives lists. With `crashAt`, it dies when it runs that item, before or after the commit. */
function processOf({ store, apply }: ListWorld, crashAt?: string, isLate?: boolean) {
  const calls = { list: 0, items: 0 };
  const died = gate();
  let isDead = false;
  const counting = (of: keyof typeof calls) =>
    storeThrough(store, async (send) => {
      if (isDead) return never;
      calls[of] += 1;
      return send();
    });
  const die = () => {
    isDead = true;
    died.open();
    return never;
  };
  const shared = { onParked: () => {}, log: () => {}, storeTimeouts: patient };
  const items = createIntake({
    ...shared,
    name: "items",
    store: counting("items"),
    sources: ["list"],
    on: {
      item: async ({ id }, context) => {
        if (id === crashAt && !isLate) await die();
        await apply(context, String(id));
        if (id === crashAt) await die();
      },
    },
  });
  const { receive } = createReceiver({
    ...shared,
    ...limits,
    secret,
    name: "lists",
    store: counting("list"),
    on: {
      list: items.each(({ ids }) =>
        (ids as string[]).map((id) => ({ source: "list", id, body: { type: "item", id } })),
      ),
    },
  });
  return { receive, calls, died: died.opened };
}

/** Crashes at a random item of a list, and checks the effects and the calls of this and the following attempts. */
export async function checkCrashedList(
  world: ListWorld,
  seed: number,
  length: number,
): Promise<void> {
  const random = seeded(`${seed}/list`);
  const at = random.between(0, length - 1);
  const isLate = random.chance(0.5);
  const ids = Array.from({ length }, (_, index) => `${seed}-${index}`);
  const body = JSON.stringify({ type: "list", ids });
  const delivery = await signed(body, { "x-svc-delivery-id": `list-${seed}` });

  const first = processOf(world, ids[at], isLate);
  void first.receive(delivery);
  await first.died;
  expect(first.calls).toEqual({ list: 1, items: 2 * at + 1 });

  await world.advance(leaseMs + 1);
  const next = processOf(world);
  expect(await next.receive(delivery)).toMatchObject({ code: "processed", run: 2 });
  const done = isLate ? at + 1 : at;
  expect(next.calls).toEqual({ list: 2, items: done + 2 * (length - done) });
  expect((await next.receive(delivery)).code).toBe("duplicate");
  expect(next.calls.list).toBe(3);

  const effects = (await world.effects()).filter((effect) => effect.startsWith(`${seed}-`));
  expect(effects.toSorted()).toEqual(ids.toSorted());
}
