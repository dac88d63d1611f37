import { explain, type BodyDifference, type Explanation } from "@svc-webhooks/explain";
import {
  explainRequest,
  type RequestExplanation,
  type SenderMistake,
} from "@svc-webhooks/explain/senders";
import type { Question } from "./form.js";

/** The parts of a result that the page shows. All texts are whole sentences. */
export interface Result {
  readonly isGenuine: boolean;
  readonly verdict: string;
  /** Sentences without a label. */
  readonly texts: readonly string[];
  readonly cause?: string | undefined;
  readonly fix?: string | undefined;
  /** The id of the mistake. */
  readonly mistake?: string | undefined;
  readonly difference?: Difference | undefined;
}

/** A message from the worker. */
export type Answer =
  | { readonly result: Result }
  /** The request was refused. `option` names the part of the request that is wrong, if it is known. */
  | { readonly option: string | undefined; readonly error: string };

/** Two bodies around the first byte that differs. */
export interface Difference {
  readonly summary: string;
  readonly bodies: readonly Excerpt[];
}

export interface Excerpt {
  readonly name: string;
  /** The text that both bodies have. */
  readonly same: string;
  /** The text from the first byte that differs. */
  readonly different: string;
}

/**
 * Explains a request.
 *
 * @throws ConfigError (as a rejection) for a secret that a receiver would refuse
 */
export async function resultOf({ sender, ...request }: Question): Promise<Result> {
  if (sender !== "service") return ofSender(await explainRequest({ ...request, scheme: sender }));
  const { headers, secret: secrets } = request;
  return ofService(await explain({ ...request, signature: headers[0]?.[1], secrets }));
}

const genuine = "The signature is genuine.";
const unexplained = "No known mistake explains this signature.";

function ofService({ verdict, mistake, next_step, body_difference }: Explanation): Result {
  if (verdict === "same") {
    const text =
      "A receiver with this secret accepts this body. If yours does not, it has another secret, or it verifies other bytes.";
    return { isGenuine: true, verdict: genuine, texts: [text] };
  }
  return {
    isGenuine: false,
    verdict: "The signature is not genuine.",
    texts: mistake ? [] : [unexplained, next_step ?? ""],
    ...(mistake && known({ ...mistake, body_difference })),
  };
}

function ofSender({ outcome, isGenuine, text, mistake, next_step }: RequestExplanation): Result {
  const { code, status, deliveryId, type } = outcome;
  if (status === 200) {
    const facts = [
      `The outcome is ${code}.`,
      deliveryId === undefined ? "" : `The delivery id is ${deliveryId}.`,
      type === undefined ? "" : `The type is ${type}.`,
    ];
    return { isGenuine, verdict: genuine, texts: facts.filter((fact) => fact !== "") };
  }
  return {
    isGenuine,
    verdict: isGenuine
      ? `The signature is genuine, but the delivery is refused with ${code}.`
      : `The request is refused with ${code}.`,
    texts: [text.happened, ...(next_step === undefined ? [] : [unexplained, next_step])],
    ...(mistake ? known(mistake) : { cause: text.cause, fix: text.fix }),
  };
}

/** Returns the fix of a mistake for readers of the page. */
function fixOf({ id, fix, sender }: SenderMistake): string {
  if (sender !== undefined) {
    return `Choose ${sender} as the sender here, and use its scheme in the receiver.`;
  }
  return id === "stale"
    ? `${fix} If the delivery was captured earlier, enter the time at which it arrived.`
    : fix;
}

function known(mistake: SenderMistake): Partial<Result> {
  const { id, cause, body_difference } = mistake;
  const difference = body_difference && differenceOf(body_difference);
  return { mistake: id, cause, fix: fixOf(mistake), difference };
}

function differenceOf({ bytes, at: offset, before, body, yours }: BodyDifference): Difference {
  const same = visible(before);
  return {
    summary: `${bytes} bytes were signed. The first byte that differs is byte ${offset + 1}. At most 64 bytes from there are shown.`,
    bodies: [
      { name: "This body", same, different: visible(body) },
      { name: "The signed body", same, different: visible(yours) },
    ],
  };
}

const names: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Writes characters that cannot be seen as escapes. */
const visible = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) =>
      names[character] ?? `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
