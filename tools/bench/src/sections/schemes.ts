import { bodyOf } from "../deliveries.js";
import type { Race } from "../race.js";
import { lane, senders } from "../schemes.js";
import type { RunSection } from "../sections.js";
import { ratesInTurns } from "../turns.js";

const limitOfWebCrypto =
  "The scheme also checks the time and the form of each header, and decodes the signature. WebCrypto alone receives the decoded bytes.";

export const run: RunSection = async (quick) => {
  const races: Race[] = [];
  for (const [sender, contenders] of Object.entries(senders)) {
    const body = bodyOf(2_048);
    const checks = Object.entries(await contenders(body)).map(
      ([name, check]) => [name, () => check(body)] as const,
    );
    const lanes = await ratesInTurns(Object.fromEntries(checks), quick ? 1 : 60, quick ? 1 : 12);
    races.push({
      title: `scheme ${sender}, 2 kB`,
      unit: "/s",
      reference: lane,
      lanes,
      bars: lanes
        .filter(({ name }) => name !== lane)
        .map(({ name: against }) => ({
          lane,
          against,
          atLeast: 0.9,
          aim: 1,
          ...(against === "WebCrypto" && { limit: limitOfWebCrypto }),
        })),
    });
  }
  return { title: "Schemes", races };
};
