import { attempt } from "./promise.js";

/** A hook that harms nobody: what it throws or rejects with goes to `failed`. */
export const isolated =
  <Arguments extends unknown[]>(
    hook: (...given: Arguments) => unknown,
    failed: (error: unknown) => void,
  ) =>
  (...given: Arguments): void => {
    void attempt(() => hook(...given), nothing, failed);
  };

const nothing = () => {};
