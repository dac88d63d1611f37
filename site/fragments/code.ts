import type { ReceiverFragment } from "./receiver.js";

const named = /^import (type )?\{ (.+) \} from "(.+)";$/;
const moduleIn = (declaration: string) => / from "(.+)";$/.exec(declaration)?.[1] ?? "";

/** Returns a key that sorts scopes and Node's modules before this project's, and the latter before all others. */
const order = (declaration: string): string => {
  const name = moduleIn(declaration);
  const rank = /^(?:@|node:)/.test(name) ? 0 : name.startsWith("svc-webhooks") ? 1 : 2;
  return `${rank} ${name}`;
};

const inEnglish = (a: string, b: string) => a.localeCompare(b, "en");

/** Returns import declarations in the order of the pages. Names from one module are imported by one declaration. */
export function importsOf(declarations: readonly string[]): string {
  const namesOf = new Map<string, Set<string>>();
  const others = new Set<string>();
  for (const declaration of declarations) {
    const [, type = "", names, module] = named.exec(declaration) ?? [];
    if (names === undefined) {
      others.add(declaration);
      continue;
    }
    const start = `import ${type}{ * } from "${module}";`;
    const known = namesOf.get(start) ?? new Set();
    namesOf.set(start, new Set([...known, ...names.split(", ")]));
  }
  const merged = Array.from(namesOf, ([start, names]) =>
    start.replace("*", [...names].toSorted(inEnglish).join(", ")),
  );
  return [...merged, ...others].toSorted((a, b) => inEnglish(order(a), order(b))).join("\n");
}

/** Returns the expression that reads a secret from the environment. */
export const secretIn = (variable: string): string => `process.env.${variable} ?? ""`;

/** Returns a function that reads the secret, for frameworks whose build executes the file. */
export const secretFunction = (variable: string): string => `() => ${secretIn(variable)}`;

/** The parts of a receiver's code that depend on the framework. */
export interface ReceiverCode {
  /** Returns the expression of the option `secret`. Default: {@link secretIn}. */
  readonly secret?: (variable: string) => string;
  /** The function that handlers log with. Default: `console.log`. */
  readonly log?: string;
  /** More options. */
  readonly options?: readonly string[];
}

/** Returns a call of `createReceiver`. */
export function receiverCall(
  { options, secretVariable, handlers }: ReceiverFragment,
  { secret = secretIn, log = "console.log", options: more = [] }: ReceiverCode = {},
): string {
  const on = handlers.map(
    ({ type, parameters, body }) =>
      `"${type}": (${parameters.join(", ")}) => ${body.replaceAll("console.log", log)}`,
  );
  const all = [
    ...options,
    `secret: ${secret(secretVariable)}`,
    `on: { ${on.join(", ")} }`,
    ...more,
  ];
  return `createReceiver({\n${all.join(",\n")}\n})`;
}

interface Module extends ReceiverCode {
  readonly imports?: readonly string[];
  /** The code before the receiver. */
  readonly before?: string;
  /** The code that mounts `receiver`. */
  readonly mount: string;
}

/** Returns a file that creates a receiver and mounts it. */
export function moduleOf(
  receiver: ReceiverFragment,
  { imports = [], before = "", mount, ...code }: Module,
): string {
  const own = ['import { createReceiver } from "svc-webhooks";', ...imports];
  return [
    importsOf([...own, ...receiver.imports]),
    before,
    `const receiver = ${receiverCall(receiver, code)};`,
    mount,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
