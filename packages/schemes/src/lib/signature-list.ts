import type { Inspection } from "@svc-webhooks/core";

/** The maximum number of signatures in a header. Each one costs a comparison. */
const mostSignatures = 5;

/** The maximum length of a signature's header, in characters. */
const longestHeader = 1_024;

/** The form of a header with a list of signatures, such as `v1,<base64> v1a,<base64>` or `t=<seconds>,v1=<hex>`. */
export interface ListForm<Signature> {
  /** The text between two parts. Undefined if the header is one signature. */
  readonly separator: string | undefined;
  /** Matches one part, which does not begin with white space. */
  readonly part: RegExp;
  /**
   * The prefix of each signature that is compared, such as `v1=`. Parts with any other prefix, except the time's, are
   * skipped.
   */
  readonly version: string;
  /** The text before the signed time, if the list contains that time. */
  readonly time?: string;
  /** Returns undefined for a text that is not a signature. */
  readonly read: (text: string) => Signature | undefined;
}

/**
 * Inspects a header that has 1 to 5 signatures, each of the right form. If a request has the header twice, the values
 * arrive joined by `", "` and are malformed.
 *
 * @param inspectRest inspects the times and the other headers
 */
export function inspectList<Signature, Claim>(
  header: string,
  { separator, part, version, time, read }: ListForm<Signature>,
  inspectRest: (signatures: readonly Signature[], times: readonly string[]) => Inspection<Claim>,
): Inspection<Claim> {
  if (!header) return { problem: "signature_missing" };
  const malformed = { problem: "signature_malformed" } as const;
  if (header.length > longestHeader) return malformed;
  const signatures: Signature[] = [];
  const times: string[] = [];
  // Without a separator, the whole header is one part.
  for (const text of header.split(separator as string)) {
    if (!part.test(text)) return malformed;
    if (time && text.startsWith(time)) times.push(text.slice(time.length));
    if (!text.startsWith(version)) continue;
    const signature = read(text.slice(version.length));
    if (signature === undefined) return malformed;
    signatures.push(signature);
  }
  return signatures.length > 0 && signatures.length <= mostSignatures
    ? inspectRest(signatures, times)
    : malformed;
}
