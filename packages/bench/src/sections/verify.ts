import { createRequire } from "node:module";
import type * as Core from "@svc-webhooks/core";
import { eventOf, secret } from "../deliveries.js";
import { takeTurns, type Work } from "../in-process.js";
import { spreadOf, type Bar, type Lane, type Race } from "../race.js";
import type { RunSection } from "../section.js";
import { bundled } from "../size/bundle.js";
import { floor, ours } from "../verifiers/ours.js";
import { octokitMethods, standardWebhooks, stripe, svix, tern } from "../verifiers/peers.js";
import { prove, type Verifier } from "../verifiers/verifier.js";

const peers = [octokitMethods, stripe, standardWebhooks, svix, tern];

/** What runs on workers, here on Node: the core with WebCrypto instead of `node:crypto`. */
async function coreForWorkers(): Promise<typeof Core> {
  const core = createRequire(import.meta.url).resolve("@svc-webhooks/core");
  const code = await bundled({ code: `export * from ${JSON.stringify(core)}` });
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as typeof Core;
}

export const verify: RunSection = async ({ quick }) => {
  const pace = quick ? { rounds: 1, turnMs: 1 } : { rounds: 60, turnMs: 8 };
  const onNode = ours("svc-webhooks");
  const onWebCrypto = ours("svc-webhooks, WebCrypto", (await coreForWorkers()).verify);
  const verifiers = [floor, onNode, onWebCrypto, ...peers];
  const races: Race[] = [];
  for (const [size, bytes] of Object.entries(sizes)) {
    const body = Buffer.from(JSON.stringify(eventOf(bytes)));
    const contenders: Record<string, Work> = {};
    for (const { name, prepare } of verifiers) {
      const check = prepare(body, secret);
      await prove(name, check, body);
      contenders[name] = () => check(body);
    }
    const lanes = await takeTurns(contenders, pace);
    races.push({
      title: `verify, ${size}`,
      unit: "µs per call",
      better: "less",
      reference: floor.name,
      lanes,
      bars: [
        { lane: onNode.name, against: floor.name, atLeast: 0.9, aim: bytes > 2_048 ? 1 : 1.05 },
        aheadOf(fastest(lanes), onNode),
      ],
    });
  }
  return { title: "Verify", about, races };
};

const sizes = { "0.5 kB": 512, "2 kB": 2_048, "16 kB": 16_384, "256 kB": 262_144 };

const aheadOf = ({ name }: Lane, { name: lane }: Verifier): Bar => ({
  lane,
  against: name,
  atLeast: 1,
  aim: 1.05,
});

const median = ({ values }: Lane) => spreadOf(values).median;

/** All of them check the header strictly: a signature of another form is refused. */
function fastest(lanes: readonly Lane[]): Lane {
  const names = new Set(peers.map(({ name }) => name));
  const [first] = lanes
    .filter(({ name }) => names.has(name))
    .toSorted((a, b) => median(a) - median(b));
  if (!first) throw new Error("no peer took part");
  return first;
}

const about = `Whether a body is genuine, by its bytes, the header and a secret given as text. Every contender has to accept a genuine body and to refuse one with a bit turned before it is timed. The floor has no checks of its own; Standard Webhooks and Stripe sign a time with the body, so their signatures cover some bytes more.`;
