/** The most signatures that a header may have: each costs a comparison. */
const mostSignatures = 5;

/** The longest header of several signatures, in characters. */
const longestHeader = 1_024;

/** A header that lists signatures by their version, such as `v1,<base64> v1a,<base64>` or `t=<seconds>,v1=<hex>`. */
export interface ListForm<Signature> {
  readonly separator: string;
  /** Matches one part, with its name and its value, neither of which contains white space. */
  readonly part: RegExp;
  /** The name of the signatures that are compared. Other names are skipped. */
  readonly version: string;
  /** The name of the signed time, if the list has it. */
  readonly time?: string;
  /** Returns undefined for a text that is not a signature. */
  readonly read: (text: string) => Signature | undefined;
}

/**
 * Returns the signatures and the times of a list, or undefined unless it has 1 to 5 signatures and each is one. Two
 * headers, which arrive joined by `", "`, have another form.
 */
export function readList<Signature>(
  header: string,
  { separator, part, version, time, read }: ListForm<Signature>,
): { readonly signatures: readonly Signature[]; readonly times: readonly string[] } | undefined {
  if (header.length > longestHeader) return undefined;
  const signatures: Signature[] = [];
  const times: string[] = [];
  for (const text of header.split(separator)) {
    const [, name, value = ""] = part.exec(text) ?? [];
    if (name === undefined) return undefined;
    if (name === time) times.push(value);
    if (name !== version) continue;
    const signature = read(value);
    if (signature === undefined) return undefined;
    signatures.push(signature);
  }
  return signatures.length > 0 && signatures.length <= mostSignatures
    ? { signatures, times }
    : undefined;
}
