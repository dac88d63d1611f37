import { headerNames } from "@svc-webhooks/core/adapter";
import type { Judgment, SenderMistake } from "@svc-webhooks/explain/senders";
import type { Context } from "../command.js";
import { headerOf } from "../lib/delivery-headers.js";
import { isIdText, isTypeName } from "../lib/field-name.js";
import { eventTypeOf } from "../lib/event-type.js";
import { adviceOf } from "../schemes/advice.js";
import { isHandled, refusalOf } from "../lib/outcome.js";
import { paint } from "../paint.js";
import { excerpt } from "../lib/terminal/text.js";
import type { Redactor } from "../redact/redactor.js";
import type { Explainer } from "./explainer.js";
import type { Received } from "./server.js";

export type Show = (received: Received) => Promise<void>;

export interface ShowOptions {
  readonly explain: Explainer;
  /** The id of the endpoint, if the command has registered it. */
  readonly endpoint: string | undefined;
  /** Resolves to the reason why a delivery may be signed with another secret, or to undefined if none is known. */
  readonly reasonOf: (deliveryId: string | undefined) => Promise<string | undefined>;
  /** The URL to which genuine deliveries are forwarded. Undefined without `--forward-to`. */
  readonly forwardTo: URL | undefined;
  /** Replaces texts of the request and of the response before they are shown. Default: they are unchanged. */
  readonly redact?: Pick<Redactor, "text"> | undefined;
}

/**
 * Returns a function that writes the result of a request: with `--json` as one line of JSON, and otherwise as one line
 * of text and the lines that explain it.
 */
export function createShow(
  { json, show, note }: Pick<Context, "json" | "show" | "note">,
  { explain, endpoint, reasonOf, forwardTo, redact }: ShowOptions,
): Show {
  const which = endpoint === undefined ? "" : ` ${endpoint}`;
  const unknown = `No known mistake produces this signature. Check that this is the secret of the endpoint${which}, and that nothing changes the body on its way here. ${lookFurther}`;
  /** Returns a text of the request or the response as it is shown. With `redact`, replaces it unless `isKept(text)`. */
  const shown = <Text extends string | undefined>(text: Text, isKept: (text: string) => boolean) =>
    redact === undefined || text === undefined || isKept(text)
      ? text
      : redact.text(text.slice(0, mostText));
  let isHinted = false;

  return async (received) => {
    const { at, method, headers, body, verdict, secretId, status, target, error } = received;
    const { judgment } = received;
    const path = redact ? "/" : received.path;
    const isGenuine = verdict === "genuine";
    const ownType = isGenuine && body ? eventTypeOf(body) : undefined;
    const ownId = headerOf(headers, headerNames.deliveryId);
    const type = shown(judgment ? judgment.outcome.type : ownType, isTypeName);
    const id = shown(judgment ? judgment.outcome.deliveryId : ownId, isIdText);
    // A delivery that lacks the service's signature needs no explanation.
    const isExplained = !isGenuine && (judgment !== undefined || verdict !== "signature_missing");
    const explanation =
      body && isExplained ? await explain({ headers, body, at: Date.parse(at) }) : undefined;
    const mistake = explanation?.mistake;
    const code = target ? target.code : judgment?.outcome.code;
    if (json) {
      const facts = { at, method, path, delivery_id: id ?? null, type: type ?? null };
      const judged = { verdict, secret: secretId ?? null, mistake: mistake?.id ?? null };
      const statuses = { status, target_status: target?.status ?? null, outcome: code ?? null };
      show({ ...facts, bytes: body?.length ?? null, ...judged, ...statuses, error }, []);
      return;
    }
    const isRefused = target !== undefined && target.status >= 300;
    // Shows the response body only without an outcome code, or with this one. For other codes, the texts of this
    // command explain more.
    const isOwn = code === undefined || code === "signature_mismatch";
    const genuine = secretId === "previous" ? "genuine, previous secret" : verdict;
    const parts = [
      paint("dim", new Date(at).toTimeString().slice(0, 8)),
      paint(
        status >= 300 ? "red" : isHandled(code) ? "green" : "yellow",
        [isRefused ? "target" : "", status, code].filter(Boolean).join(" "),
      ),
      excerpt(type ?? (isGenuine ? "(no type)" : method), 60),
      excerpt(id ?? "(no delivery id)", 80),
      isGenuine ? genuine : paint("red", verdict),
    ];
    const more = [
      error,
      isRefused && isOwn
        ? excerpt(
            shown(target.text, () => false),
            200,
          )
        : undefined,
      ...(isRefused ? refusalOf(target.status, code, true) : []),
      ...(judgment && judgment.outcome.status !== 200 && !target
        ? refusalLines(judgment, mistake, redact !== undefined)
        : [mistake?.cause, mistake?.fix]),
      explanation && !mistake && !judgment ? ((await reasonOf(ownId)) ?? unknown) : undefined,
    ];
    const first = parts.flatMap((part, index) => (index === 0 ? [part] : ["  ", part]));
    show({}, [first, ...more.flatMap((text) => (text ? [`  ${text}`] : []))]);
    if (!isRefused || isHinted) return;
    isHinted = true;
    note(
      `Your receiver did not accept a genuine delivery. To find out why, run svc-webhooks doctor ${forwardTo?.href}${judgment ? " --scheme …" : ""} --secret-env ….`,
    );
  };
}

const lookFurther =
  "This command looks only for mistakes that can be found quickly, and for changes to the body only if it has at most 8 KiB. To look for more, run svc-webhooks verify --explain.";

/**
 * The maximum number of characters of a text that are redacted. The rest of the text is dropped, because only the start
 * is shown.
 */
const mostText = 16_384;

/**
 * Returns the lines that explain why a receiver refused a request: what happened, the cause and the fix.
 *
 * @param isOwnOnly whether to omit texts that may contain a part of the request
 */
function refusalLines(
  { outcome, text, details }: Judgment,
  mistake: SenderMistake | undefined,
  isOwnOnly: boolean,
): readonly string[] {
  const { cause, fix } = adviceOf(text, mistake);
  return [
    details === "" || isOwnOnly ? text.happened : `${text.happened} ${details}`,
    cause,
    ...(mistake && isOwnOnly ? [] : [fix]),
    ...(!mistake && outcome.code === "signature_mismatch" ? [lookFurther] : []),
  ];
}
