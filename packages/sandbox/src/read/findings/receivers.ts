import { outcomeText, outcomeTexts } from "@svc-webhooks/core/outcomes";
import { iso } from "../../lib/iso.js";
import type { World } from "../../world.js";
import type { AttemptRecord, DeliveryRecord, EndpointRecord } from "../../state/records.js";
import { isGenuine } from "../../state/tally.js";
import { remedy, type Finding } from "./finding.js";
import { receiverCode } from "../shapes.js";

/** The response time from which a receiver counts as slow, in milliseconds: close to the usual limits of senders. */
const slowMs = 5_000;

/** How long findings mention a rotation after the new secret applies, in milliseconds of the sandbox's clock. */
const rotationShownMs = 86_400_000;

/** The maximum number of characters of a URL in a finding's text. */
const shownUrl = 200;

interface Last {
  readonly endpoint: EndpointRecord;
  readonly delivery: DeliveryRecord;
  readonly attempt: AttemptRecord;
}

/** Yields a finding for each active endpoint whose newest genuine attempt has a problem, newest attempt first. */
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
  return slow("warning", `The receiver at ${url} took ${seconds} s to respond.`);
}

function failure(
  { endpoint, delivery, attempt }: Last,
  error: { readonly kind: string; readonly text: string },
  url: string,
): Finding {
  const severity = "error";
  const path = `/_sandbox/deliveries/${delivery.id}`;
  const text = `An attempt to deliver to ${url} failed. ${error.text}`;
  switch (error.kind) {
    case "url_refused":
      return {
        code: "url_refused",
        severity,
        text: `Nothing is sent to ${url}. ${error.text}`,
        remedy: remedy("Register another URL, or change A-21.", "POST /_sandbox/endpoints", {
          url: "…",
          event_types: endpoint.eventTypes,
        }),
      };
    case "refused": {
      const action = delivery.state === "pending" ? "run-now" : "redeliver";
      const start = remedy("Start the receiver, and try again.", `POST ${path}/${action}`);
      return { code: "receiver_refused_connection", severity, text, remedy: start };
    }
    case "timeout":
      return slow(severity, text);
    default: {
      const route = `GET ${path}/attempts/${attempt.n}`;
      const read = remedy("Fix the cause. The attempt shows the details.", route);
      return { code: "receiver_fails", severity, text, remedy: read };
    }
  }
}

const slow = (severity: "error" | "warning", text: string): Finding => ({
  code: "receiver_slow",
  severity,
  text,
  remedy: remedy(
    "Make the handler faster, or set a longer timeout (A-10).",
    "POST /_sandbox/assumptions/A-10",
    { value: "timeout:60s" },
  ),
});

const ignored = ({ delivery, attempt }: Last, url: string): Finding => ({
  code: "receiver_ignores",
  severity: "info",
  text: `The receiver at ${url} responded with 200 (\`ignored\`), because it has no handler for ${delivery.type}.`,
  remedy: remedy(
    outcomeTexts.ignored.fix,
    `GET /_sandbox/deliveries/${delivery.id}/attempts/${attempt.n}`,
  ),
});

function refusal(
  world: World,
  { endpoint, delivery, attempt }: Last,
  status: number,
  url: string,
): Finding {
  const severity = "error";
  const code = receiverCode(attempt);
  const said = `The receiver at ${url} responded with ${status}${code === undefined ? "" : ` ${code}`}.`;
  const known = outcomeText(code ?? "");
  const text = known ? `${said} ${known.happened} ${known.cause}` : said;
  const route = `/_sandbox/deliveries/${delivery.id}/attempts/${attempt.n}`;
  const read = remedy(known?.fix ?? "Read the receiver's response.", `GET ${route}`);
  if (status === 401 && (code === undefined || code === "signature_mismatch")) {
    if (isRegisteredTwice(world, endpoint)) return registeredTwice(endpoint, said);
    return {
      code: "receiver_responds_4xx",
      severity,
      text: `${text}${rotation(world, endpoint)}`,
      remedy: remedy("Explain the signature that your code computes.", `POST ${route}/explain`, {
        value: "sha256=…",
      }),
    };
  }
  if (status >= 500) return { code: "receiver_responds_5xx", severity, text, remedy: read };
  if (status >= 400) return { code: "receiver_responds_4xx", severity, text, remedy: read };
  if (status >= 300) {
    const followed = `${text} Redirects are not followed (A-10).`;
    const register =
      "Register the URL in the Location header, or make the receiver respond without a redirect.";
    const fix = { ...read, text: register };
    return { code: "receiver_redirects", severity, text: followed, remedy: fix };
  }
  const counted = `${text} Only 200 counts as a success (A-10).`;
  return { code: "receiver_fails", severity, text: counted, remedy: read };
}

const isRegisteredTwice = ({ state }: World, { id, url }: EndpointRecord) =>
  Array.from(state.endpoints.all()).some(
    (other) => other.id !== id && other.url === url && other.status === "active",
  );

const registeredTwice = ({ id }: EndpointRecord, said: string): Finding => ({
  code: "url_registered_twice",
  severity: "error",
  text: `${said} More than one active endpoint has this URL, and each has its own secret.`,
  remedy: remedy(
    "Archive all but one of them, or make the receiver accept all their secrets.",
    `POST /_sandbox/endpoints/${id}/archive`,
  ),
});

/** Returns a sentence about a recent rotation (A-19), often the reason for a rejected signature, or "" without one. */
function rotation({ clock, ledger }: World, { previous }: EndpointRecord): string {
  const now = clock.now();
  if (!previous || now - previous.until > rotationShownMs) return "";
  const at = iso(previous.until);
  if (now < previous.until)
    return ` The endpoint's secret was rotated: until ${at}, attempts are signed with the previous secret (A-19).`;
  const what = ledger.get("rotation").mode === "pinned" ? "new deliveries" : "attempts";
  return ` The endpoint's secret was rotated: since ${at}, ${what} are signed with the new secret (A-19).`;
}
