import { PreconditionError } from "../precondition-error.js";

export interface MountedReceiver {
  /** The `http` or `https` URL that receives deliveries, such as `http://127.0.0.1:3000/webhooks`. */
  readonly url: string;
  /** Called and awaited after each case, even if the case fails. */
  readonly close?: (() => unknown) | undefined;
}

/**
 * Serves the receiver under test over HTTP, without the records of earlier cases. Called for each case. The receiver
 * must verify with the contract's `secret`, subscribe to `email.sent` (with `scheme`, to every type), and call
 * `handler` with the parsed body of each event that it handles. If `handler` rejects, the run must fail.
 */
export type MountReceiver = (
  handler: (event: unknown) => Promise<void>,
) => string | MountedReceiver | Promise<string | MountedReceiver>;

export const isHttpUrl = (value: unknown): value is string =>
  typeof value === "string" && /^https?:\/\//.test(value) && URL.canParse(value);

/** Mounts a receiver, calls `use` with its URL, and closes the receiver even if `use` rejects. */
export async function whileMounted(
  mount: MountReceiver,
  handler: Parameters<MountReceiver>[0],
  use: (url: string) => Promise<void>,
): Promise<void> {
  const returned = await resultOf(mount, handler);
  // JavaScript callers may return anything.
  const mounted = Object(returned) as Partial<MountedReceiver>;
  const isObject = mounted === returned;
  const url = isObject ? mounted.url : returned;
  try {
    if (!isHttpUrl(url)) {
      const description = isObject ? `an object whose \`url\` is ${shown(url)}` : shown(url);
      throw new PreconditionError(
        `\`mount\` returned ${description}. Return a URL with its scheme, such as "http://127.0.0.1:3000/webhooks", or an object with \`url\` and \`close\`.`,
      );
    }
    await use(url);
  } finally {
    if (isObject) await mounted.close?.();
  }
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return value === undefined || value === null ? String(value) : `a value of type ${typeof value}`;
}

async function resultOf(
  mount: MountReceiver,
  handler: Parameters<MountReceiver>[0],
): Promise<unknown> {
  try {
    return await mount(handler);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PreconditionError(
      `\`mount\` failed: ${reason.replace(/\.?$/, ".")} It is called for each case, and must serve the receiver and return its URL.`,
      { cause: error },
    );
  }
}
