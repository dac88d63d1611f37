/** The kinds of faults. Of histories with equally many faults, reports prefer the one whose kinds come first here. */
export const faultKinds = [
  "crash",
  "fail",
  "response_lost",
  "status",
  "duplicate",
  "slow",
  "freeze",
  "outage",
] as const;

export type FaultKind = (typeof faultKinds)[number];

/**
 * One fault of a history. Crossing n has the points 2n − 1 (before it is sent) and 2n (executed, reply not read).
 */
export interface Fault {
  readonly kind: FaultKind;
  readonly point: number;
}

/** Returns the number of the crossing to which a point belongs, and whether the point is after its execution. */
export const placeOf = (
  point: number,
): { readonly crossing: number; readonly isAfter: boolean } => ({
  crossing: Math.ceil(point / 2),
  isAfter: point % 2 === 0,
});

/** Returns faults as the text that the option `only` accepts, such as `crash@3 crash@7`. */
export const writeFaults = (faults: readonly Fault[]): string =>
  faults.map(({ kind, point }) => `${kind}@${point}`).join(" ");

/** Reads the output of {@link writeFaults} for one or more faults at ascending points. Otherwise returns undefined. */
export function readFaults(text: string): readonly Fault[] | undefined {
  const parts = text.trim().split(/\s+/);
  const faults = parts.flatMap((part) => {
    const [, kind, point] = /^([a-z_]+)@([1-9]\d{0,5})$/.exec(part) ?? [];
    return isFaultKind(kind) ? [{ kind, point: Number(point) }] : [];
  });
  const areOrdered = faults.every(
    (fault, index) => index === 0 || fault.point > Number(faults[index - 1]?.point),
  );
  return faults.length === parts.length && areOrdered ? faults : undefined;
}

export const isFaultKind = (value: unknown): value is FaultKind =>
  faultKinds.some((kind) => kind === value);

/**
 * Returns the name of a kind of fault for people: `response lost`. The kind `duplicate` shares its id with a kind of
 * finding, so its name states what is duplicated.
 */
export const faultName = (kind: FaultKind): string =>
  kind === "duplicate" ? "duplicate delivery" : kind.replace("_", " ");

/** The response that the fault `status` sends in place of the other side, which never receives the request. */
export const statusResponse = {
  status: 503,
  headers: { "Content-Type": "application/json" },
  body: '{"error":"The crash test refused this request."}',
} as const;

/** Returns whether a fault of this kind can happen at a point of a crossing. */
export function canHappen(
  kind: FaultKind,
  isAfter: boolean,
  crossing: {
    readonly kind: "store" | "statement" | "call";
    readonly isRequest?: boolean | undefined;
  },
): boolean {
  switch (kind) {
    case "crash":
    case "freeze":
      return true;
    case "response_lost":
      return isAfter;
    case "fail":
    case "duplicate":
    case "slow":
      return !isAfter;
    case "status":
      return !isAfter && crossing.isRequest === true;
    case "outage":
      return !isAfter && crossing.kind === "store";
  }
}
