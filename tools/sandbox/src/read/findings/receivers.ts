import { outcomeText, outcomeTexts } from "@svc-webhooks/core/outcomes";
import { iso } from "../../lib/iso.js";
import { sentences } from "../../lib/sentences.js";
import type { World } from "../../world.js";
import type { AttemptRecord, DeliveryRecord, EndpointRecord } from "../../state/records.js";
import { isGenuine } from "../../state/tally.js";
import type { Finding } from "./finding.js";
import { receiverCode } from "../shapes.js";

/** The response time from which a receiver counts as slow, in milliseconds. Some senders already time out by then. */
const slowMs = 5_000;

/** How long findings mention a rotation after the new secret applies, in milliseconds of the sandbox's clock. */
const rotationShownMs = 86_400_000;

/** The maximum number of characters of a URL in a finding. */
const shownUrl = 200;

interface Last {
  readonly endpoint: EndpointRecord;
  readonly delivery: DeliveryRecord;
  readonly attempt: AttemptRecord;
}

/**
 * Yields a finding for each active endpoint whose newest genuine attempt failed, was slow, or ended with the receiver's
 * outcome `ignored`. The newest attempt comes first.
 */
export function* receivers(world: World): Iterable<Finding> {
  const { endpoints, deliveries, tally } = world.state;
  const last = Array.from(tally.newest).flatMap(([endpointId, { id }]): readonly Last[] => {
    const endpoint = endpoints.get(endpointId);
    const delivery = deliveries.get(id);
    const attempt = delivery?.attempts.findLast(isGenuine);
    return endpoint?.status === "active" && delivery && attempt
      ? [{ endpoint, delivery, attempt }]
      : [];
  });
  const newestFirst = last.toSorted((a, b) => b.attempt.startedAt - a.attempt.startedAt);
  for (const one of newestFirst) {
    const finding = problem(world, one);
    if (finding) yield { ...finding, item: one.delivery.id };
  }
}

function problem(world: World, last: Last): Finding | undefined {
  const { endpoint, attempt } = last;
  const isShared = isRegisteredTwice(world, endpoint);
  const url = `${endpoint.url.slice(0, shownUrl)}${isShared ? ` (${endpoint.id})` : ""}`;
  if (attempt.error) return failure(last, attempt.error, url);
  if (attempt.response && !attempt.ok) return refusal(world, last, attempt.response.status, url);
  if (receiverCode(attempt) === "ignored") return ignored(last, url);
  if (attempt.ms < slowMs) return undefined;
  const seconds = (attempt.ms / 1_000).toFixed(1);
  const happened = `The receiver at ${url} took ${seconds} s to respond.`;
  return { ...slow, severity: "warning", happened };
}

function failure(
  { endpoint, delivery, attempt }: Last,
  { kind, text: cause }: { readonly kind: string; readonly text: string },
  url: string,
): Finding {
  const path = `/_sandbox/deliveries/${delivery.id}`;
  const failed = {
    severity: "error",
    happened: `An attempt to deliver to ${url} failed.`,
    cause,
  } as const;
  switch (kind) {
    case "url_refused":
      return {
        ...failed,
        code: "url_refused",
        happened: `Nothing is sent to ${url}.`,
        fix: "Register another URL, or change A-21.",
        route: "POST /_sandbox/endpoints",
        body: { url: "…", event_types: endpoint.eventTypes },
      };
    case "refused":
      return {
        ...failed,
        code: "receiver_refused_connection",
        fix: "Start the receiver, and try again.",
        route: `POST ${path}/${delivery.state === "pending" ? "run-now" : "redeliver"}`,
      };
    case "timeout":
      return { ...failed, ...slow };
    default:
      return {
        ...failed,
        code: "receiver_fails",
        fix: "Fix the cause. The attempt shows the details.",
        route: `GET ${path}/attempts/${attempt.n}`,
      };
  }
}

const slow = {
  code: "receiver_slow",
  fix: "Make the handler faster, or set a longer timeout (A-10).",
  route: "POST /_sandbox/assumptions/A-10",
  body: { value: "timeout:60s" },
} as const;

const ignored = ({ delivery, attempt }: Last, url: string): Finding => ({
  code: "receiver_ignores",
  severity: "info",
  happened: `The receiver at ${url} responded with 200 (\`ignored\`), because it has no handler for ${delivery.type}.`,
  fix: outcomeTexts.ignored.fix,
  route: `GET /_sandbox/deliveries/${delivery.id}/attempts/${attempt.n}`,
});

function refusal(
  world: World,
  { endpoint, delivery, attempt }: Last,
  status: number,
  url: string,
): Finding {
  const code = receiverCode(attempt);
  const said = `The receiver at ${url} responded with ${status}${code === undefined ? "" : ` ${code}`}.`;
  const known = outcomeText(code ?? "");
  const path = `/_sandbox/deliveries/${delivery.id}/attempts/${attempt.n}`;
  const refused = {
    severity: "error",
    happened: sentences(said, known?.happened),
    cause: known?.cause,
    fix: known?.fix ?? "Read the receiver's response.",
    route: `GET ${path}`,
  } as const;
  if (status === 401 && (code === undefined || code === "signature_mismatch")) {
    if (isRegisteredTwice(world, endpoint)) return registeredTwice(endpoint, said);
    return {
      ...refused,
      code: "receiver_responds_4xx",
      cause: sentences(known?.cause, rotation(world, endpoint)) || undefined,
      fix: "Explain the signature that your code computes.",
      route: `POST ${path}/explain`,
      body: { value: "sha256=…" },
    };
  }
  if (status >= 500) return { ...refused, code: "receiver_responds_5xx" };
  if (status >= 400) return { ...refused, code: "receiver_responds_4xx" };
  if (status >= 300) {
    return {
      ...refused,
      code: "receiver_redirects",
      cause: sentences(known?.cause, "Redirects are not followed (A-10)."),
      fix: "Register the URL in the Location header, or make the receiver respond without a redirect.",
    };
  }
  return {
    ...refused,
    code: "receiver_fails",
    cause: sentences(known?.cause, "Only 200 counts as a success (A-10)."),
  };
}

const isRegisteredTwice = ({ state }: World, { id, url }: EndpointRecord) =>
  Array.from(state.endpoints.all()).some(
    (other) => other.id !== id && other.url === url && other.status === "active",
  );

const registeredTwice = ({ id }: EndpointRecord, said: string): Finding => ({
  code: "url_registered_twice",
  severity: "error",
  happened: said,
  cause: "More than one active endpoint has this URL, and each has its own secret.",
  fix: "Archive all but one of them, or make the receiver accept all their secrets.",
  route: `POST /_sandbox/endpoints/${id}/archive`,
});

/**
 * Returns a sentence about a recent rotation of the secret (A-19), which often causes rejected signatures. Returns
 * undefined if there was none.
 */
function rotation({ clock, ledger }: World, { previous }: EndpointRecord): string | undefined {
  const now = clock.now();
  if (!previous || now - previous.until > rotationShownMs) return undefined;
  const at = iso(previous.until);
  if (now < previous.until)
    return `The endpoint's secret was rotated: until ${at}, attempts are signed with the previous secret (A-19).`;
  const what = ledger.get("rotation").mode === "pinned" ? "new deliveries" : "attempts";
  return `The endpoint's secret was rotated: since ${at}, ${what} are signed with the new secret (A-19).`;
}
