import type { Readable } from "node:stream";
import type { Context, ValuesOf } from "../command.js";
import { UsageError } from "../errors.js";
import { conceal } from "./mask.js";
import { readSecretText, type InputContext } from "./read.js";

export const secretOptions = {
  "secret-env": {
    type: "string",
    value: "name",
    text: "environment variable with the whole signing secret",
  },
  "secret-file": {
    type: "string",
    value: "file",
    isInput: true,
    text: "file that contains the secret; one newline at its end is removed",
  },
  "secret-stdin": {
    type: "boolean",
    isInput: true,
    text: "read the secret from stdin; one newline at its end is removed",
  },
} as const;

export const previousSecretOptions = {
  "previous-secret-env": {
    type: "string",
    value: "name",
    text: "environment variable with the previous secret",
  },
  "previous-secret-file": {
    type: "string",
    value: "file",
    isInput: true,
    text: "file with the previous secret",
  },
} as const;

type SecretContext = Pick<
  Context<typeof secretOptions>,
  "env" | "options" | "stdin" | "signal" | "note"
>;
type PreviousContext = Context<typeof previousSecretOptions>;

/**
 * Reads the secret from the source that the options select. Resolves to undefined if none is selected. The secret's
 * format is not checked.
 *
 * @throws UsageError (as a rejection) if several sources are selected, or if the secret cannot be read or is empty
 */
export async function readSecret(context: SecretContext): Promise<string | undefined> {
  const { "secret-env": name, "secret-file": file, "secret-stdin": fromStdin } = context.options;
  const sources = [name, file, fromStdin || undefined].filter((source) => source !== undefined);
  if (sources.length > 1) {
    throw new UsageError(
      "The secret was given more than once.",
      "Use only one of --secret-env, --secret-file and --secret-stdin.",
    );
  }
  return fromStdin
    ? secretIn("--secret-stdin", "-", context)
    : secretFrom("secret", name, file, context);
}

/** Reads a secret like {@link readSecret}. Also throws a UsageError (as a rejection) if no source is selected. */
export async function requireSecret(context: SecretContext): Promise<string> {
  const secret = await readSecret(context);
  if (secret !== undefined) return secret;
  throw new UsageError(
    "The signing secret is missing.",
    "Pass the name of the environment variable that contains it, such as --secret-env SVC_WEBHOOK_SECRET, or use --secret-file or --secret-stdin.",
  );
}

/** Resolves to a list with the previous secret, or to an empty list if no option selects one. */
export async function readPreviousSecrets(
  context: InputContext & Pick<PreviousContext, "env" | "options">,
): Promise<readonly string[]> {
  const { "previous-secret-env": name, "previous-secret-file": file } = context.options;
  if (name !== undefined && file !== undefined) {
    throw new UsageError(
      "The previous secret was given more than once.",
      "Use either --previous-secret-env or --previous-secret-file.",
    );
  }
  const secret = await secretFrom("previous-secret", name, file, context);
  return secret === undefined ? [] : [secret];
}

/**
 * Reads `--<flag>-env` or `--<flag>-file`. Resolves to undefined if neither is given.
 *
 * @param flag the start of the options' names, such as `previous-secret`
 * @throws UsageError (as a rejection) if the variable is not set, if the variable or the file is empty, if the file
 *   cannot be read, and for an API key that a header cannot contain
 */
export async function secretFrom(
  flag: string,
  name: string | undefined,
  file: string | undefined,
  context: InputContext & Pick<Context, "env">,
): Promise<string | undefined> {
  if (file !== undefined) return secretIn(`--${flag}-file`, file, context);
  return name === undefined ? undefined : secretInVariable(flag, name, context.env);
}

/**
 * Returns the secret in the variable that `--<flag>-env` names.
 *
 * @throws UsageError if the variable is not set or empty, and for an API key that a header cannot contain
 */
export function secretInVariable(flag: string, name: string, env: Context["env"]): string {
  const secret = env[name];
  // The error omits the option's value, which may be the secret itself instead of a variable's name.
  if (secret === undefined && !/^[A-Z_][A-Z0-9_]*$/.test(name)) {
    const example = flag === "api-key" ? "SVC_API_KEY" : "SVC_WEBHOOK_SECRET";
    throw new UsageError(
      `--${flag}-env does not name an environment variable that is set.`,
      `Write the name of a variable, not its value: --${flag}-env ${example}.`,
    );
  }
  if (secret !== undefined && secret !== "") {
    if (flag === "api-key") assertKey(secret, `in ${name}`);
    return conceal(secret);
  }
  const state = secret === undefined ? "not set" : "empty";
  throw new UsageError(
    `The environment variable ${name} is ${state}.`,
    "Set it in the environment of this command.",
  );
}

/** @throws UsageError if a header cannot contain the API key */
function assertKey(key: string, source: string): void {
  if (/^[!-~]+$/.test(key)) return;
  throw new UsageError(
    `The API key ${source} must be printable ASCII without white space.`,
    "Pass the key as the service shows it, without line breaks, quotes or white space.",
  );
}

/** The secrets that were read, by path, for each stdin. They are kept because stdin and FIFOs cannot be read twice. */
const known = new WeakMap<Readable, Map<string, string>>();

async function secretIn(flag: string, path: string, context: InputContext): Promise<string> {
  const { stdin } = context;
  const read = known.get(stdin) ?? new Map<string, string>();
  const earlier = read.get(path);
  if (earlier !== undefined) return earlier;
  const isApiKey = flag === "--api-key-file";
  const noun = isApiKey ? "API key" : "secret";
  const source = `from ${flag}`;
  const what = path === "-" ? `the ${noun}` : `The ${noun} ${source}`;
  const secret = (await readSecretText(what, path, context)).replace(/\r?\n$/, "");
  if (secret === "") throw new UsageError(`The ${noun} ${source} is empty.`, `Pass the ${noun}.`);
  if (isApiKey) assertKey(secret, source);
  known.set(stdin, read.set(path, secret));
  return conceal(secret);
}

/** @throws UsageError if the options would read both a secret and the body from stdin */
export function bodyFirst(
  options: ValuesOf<typeof secretOptions> & {
    readonly body: string | undefined;
    readonly "previous-secret-file"?: string | undefined;
  },
): void {
  if (options.body !== undefined) return;
  const files = (["secret-file", "previous-secret-file"] as const).filter(
    (name) => options[name] === "-",
  );
  const [flag] = options["secret-stdin"] ? ["secret-stdin"] : files;
  if (flag === undefined) return;
  throw new UsageError(
    `--${flag} needs --body, because stdin cannot contain both the secret and the body.`,
    "Add --body <file>, or use --secret-env or --secret-file.",
  );
}
