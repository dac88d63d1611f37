import type { SignatureForm } from "../signing.js";

/** The values that a body contains. */
export interface BodyValues {
  readonly deliveryId: string;
  readonly type: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** A sender, as the tests of its receivers need it. */
export interface Sender {
  readonly form: SignatureForm;
  /** Whether a time is signed. */
  readonly isTimed: boolean;
  /** The field of the body with the time, in milliseconds. Undefined if it is in a header. */
  readonly timeField?: string;
  /** Whether a delivery with another id is refused, because the id is signed. */
  readonly signsId: boolean;
  /** Whether any text can be a key. */
  readonly hasTextKeys: boolean;
  /** Whether a body is a list of events. */
  readonly sendsLists?: true;
  /** The type of an event that has none. */
  readonly type: string;
  /** Adds the members that the sender's bodies have and the event lacks. */
  readonly complete: (event: Readonly<Record<string, unknown>>, values: BodyValues) => unknown;
}
