import { executionAsyncResource } from "node:async_hooks";
import { sep } from "node:path";
import { cwd } from "node:process";
import { fileURLToPath } from "node:url";

/** Frames of a stack, from the newest: their files and lines. */
const framesOf = (stack: string): readonly { readonly file: string; readonly line: string }[] =>
  stack.split("\n").flatMap((frame) => {
    const [, place = "", line = ""] =
      /(?:^|[\s(])((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()]*?):(\d+):\d+\)?$/.exec(frame) ?? [];
    return place === "" ? [] : [{ file: pathOf(place), line }];
  });

const pathOf = (place: string): string => {
  const [path = ""] = place.split("?");
  return path.startsWith("file://") ? fileURLToPath(path) : path;
};

/** The folder that contains all packages of this project: `node_modules/@svc-webhooks`, or that of its repository. */
const ownFolder = (() => {
  const [own] = framesOf(String(new Error("where").stack));
  return /^(.*?[\\/])[^\\/]+[\\/](?:dist|src)[\\/]/.exec(own?.file ?? "")?.[1];
})();

const isOwn = (file: string): boolean => {
  if (ownFolder === undefined || !file.startsWith(ownFolder)) return false;
  return /^[^\\/]+[\\/](?:dist|src)[\\/]/.test(file.slice(ownFolder.length));
};

/** The lines at which promises were created, if they are noted. */
const places = new WeakMap<object, string>();

/** Notes where a promise is created: `await` calls a lazy query only later, without the stack of its caller. */
export function notePlace(promise: object): void {
  const place = sourceIn(traced()) ?? places.get(executionAsyncResource());
  if (place !== undefined) places.set(promise, place);
}

function traced(): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 40;
  const trace = new Error("call");
  Error.stackTraceLimit = stackTraceLimit;
  return trace;
}

/**
 * Returns a function that finds where the code under test made the current call, as a path from the current folder with
 * a line: `src/orders.ts:23`. The stack is only read when the function is called.
 */
export function whereCalled(): () => string | undefined {
  const trace = traced();
  const place = places.get(executionAsyncResource());
  return () => sourceIn(trace) ?? place;
}

/** Returns the newest line of the code under test in a stack. */
function sourceIn(trace: Error): string | undefined {
  const frame = framesOf(String(trace.stack)).find(
    ({ file }) => !/[\\/]node_modules[\\/]/.test(file) && !isOwn(file),
  );
  if (!frame) return undefined;
  const folder = `${cwd()}${sep}`;
  const path = frame.file.startsWith(folder) ? frame.file.slice(folder.length) : frame.file;
  return `${path.replaceAll("\\", "/")}:${frame.line}`;
}
