import type { OutcomeCode } from "../outcome.js";
import type { Scheme } from "../scheme.js";

/** Returns the texts that name the sender and its headers, to replace the texts for the service. */
export function schemeTexts({
  name,
  headers: [header],
  form,
}: Scheme): Partial<Record<OutcomeCode, readonly string[]>> {
  const passHeaders = `Configure every proxy to forward each ${name} header exactly once and unchanged.`;
  return {
    signature_missing: [
      `The request has no ${header} header.`,
      `The request did not come from ${name}, or a proxy removed the header.`,
      passHeaders,
    ],
    signature_malformed: [
      `${header} does not have the form ${form}.`,
      `The request did not come from ${name}, or a proxy changed the header or sent it twice.`,
      passHeaders,
    ],
    signature_mismatch: [
      "The signature does not match any valid secret.",
      `\`secret\` is not this endpoint's current signing secret at ${name}, or something modified the body before it got here.`,
      `Compare \`secret\` with the secret that the sender shows for this endpoint. If they match, look for a proxy or a parser that rewrites the body.`,
    ],
    delivery_id_missing: [
      "The signature is genuine, but the delivery has no id.",
      `A proxy removed the header with the id, or the scheme does not recognize this ${name} event.`,
      "Check the request. The receiver does not invent an id, because an invented id would not identify repeated deliveries.",
    ],
    delivery_id_malformed: [
      "The signature is genuine, but the delivery id is invalid. It must be 1 to 256 visible ASCII characters without commas.",
      "A proxy joined two headers or changed one.",
      passHeaders,
    ],
    malformed_body: [
      "The signature is genuine, but the body is not a JSON object in UTF-8.",
      `${name} sent another format, or your test signed something else.`,
      `Select JSON if ${name} offers a choice, and check what your test sends.`,
    ],
  };
}
