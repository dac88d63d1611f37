const open: (() => void | Promise<void>)[] = [];
let closed: Promise<void> | undefined;

/** What has been opened is closed at the end, the last one first, however the story ends. */
export function atEnd(close: () => void | Promise<void>): void {
  open.unshift(close);
}

export const closeAll = (): Promise<void> => (closed ??= closeOneByOne());

async function closeOneByOne(): Promise<void> {
  for (const close of open) await close();
}
