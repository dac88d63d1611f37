import { headerNames } from "@svc-webhooks/core/adapter";
import { senders, type SenderName } from "@svc-webhooks/schemes/senders";
import { toHex, utf8 } from "../search/bytes.js";
import { hmacOf } from "../search/hash.js";
import { headerOf, type Arrived } from "./arrived.js";
import { judge } from "./judge.js";
import type { Look, SenderMistake } from "./mistake.js";
import { timesIn } from "./signed-time.js";

/** Finds GitHub's older signature, in its own header or in the header of the newer signature. */
const sha1Header: Look = async ({ scheme, arrived, secret }) => {
  const wanted = "x-hub-signature-256";
  if (scheme.headers[0] !== wanted) return undefined;
  const values = ["x-hub-signature", wanted].map((name) => headerOf(arrived, name) ?? "");
  const old = values.find((value) => /^sha1=[\da-f]{40}$/i.test(value));
  if (old === undefined) return undefined;
  const genuine = toHex(new Uint8Array(await hmacOf("sha1", utf8(secret), arrived.body)));
  const match = old.slice(5).toLowerCase() === genuine ? "matches" : "does not match";
  return {
    id: "sha1_header",
    cause: `The request has GitHub's older signature, made with SHA-1, instead of X-Hub-Signature-256. That signature ${match} this secret and body.`,
    fix: "Read X-Hub-Signature-256, which GitHub sends with every delivery of a webhook that has a secret, and configure every proxy to forward that header.",
  };
};

const useOther = (name: SenderName, cause: string): SenderMistake => ({
  id: "other_scheme",
  cause,
  fix: `Use the ${name} scheme in the receiver.`,
  sender: name,
});

const otherSender: Look = async ({ scheme, arrived }) => {
  const other = Object.values(senders).find(
    ({ form: { header } }) =>
      header !== scheme.headers[0] && headerOf(arrived, header) !== undefined,
  );
  return other && useOther(other.name, `The request has the signature header of ${other.name}.`);
};

const noSender: Look = async ({ arrived }) =>
  headerOf(arrived, headerNames.signature) === undefined
    ? undefined
    : {
        id: "other_scheme",
        cause: "The request has X-SVC-Signature, the signature header of the service itself.",
        fix: "Remove `scheme` from the receiver: without a scheme, it verifies the signature of the service.",
      };

/** Finds a signature in the scheme's own header whose version belongs to another sender. */
const otherVersion: Look = async ({ scheme, arrived }) => {
  const header = (name: string) => headerOf(arrived, name) ?? "";
  const other = Object.values(senders).find(
    ({ form, scheme: { inspect } }) =>
      form.header === scheme.headers[0] &&
      inspect(header, arrived.at).problem !== "signature_malformed",
  );
  return other && useOther(other.name, `The signature has the version that ${other.name} uses.`);
};

const milliseconds: Look = async ({ scheme, arrived, secret }) => {
  const time = timesIn(scheme, arrived).find(({ text }) => text.length === 13);
  if (!time) return undefined;
  const seconds = String(Math.floor(time.at / 1_000));
  const headers = arrived.headers.map(
    ([name, value]) => [name, value.replaceAll(time.text, seconds)] as const,
  );
  const { outcome } = await judge(scheme, secret, { ...arrived, headers, at: time.at });
  return outcome.code === "signature_malformed"
    ? undefined
    : {
        id: "time_in_milliseconds",
        cause: "The time in the header is in milliseconds.",
        fix: "Sign and send whole seconds: Math.floor(Date.now() / 1000).",
      };
};

const isRepeated = ({ headers }: Arrived, name: string) =>
  headers.filter(([header]) => header.toLowerCase() === name).length > 1;

const repeated: Look = async ({ scheme, arrived }) => {
  const name = scheme.headers.find((header) => isRepeated(arrived, header));
  return name === undefined
    ? undefined
    : {
        id: "duplicate_header",
        cause: `The request has the header ${name} more than once.`,
        fix: "Find the proxy or the code that adds it a second time. The sender sends it only once.",
      };
};

const decoration = /[\s"'`]/;

/**
 * Removes white space and quotes from both ends. A regular expression for the trailing ones could take quadratic time.
 */
function strip(value: string): string {
  let [start, end] = [0, value.length];
  while (start < end && decoration.test(value.charAt(start))) start += 1;
  while (end > start && decoration.test(value.charAt(end - 1))) end -= 1;
  return value.slice(start, end);
}

const decorated: Look = async ({ scheme, arrived, secret }) => {
  const headers = arrived.headers.map(([name, value]) => [name, strip(value)] as const);
  const { outcome } = await judge(scheme, secret, { ...arrived, headers });
  return outcome.code === "signature_malformed"
    ? undefined
    : {
        id: "decorated_value",
        cause: "The value of a header has white space or quotes around it.",
        fix: "Pass only the value of the header.",
      };
};

/** The mistakes in the headers of a request without a signature. */
export const missing: readonly Look[] = [sha1Header, otherSender, noSender];

/** The mistakes in a signature that is not well-formed. */
export const malformed: readonly Look[] = [
  sha1Header,
  otherVersion,
  milliseconds,
  repeated,
  decorated,
];
