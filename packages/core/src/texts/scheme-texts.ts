import type { OutcomeCode } from "../outcome.js";
import type { Scheme } from "../scheme.js";

/** The texts of the lines that name the sender and its headers, in place of those of the service. */
export function schemeTexts({
  name,
  headers: [header],
  form,
}: Scheme): Partial<Record<OutcomeCode, readonly string[]>> {
  const passHeaders = `Configure every proxy to pass each ${name} header exactly once and unchanged.`;
  return {
    signature_missing: [
      `The request has no ${header} header.`,
      `It did not come from ${name}, or a proxy removed the header.`,
      passHeaders,
    ],
    signature_malformed: [
      `${header} does not have the form ${form}.`,
      `The request did not come from ${name}, or a proxy changed the header or sent it twice.`,
      passHeaders,
    ],
    signature_mismatch: [
      "The signature does not match any configured secret.",
      `\`secret\` is not this endpoint's current signing secret at ${name}, or something modified the body before it got here.`,
      `Compare \`secret\` with the secret that ${name} shows for this endpoint. If they are equal, look for a proxy or a parser that rewrites the body.`,
    ],
    delivery_id_missing: [
      "The signature is genuine, but the delivery has no id.",
      `A proxy removed the header that carries it, or the scheme does not recognise this ${name} event.`,
      "Check the request. The receiver does not make up an id: later events with the same one would be dropped as duplicates.",
    ],
    delivery_id_malformed: [
      "The signature is genuine, but the delivery id is not 1 to 256 visible ASCII characters without a comma.",
      "A proxy joined two headers, or changed one.",
      passHeaders,
    ],
    malformed_body: [
      "The signature is genuine, but the body is not a JSON object in UTF-8.",
      `${name} is configured to send another format, or your test signed something else.`,
      `Select JSON in ${name}'s settings, and check what your test sends.`,
    ],
  };
}
