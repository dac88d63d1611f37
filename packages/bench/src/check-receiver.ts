import { randomUUID } from "node:crypto";
import type { Delivered } from "./copies.js";
import { deliveryOf } from "./deliveries.js";

/** Takes a delivery, answers the status to send. */
export type Receive = (delivery: Delivered) => Promise<number>;

/** A contender with this handler for the events of `deliveries.ts`. */
export type MakeReceiver = (handle: () => void | Promise<void>) => Receive;

/** Throws unless the contender does what receivers are for: who does less is faster, and no contender. */
export async function checkReceiver(make: MakeReceiver): Promise<void> {
  let runs = 0;
  let work: (() => void | Promise<void>) | undefined;
  const receive = make(() => {
    runs += 1;
    return work?.();
  });

  const expect = async (what: string, answer: Promise<number>, status: number, total: number) => {
    const got = `${await answer}, ${runs} runs so far`;
    const wanted = `${status}, ${total} runs so far`;
    if (got !== wanted) throw new Error(`${what}: answered ${got}; right is ${wanted}`);
  };

  const first = await genuine();
  await expect("tampered", receive(tampered(first)), 401, 0);
  await expect("new", receive(first), 200, 1);
  await expect("duplicate", receive(first), 200, 1);
  await expect("tampered duplicate", receive(tampered(first)), 401, 1);

  const second = await genuine();
  let end: (() => void) | undefined;
  const began = new Promise<void>((resolve) => {
    work = () => {
      resolve();
      return new Promise<void>((done) => (end = done));
    };
  });
  const running = receive(second);
  await Promise.race([began, running]);
  await expect("copy of what runs", receive(second), 503, 2);
  end?.();
  await expect("what ran", running, 200, 2);
  await expect("duplicate of what ran", receive(second), 200, 2);

  const third = await genuine();
  work = () => Promise.reject(new Error("as planned"));
  await expect("failed", receive(third), 500, 3);
  work = undefined;
  await expect("next attempt", receive(third), 200, 4);
}

async function genuine(): Promise<Delivered> {
  const { headers, body } = await deliveryOf(1_024, `dlv_${randomUUID()}`);
  return { headers, body: Buffer.from(body) };
}

function tampered({ headers, body }: Delivered): Delivered {
  return { headers, body: Buffer.from(body.toString().replace("Thank", "thank")) };
}
