/** A request from a sender, after its parts have been validated. */
export interface Arrived {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array<ArrayBuffer>;
  /** The time of arrival, in epoch milliseconds. */
  readonly at: number;
}

/** Returns the value of a header, or undefined if it is absent. Joins repeated values (RFC 9110, section 5.3). */
export function headerOf(
  { headers }: Pick<Arrived, "headers">,
  lowerCaseName: string,
): string | undefined {
  const values = headers.filter(([name]) => name.toLowerCase() === lowerCaseName);
  return values.length === 0 ? undefined : values.map(([, value]) => value).join(", ");
}
