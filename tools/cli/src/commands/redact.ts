import { existsSync, mkdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { command, type Context } from "../command.js";
import { messageOf, UsageError } from "../errors.js";
import { schemasOf } from "../drift/schemas.js";
import { vocabularyOf } from "../drift/vocabulary.js";
import { openCapture } from "../lib/capture.js";
import { filesAt, requestsIn } from "../lib/requests.js";
import { excerpt } from "../lib/terminal/text.js";
import { createFixtures, notGenuine, type Fixtures } from "../redact/fixtures.js";
import { keepOption, keptText } from "../redact/options.js";
import { createRedactor, type Redactor } from "../redact/redactor.js";
import { schemeOption, senderOf } from "../schemes/option.js";

const options = {
  out: {
    type: "string",
    required: true,
    value: "folder",
    text: "write the fixtures to files in this folder, which is created if it is missing",
  },
  ...keepOption,
  schemas: {
    type: "string",
    value: "module",
    text: "module that exports Standard Schemas by event type, whose enumerations stay (default: the schemas of svc-webhooks/events)",
  },
  ...schemeOption,
} as const;

type RedactContext = Context<typeof options>;

/** A request that is missing from the output, and the reason. */
interface LeftOut {
  readonly line: number;
  readonly reason: string;
}

interface Written {
  readonly file: string;
  readonly out: string;
  readonly saved: number;
  readonly left_out: readonly LeftOut[];
}

export const redact = command({
  usage: "<file>… --out <folder> [--keep <name>] [--scheme <name>]",
  rest: "file",
  details: [
    "Reads files written by svc-webhooks listen --save, or the .jsonl files of folders, and writes their genuine requests to files of the same name in another folder, without personal data or secrets. The requests are signed again with a public test secret, which is printed, so they verify as fixtures.",
    "Every string and number is replaced with a substitute of the same shape: an email address with another one at example.test, and a date with another date. Of a URL, only the scheme stays. In one run, equal values get equal substitutes, which depend on a random key that is not stored. The names of entries in maps are replaced too.",
    "These stay: the sender's ids in delivery headers, event types under type, event, event_type, object and action, times under names such as created_at and timestamp, values of enumerations in the schemas, true, false, null, 0 and 1, and what --keep names. The output lists the names under which values stayed. The path and all other headers are removed.",
    "Bodies that are compressed, not UTF-8, or neither JSON nor an HTML form are not written. Exits with 1 if a genuine request was left out. With --json, prints { secret, files: [{ file, out, saved, left_out: [{ line, reason }] }], kept: [{ name, count }] }.",
  ],
  examples: [
    "svc-webhooks redact deliveries.jsonl --out fixtures",
    "svc-webhooks redact captures --out fixtures --keep status --keep currency --scheme stripe",
  ],
  options,
  async run(context) {
    const { args, options: values, note, show } = context;
    if (args.includes("-")) {
      throw new UsageError(
        "This command reads its input twice, so it cannot read stdin.",
        "Pass the name of a capture file.",
      );
    }
    const files = args.flatMap(filesAt);
    const vocabulary = vocabularyOf(await schemasOf(values.schemas, context.signal));
    const redactor = createRedactor({ keep: values.keep, vocabulary });
    const fixtures = createFixtures(senderOf(values), redactor);
    // Reads all files first, so that nothing is written if one of them has a line that is not a request.
    for (const file of files) {
      const requests = requestsIn(file, context);
      while ((await requests.next()).done !== true) context.signal.throwIfAborted();
    }
    context.signal.throwIfAborted();
    const outs = files.map((file) => join(values.out, fileNameOf(basename(file), redactor)));
    assertNew(outs);
    createFolder(values.out);
    const written: Written[] = [];
    for (const [index, file] of files.entries()) {
      written.push(await write(file, outs[index] ?? "", fixtures, context));
      if (context.signal.aborted) return 1;
    }
    const { secret } = fixtures;
    const kept = redactor.kept();
    show(
      { secret, files: written, kept },
      [
        ...written.map(({ out, saved }) => `${excerpt(out, 200)}  ${saved} saved`),
        keptText(kept),
        `The fixtures verify with the secret ${secret}`,
      ],
      secret,
    );
    const left = written.flatMap(({ file, left_out }) =>
      left_out.map((omission) => ({ file, ...omission })),
    );
    if (!context.json) {
      for (const { file, line, reason } of left)
        note(`${excerpt(file, 200)}, line ${line} was left out. ${reason}`);
    }
    return left.some(({ reason }) => reason !== notGenuine) ? 1 : 0;
  },
});

/** Returns the name of a file if it consists of words and short numbers, and otherwise a substitute for it. */
const fileNameOf = (name: string, redactor: Redactor): string =>
  /^[a-z]+(?:[ ._-](?:[a-z]+|\d{1,4})){0,8}$/i.test(name)
    ? name
    : redactor.text(name.replace(/\.jsonl$/, "")) + (name.endsWith(".jsonl") ? ".jsonl" : "");

async function write(
  file: string,
  out: string,
  fixtures: Fixtures,
  context: RedactContext,
): Promise<Written> {
  const target = openCapture("--out", out, true);
  const left_out: LeftOut[] = [];
  let saved = 0;
  try {
    for await (const { captured, line } of requestsIn(file, context)) {
      const result = await fixtures.make(captured);
      if (typeof result === "string") left_out.push({ line, reason: result });
      else {
        target.write(result);
        saved += 1;
      }
    }
  } finally {
    target.close();
  }
  return { file, out, saved, left_out };
}

/** @throws UsageError if an output file already exists, or if two inputs have the same output file */
function assertNew(outs: readonly string[]): void {
  const twice = outs.find((out, index) => outs.indexOf(out) < index);
  if (twice !== undefined) {
    throw new UsageError(
      "Two of the files have the same name.",
      "Rename one of them, or redact them into different folders.",
    );
  }
  const existing = outs.find((out) => existsSync(out));
  if (existing === undefined) return;
  throw new UsageError(
    `${existing} already exists.`,
    "Choose another --out, or remove the file: redacted requests are not appended to others.",
  );
}

/** Creates a folder if it is missing, or throws a UsageError if it cannot be used. */
function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    if (!statSync(folder).isDirectory()) throw new Error("it is not a folder");
  } catch (error) {
    throw new UsageError(`--out cannot be used: ${messageOf(error)}.`, "Check the path.");
  }
}
