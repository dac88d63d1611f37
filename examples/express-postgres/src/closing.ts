const cleanups: (() => void | Promise<void>)[] = [];
let closed: Promise<void> | undefined;

/** Registers a cleanup for `closeAll`. Cleanups run in reverse order of registration. */
export function atEnd(cleanup: () => void | Promise<void>): void {
  cleanups.unshift(cleanup);
}

export const closeAll = (): Promise<void> => (closed ??= closeOneByOne());

async function closeOneByOne(): Promise<void> {
  for (const cleanup of cleanups) await cleanup();
}
