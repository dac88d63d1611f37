import { executionAsyncResource } from "node:async_hooks";
import { sep } from "node:path";
import { cwd } from "node:process";
import { fileURLToPath } from "node:url";

/** Returns the files and lines of the frames of a stack, newest first. */
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

/** The repository of this project, with a separator at the end. Undefined if this package is installed elsewhere. */
const repository = (() => {
  const [own] = framesOf(String(new Error("where").stack));
  return /^(.*[\\/])tools[\\/]testing[\\/](?:dist|src)[\\/]/.exec(own?.file ?? "")?.[1];
})();

/** Returns whether a file belongs to a package of this project in its repository. */
const isOwn = (file: string): boolean => {
  if (repository === undefined || !file.startsWith(repository)) return false;
  const path = file.slice(repository.length);
  return /^(?:packages|tools)[\\/][^\\/]+[\\/](?:dist|src)[\\/]/.test(path);
};

/** The lines at which promises were created, for promises that `notePlace` has recorded. */
const places = new WeakMap<object, string>();

/** Records where a promise is created, because a lazy query runs only when awaited, without the stack of its caller. */
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
 * Returns a function that returns the place at which the code under test made the current call: a path, relative if it
 * is below the current folder, and a line, such as `src/orders.ts:23`. Undefined if the place is unknown. The stack is
 * parsed only when the returned function is called, so that places that no report needs cost little.
 */
export function whereCalled(): () => string | undefined {
  const trace = traced();
  const place = places.get(executionAsyncResource());
  return () => sourceIn(trace) ?? place;
}

/** Returns the newest line of the code under test in a stack, or undefined if there is none. */
function sourceIn(trace: Error): string | undefined {
  const frame = framesOf(String(trace.stack)).find(
    ({ file }) => !/[\\/]node_modules[\\/]/.test(file) && !isOwn(file),
  );
  if (!frame) return undefined;
  const folder = `${cwd()}${sep}`;
  const path = frame.file.startsWith(folder) ? frame.file.slice(folder.length) : frame.file;
  return `${path.replaceAll("\\", "/")}:${frame.line}`;
}
