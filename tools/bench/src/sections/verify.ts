import { bodyOf, secret } from "../deliveries.js";
import { spreadOf, type Race } from "../race.js";
import type { RunSection } from "../sections.js";
import { ratesInTurns } from "../turns.js";
import { floor, ours, peers, type Verifier } from "../verifiers.js";

const lane = "svc-webhooks";
const floorName = "createHmac + timingSafeEqual";
const verifiers: Readonly<Record<string, Verifier>> = {
  [floorName]: floor,
  [lane]: ours,
  ...peers,
};
const sizes = { "0.5 kB": 512, "2 kB": 2_048, "16 kB": 16_384, "256 kB": 262_144 };

export const run: RunSection = async (quick) => {
  const races: Race[] = [];
  for (const [size, bytes] of Object.entries(sizes)) {
    const body = bodyOf(bytes);
    const checks = Object.entries(verifiers).map(([name, verifier]) => {
      const check = verifier(body, secret);
      return [name, () => check(body)] as const;
    });
    const lanes = await ratesInTurns(Object.fromEntries(checks), quick ? 1 : 60, quick ? 1 : 8);
    const [fastest] = lanes
      .filter(({ name }) => Object.hasOwn(peers, name))
      .toSorted((a, b) => spreadOf(b.values).median - spreadOf(a.values).median);
    races.push({
      title: `verify, ${size}`,
      unit: "/s",
      reference: floorName,
      lanes,
      bars: [
        { lane, against: floorName, atLeast: 0.9, aim: bytes > 2_048 ? 1 : 1.05 },
        { lane, against: fastest?.name ?? floorName, atLeast: 1, aim: 1.05 },
      ],
    });
  }
  return { title: "Verify", races };
};
