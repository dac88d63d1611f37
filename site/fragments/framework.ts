import type { ReceiverFragment } from "./receiver.js";

/** A framework or a platform, and the code that mounts a receiver in it. */
export interface FrameworkFragment {
  /** The name in addresses: `docs/frameworks/<name>`. */
  readonly name: string;
  readonly title: string;
  /** The name in code of what mounts the receiver: an entry of the package, or a method. */
  readonly mountedWith: string;
  /** The versions that the tests use, after the name of what has them: `Koa` and `3`. */
  readonly tested: readonly [subject: string, ...versions: string[]];
  /** The package manager of the pages. Default: npm. */
  readonly manager?: "npm" | "bun" | "deno";
  /** The packages to install, as arguments of the package manager. A comment may follow. */
  readonly install: string;
  /** A package that has only types, for development. */
  readonly types?: string;
  /** Returns the line above the code, if it needs one: where the file is, or how it is run. */
  readonly place?: (receiver: ReceiverFragment) => string;
  /** Returns the file that mounts a receiver. It is not formatted. */
  readonly module: (receiver: ReceiverFragment) => string;
}
