import type { Scheme } from "@svc-webhooks/core";
import type { Sender } from "@svc-webhooks/schemes/senders";
import type { Finding, FindingId } from "./findings.js";

/**
 * Returns a finding with texts about the sender in place of those about the service. A finding with a `mistake` stays
 * the same, because its texts do not depend on the sender.
 */
export function forSender(finding: Finding, sender: Sender): Finding {
  const own = textsOf(sender.scheme, sender.name)[finding.id];
  return own && finding.mistake === undefined ? { ...finding, ...own } : finding;
}

function textsOf(
  { name, headers: [header = ""], form }: Scheme,
  option: string,
): Partial<Record<FindingId, Partial<Pick<Finding, "cause" | "fix">>>> {
  const verifyFirst = {
    fix: `Verify ${header} against the exact bytes of the body before anything else, and respond with 401 if it does not match.`,
  };
  return {
    header_removed: {
      fix: `Configure every proxy and middleware to pass the ${name} headers unchanged. If the receiver uses another scheme, pass the name of that scheme with --scheme.`,
    },
    unsigned_accepted: verifyFirst,
    wrong_secret_accepted: verifyFirst,
    altered_body_accepted: verifyFirst,
    wrong_signature_form: { fix: `Expect ${header} in the form ${form}.` },
    prefix_not_checked: {
      cause: `The receiver does not require the form ${form} of ${header}.`,
      fix: `Refuse a signature that is not in this form.`,
    },
    short_signature_accepted: {
      cause: "The receiver compares only part of the signature.",
    },
    plain_hash_accepted: {
      cause:
        "The receiver accepts a plain hash of the body instead of a signature. Anyone can compute such a hash.",
      fix: "Accept only signatures made with the endpoint's secret.",
    },
    wrong_secret: {
      fix: `Give both this command and the receiver the secret that the sender shows for this endpoint, without quotes or white space. To compare a captured delivery with a secret, run svc-webhooks verify --scheme ${option} --capture … --explain.`,
    },
  };
}
