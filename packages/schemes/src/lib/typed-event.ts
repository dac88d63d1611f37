/** An event that has a type. A scheme's type argument is a union of such events. */
export interface TypedEvent {
  readonly type: string;
}
