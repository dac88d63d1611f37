/**
 * An error that states why a tool did not run or finish. Its message and fix are whole sentences, written by this
 * package.
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: string;
  readonly fix: string;
  /** Texts that others wrote, such as the message of the service. */
  readonly untrusted: readonly UntrustedText[];

  constructor(
    code: string,
    happened: string,
    fix: string,
    untrusted: readonly UntrustedText[] = [],
    options?: ErrorOptions,
  ) {
    super(happened, options);
    this.code = code;
    this.fix = fix;
    this.untrusted = untrusted;
  }
}

/** A text that others wrote, with a label of this package. */
export type UntrustedText = readonly [label: string, text: string];
