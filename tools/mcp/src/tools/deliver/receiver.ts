import { randomUUID } from "node:crypto";
import {
  finding,
  isSuccess,
  lostReply,
  newEventId,
  sender,
  sentEmail,
  signingOf,
  tamper,
  type Finding,
  type Probe,
  type Reply,
  type SignedDelivery,
  type Signing,
} from "@svc-webhooks/cli/workbench";
import type { World } from "../../world.js";
import { happenedOf, resultOf } from "../texts.js";
import type { Report } from "../tool.js";
import type { DeliveryMode, DeliveryTamper } from "./modes.js";

interface Input {
  readonly url: string;
  readonly mode: DeliveryMode;
  readonly secret?: string | undefined;
  readonly type: string;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly tamper: DeliveryTamper;
}

/** How long a receiver may take to respond, in milliseconds. */
const timeoutMs = 15_000;

/** The response to one delivery, as listed in the result. The status is null if there was no response. */
interface Response {
  readonly sent: string;
  readonly status: number | null;
  readonly outcome?: string;
  readonly ms: number;
}

/** Sends deliveries to a receiver, one after the other, and judges the responses. */
export async function toReceiver(
  { hosts, secrets, clock }: World,
  input: Input,
  signal: AbortSignal,
): Promise<Report<{ readonly to: "receiver"; readonly responses: Response[] }>> {
  const target = hosts.target(input.url);
  const signing = signingOf({ secret: secrets.get(input.secret) });
  const send = sender({
    target,
    deliver: signing.deliver,
    timeoutMs,
    signal,
    onSkew: () => {},
  });
  const bodyAt = (ms: number) => bodyOf(input, new Date(ms).toISOString());
  const now = clock.now();
  const replies: Reply[] = [];
  for (const probe of await probesOf(input, signing, bodyAt, now)) replies.push(await send(probe));
  const wrong = mistakeIn(input, replies);
  const responses = replies.map(({ name, status, code, ms }) => ({
    sent: name,
    status,
    ...(code && { outcome: code }),
    ms,
  }));
  const facts = { to: "receiver" as const, responses };
  if (!wrong) {
    // Omits the outcome of a tampered delivery: the outcome's texts would present the correct refusal as a mistake.
    const code = input.mode === "tampered" ? undefined : replies.at(-1)?.code;
    const { next, ...otherwise } = expected[input.mode];
    return {
      ok: true,
      ...resultOf(code, otherwise),
      facts,
      next_step: next,
    };
  }
  const { id, happened, cause, fix } = wrong;
  return {
    ok: false,
    code: id,
    happened: happenedOf(id, "The receiver did not respond as it must."),
    cause,
    fix,
    facts,
    untrusted: [["response", happened] as const],
    next_step: "Apply the fix, then call deliver again. doctor examines the receiver as a whole.",
  };
}

const expected: Readonly<
  Record<DeliveryMode, { readonly code: string; readonly happened: string; readonly next: string }>
> = {
  signed: {
    code: "accepted",
    happened: "The receiver accepted the delivery.",
    next: "Call deliver with the modes tampered and duplicate.",
  },
  tampered: {
    code: "refused",
    happened: "The receiver refused the delivery, as it must.",
    next: "Call deliver with the mode signed, to check that genuine deliveries are accepted.",
  },
  duplicate: {
    code: "accepted",
    happened: "The receiver accepted both copies.",
    next: "Check in the receiver's log or database that the handler ran only once.",
  },
  reordered: {
    code: "accepted",
    happened: "The receiver accepted both events.",
    next: "Check in the receiver's database that the older event did not overwrite the newer one.",
  },
};

async function probesOf(
  { mode, tamper: kind }: Input,
  signing: Signing,
  bodyAt: (ms: number) => Uint8Array,
  now: number,
): Promise<readonly Probe[]> {
  const body = bodyAt(now);
  const deliveryId = `dlv_mcp_${randomUUID()}`;
  if (mode === "signed") return [{ name: "a genuine delivery", body }];
  if (mode === "duplicate") {
    return [
      { name: "a genuine delivery", body, deliveryId },
      { name: "the same delivery again", body, deliveryId, attempt: 2 },
    ];
  }
  if (mode === "reordered") {
    return [
      { name: "the newer event", body },
      { name: "the older event", body: bodyAt(now - 60_000) },
    ];
  }
  const [, name, change] = tampers[kind];
  return [{ name, ...(await change(await signing.deliver(body))) }];
}

/** The finding about a receiver that accepts a tampered delivery, the name of this delivery, and the change. */
type Tampering = readonly [
  accepted: Finding["id"],
  name: string,
  change: (delivery: SignedDelivery) => SignedDelivery | Promise<SignedDelivery>,
];

const tampers: Readonly<Record<DeliveryTamper, Tampering>> = {
  wrong_secret: [
    "wrong_secret_accepted",
    "a delivery signed with another secret",
    (delivery) => tamper.wrongSecret(delivery),
  ],
  flipped_byte: ["altered_body_accepted", "a delivery with a changed byte", tamper.flippedByte],
  missing_prefix: ["prefix_not_checked", "a signature without sha256=", tamper.missingPrefix],
  missing_header: [
    "unsigned_accepted",
    "a delivery without a signature",
    (delivery) => tamper.missingHeader(delivery),
  ],
};

/** Returns the mistake that the responses show, or undefined if they show none. */
function mistakeIn({ mode, tamper: kind }: Input, replies: readonly Reply[]): Finding | undefined {
  const lost = replies.map((reply) => lostReply(reply)).find((loss) => loss !== undefined);
  if (lost) return lost;
  const happened = replies
    .map(({ name, status }) => `${name}: status ${String(status)}.`)
    .join(" ");
  const [first, second] = replies;
  if (!first) return undefined;
  if (mode === "tampered") {
    if (isSuccess(first)) return finding(tampers[kind][0], happened);
    return (first.status ?? 0) >= 500 ? finding("forgery_is_an_error", happened) : undefined;
  }
  const refused = replies.find((reply) => !isSuccess(reply));
  if (refused && mode === "duplicate" && refused !== first)
    return finding("duplicate_refused", happened);
  if (refused) return finding(refused.code ?? refusalOf(refused), happened);
  const ranTwice =
    mode === "duplicate" && first.code === "processed" && second?.code === "processed";
  return ranTwice ? finding("duplicate_ran", happened) : undefined;
}

/** Returns the id of the finding about a genuine delivery that was refused without an outcome code. */
function refusalOf({ status }: Reply) {
  if (status === 404 || status === 405) return "not_found";
  return status === 401 ? "wrong_secret" : "genuine_failed";
}

function bodyOf({ type, data = sentEmail }: Input, created_at: string): Uint8Array {
  const event = { event_id: newEventId(), type, created_at, data };
  return new TextEncoder().encode(JSON.stringify(event));
}
