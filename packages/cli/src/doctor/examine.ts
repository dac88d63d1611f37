import { randomBytes } from "node:crypto";
import { sign, type OutcomeCode } from "@svc-webhooks/core";
import { explain } from "@svc-webhooks/testing/explain";
import { exact, large, lines, nonAscii, notJson, plain } from "./bodies.js";
import { finding, notJudged, type Finding } from "./findings.js";
import { bodyGuesses, keyGuesses, type Guess } from "./guesses.js";
import { isSuccess, newDeliveryId, type Probe, type Reply, type Send } from "./probe.js";

export interface Examination {
  readonly probes: readonly Reply[];
  readonly findings: readonly Finding[];
  readonly not_judged: readonly string[];
}

export interface ExamineOptions {
  readonly secret: string;
  readonly previousSecrets: readonly string[];
  readonly send: Send;
  /** Sends a probe to the same URL with a slash added to its path, or removed. */
  readonly sendToOtherSlash: Send;
  readonly onProbe: (probe: Probe) => void;
}

/** Ends an examination: nothing more can be learned. */
class Enough extends Error {}

/** Sends probes until it is clear what a receiver does with each kind of delivery. */
export async function examine(options: ExamineOptions): Promise<Examination> {
  const probes: Reply[] = [];
  const findings: Finding[] = [];
  const notSent: string[] = [];
  const send: Send = async (probe) => {
    options.onProbe(probe);
    const reply = await options.send(probe);
    probes.push(reply);
    return reply;
  };
  /** Sends a probe to which every receiver must respond. */
  const ask: Send = async (probe) => {
    const reply = await send(probe);
    const lost = lostReply(reply);
    if (lost) {
      findings.push(lost);
      throw new Enough();
    }
    return reply;
  };
  const examination = { ...options, send, ask, findings };
  try {
    const genuine = await examineGenuine(examination);
    await examineForgeries(genuine, examination);
    if (isSuccess(genuine)) await examineBodies(examination);
    else
      notSent.push("exact bytes, copies, sizes and pieces, because genuine deliveries are refused");
  } catch (error) {
    if (!(error instanceof Enough)) throw error;
    notSent.push("everything else, because the remaining probes were not sent");
  }
  return { probes, findings, not_judged: [...notSent, ...notJudged] };
}

interface Examining extends ExamineOptions {
  readonly ask: Send;
  readonly findings: Finding[];
}

const isError = ({ status }: Reply) => status !== null && status >= 500;

/** What a reply shows, in words. */
const saw = ({ name, status, code, error }: Reply) =>
  status === null
    ? `${name}: no response (${error ?? "closed"}).`
    : `${name}: status ${status}${code === undefined ? "" : ` ${code}`}.`;

function lostReply(reply: Reply): Finding | undefined {
  if (reply.status !== null) return undefined;
  if (reply.error === "timeout") return finding("hangs", saw(reply));
  const isRefused = /ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH/.test(
    reply.error ?? "",
  );
  return finding(isRefused ? "unreachable" : "connection_closed", saw(reply));
}

/** The simplest genuine delivery. */
async function examineGenuine(examining: Examining): Promise<Reply> {
  const { ask, findings, secret, previousSecrets } = examining;
  const body = plain();
  const reply = await ask({ name: "a genuine delivery", body });
  if (isSuccess(reply)) return reply;
  const { status, code, location } = reply;
  if (status !== null && status >= 300 && status < 400) {
    findings.push(finding("redirects", `${saw(reply)} It leads to ${location ?? "no location"}.`));
    throw new Enough();
  }
  if (status === 404 || status === 405) {
    findings.push(await notFound(reply, examining));
    throw new Enough();
  }
  const known = knownCode(reply);
  if (known) {
    findings.push(known);
    return reply;
  }
  // The signature was right: no other one would be accepted.
  const isVerified = code !== undefined && verifiedOutcomes.has(code);
  const guesses = [...keyGuesses(body, secret, previousSecrets), ...bodyGuesses(body, secret)];
  const guessed = isVerified ? undefined : await identify(body, guesses, reply, examining);
  findings.push(guessed ?? (await refused(reply, examining)));
  return reply;
}

async function notFound(reply: Reply, { sendToOtherSlash }: Examining): Promise<Finding> {
  const other = await sendToOtherSlash({ name: "the path with or without a slash", body: plain() });
  const exists = other.status !== null && other.status !== 404 && other.status !== 405;
  if (!exists) return finding("not_found", saw(reply));
  return finding(
    "not_found",
    `${saw(reply)} The other form of the path has status ${other.status}.`,
    {
      fix: "Add a slash to the end of the path, or remove the one that is there.",
    },
  );
}

/** What a receiver of svc-webhooks states itself. */
function knownCode(reply: Reply): Finding | undefined {
  switch (reply.code ?? "") {
    case "body_unavailable":
      return finding("parser_before_receiver", saw(reply));
    case "signature_missing":
    case "signature_malformed":
    case "delivery_id_missing":
    case "delivery_id_malformed":
      return finding("header_removed", saw(reply));
    default:
      return undefined;
  }
}

/** Outcomes of our receivers that come after the verification. */
const verifiedOutcomes: ReadonlySet<string> = new Set<OutcomeCode>([
  "handler_failed",
  "handler_timeout",
  "event_invalid",
  "event_untyped",
  "store_unavailable",
  "in_flight",
  "draining",
]);

const kinds = {
  parsed: "parser_before_receiver",
  altered: "body_altered",
  key: "wrong_secret",
  form: "wrong_signature_form",
} as const;

