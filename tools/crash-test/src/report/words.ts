/** The names of options in texts. Those of `crashTest` differ from those of the command. */
export interface Words {
  /** Names the option that runs one history. */
  readonly only: string;
  /** Names the option that accepts findings. */
  readonly accept: string;
  /** Returns the option, with its value, that repeats a list of faults, such as `crash@3 crash@7`. */
  readonly repeat: (faults: string) => string;
}

/** The words of `crashTest`. */
export const functionWords: Words = {
  only: "`only`",
  accept: "`accept`",
  repeat: (faults) => `only: "${faults}"`,
};
