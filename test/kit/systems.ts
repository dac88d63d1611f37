import { describe, test } from "vitest";

const isWindows = process.platform === "win32";
const isLinux = process.platform === "linux";

/** `describe` for tests that need a POSIX shell, signals, file modes or links. Skipped on Windows. */
export const describePosix: typeof describe.skip = isWindows ? describe.skip : describe;

/** `test` for a test that needs a POSIX shell, signals, file modes or links. Skipped on Windows. */
export const testPosix: typeof test.skip = isWindows ? test.skip : test;

/** `describe` for tests that need `/proc`, `/dev/full`, `prlimit` or util-linux. Skipped elsewhere. */
export const describeLinux: typeof describe.skip = isLinux ? describe : describe.skip;

/** `test` for a test that needs `/proc`, `/dev/full`, `prlimit` or util-linux. Skipped elsewhere. */
export const testLinux: typeof test.skip = isLinux ? test : test.skip;