/** Sends the body with the signatures that mistaken receivers compute, until one is accepted. */
async function identify(
  body: Uint8Array,
  guesses: readonly Guess[],
  refusal: Reply,
  { ask, secret, previousSecrets }: Examining,
): Promise<Finding | undefined> {
  // A receiver that accepts anything accepts each guess too.
  const genuine = await sign(body, secret);
  const seen = new Set([genuine]);
  for (const { kind, signature } of guesses) {
    if (seen.has(signature)) continue;
    seen.add(signature);
    const reply = await ask({ name: "the signature of a mistaken receiver", body, signature });
    if (!isSuccess(reply)) continue;
    const { mistake } = await explain({ body, signature, secrets: secret, previousSecrets });
    return finding(kinds[kind], `${saw(refusal)} The signature of mistaken code is accepted.`, {
      ...(mistake && {
        mistake: mistake.id,
        cause: mistake.text,
        ...(kind === "parsed" ? {} : { fix: mistake.remedy }),
      }),
    });
  }
  return undefined;
}

/** Why a genuine delivery is refused if no guess is accepted. */
async function refused(reply: Reply, { ask }: Examining): Promise<Finding> {
  const forged = await ask({ name: "a forged delivery", ...(await forgery()) });
  if (forged.status !== reply.status) {
    // The signature is recognised, so something else is refused.
    return finding("genuine_failed", `${saw(reply)} ${saw(forged)}`);
  }
  const [json, text] = [
    await ask({ name: "unsigned JSON", body: plain(), signature: undefined }),
    await ask({ name: "unsigned text that is not JSON", body: notJson(), signature: undefined }),
  ];
  if (reply.code === undefined && json.status !== text.status) {
    const both = `${saw(reply)} Unsigned JSON has status ${json.status}, other text ${text.status}.`;
    return finding("parser_before_receiver", both);
  }
  return finding(isError(reply) ? "genuine_failed" : "wrong_secret", saw(reply));
}

/** A body with the signature of a secret that nobody has. */
async function forgery(body = plain()): Promise<{ body: Uint8Array; signature: string }> {
  return { body, signature: await sign(body, `whsec_${randomBytes(24).toString("base64")}`) };
}

/** Deliveries that must be refused. */
async function examineForgeries(
  genuineReply: Reply,
  { ask, findings, secret }: Examining,
): Promise<void> {
  const body = plain();
  const genuine = await sign(body, secret);
  const { signature: forged } = await forgery(body);
  const probes = [
    ["unsigned_accepted", "a delivery without a signature", undefined],
    ["wrong_secret_accepted", "a signature of another secret", forged],
    ["altered_body_accepted", "the signature of another body", await sign(plain(), secret)],
    ["prefix_not_checked", "a signature without sha256=", genuine.slice("sha256=".length)],
    ["short_signature_accepted", "the first 16 digits of a signature", genuine.slice(0, 23)],
    ["wrong_secret_accepted", "an empty signature", ""],
  ] as const;
  const errors: Reply[] = [];
  const accepted: Finding[] = [];
  for (const [id, name, signature] of probes) {
    const reply = await ask({ name, body, signature });
    if (isSuccess(reply)) accepted.push(finding(id, saw(reply)));
    else if (isError(reply)) errors.push(reply);
  }
  // A receiver that accepts unsigned deliveries accepts every other forgery for the same reason.
  const unsigned = accepted.find(({ id }) => id === "unsigned_accepted");
  const distinct = accepted.filter(
    ({ id }, index) => accepted.findIndex((one) => one.id === id) === index,
  );
  findings.push(...(unsigned ? [unsigned] : distinct));
  // A receiver that fails on everything fails on forgeries for the same reason.
  if (errors.length > 0 && !isError(genuineReply)) {
    findings.push(finding("forgery_is_an_error", errors.map(saw).join(" ")));
  }
}

/** What else a receiver that accepts a genuine delivery must accept. */
async function examineBodies(examining: Examining): Promise<void> {
  const { ask, findings, secret, send } = examining;
  const variants = [
    ["genuine JSON with spaces, escapes and numbers", exact],
    ["genuine JSON in several lines", lines],
    ["genuine JSON with characters outside ASCII", nonAscii],
  ] as const;
  for (const [name, make] of variants) {
    const body = make();
    const reply = await ask({ name, body });
    if (isSuccess(reply)) continue;
    const guessed = await identify(body, bodyGuesses(body, secret), reply, examining);
    findings.push(guessed ?? finding("body_altered", saw(reply)));
    // The others would fail for the same reason.
    break;
  }

  const copy = { name: "a copy of a delivery", body: plain(), deliveryId: newDeliveryId() };
  const first = await ask({ ...copy, name: "a delivery before its copy" });
  const second = await ask({ ...copy, attempt: 2 });
  if (isSuccess(first) && !isSuccess(second)) {
    findings.push(finding("duplicate_refused", saw(second)));
  }
  if (second.code === "processed") findings.push(finding("duplicate_ran", saw(second)));

  const slow = await ask({ name: "a genuine body in two pieces", body: plain(), how: "pieces" });
  if (slow.early && isSuccess(slow)) findings.push(finding("early_success", saw(slow)));
  else if (!isSuccess(slow)) findings.push(finding("pieces_refused", saw(slow)));

  // A server may close the connection of a body that it does not read.
  const big = await send({ name: "a genuine body of 64 KiB", body: large() });
  if (big.error === "timeout") findings.push(finding("hangs", saw(big)));
  else if (!isSuccess(big)) findings.push(finding("large_refused", saw(big)));

  await send({ name: "half a body", body: plain(), how: "half" });
  const after = await send({ name: "a genuine delivery after half a body", body: plain() });
  if (!isSuccess(after)) findings.push(finding("stops_serving", saw(after)));
}
