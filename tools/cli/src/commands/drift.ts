import type { Sender } from "@svc-webhooks/schemes/senders";
import { command, type Context } from "../command.js";
import { UsageError } from "../errors.js";
import { comparisonWith, type Comparison } from "../drift/compare.js";
import { InvalidPattern } from "../drift/json-schema.js";
import { createReport, type Row } from "../drift/report.js";
import { schemasOf } from "../drift/schemas.js";
import { useCaptureFile, type Captured } from "../lib/capture.js";
import { objectIn } from "../lib/json-in.js";
import { filesAt, requestsIn } from "../lib/requests.js";
import { table } from "../lib/terminal/table.js";
import { paint } from "../paint.js";
import { identityOf } from "../schemes/identity.js";
import { schemeOption, senderOf } from "../schemes/option.js";

const options = {
  schemas: {
    type: "string",
    value: "module",
    text: "module that exports Standard Schemas by event type (default: the schemas of svc-webhooks/events)",
  },
  ...schemeOption,
} as const;

export const drift = command({
  usage: "<file>… [--schemas <module>] [--scheme <name>]",
  rest: "file",
  details: [
    "Compares the genuine requests in files written by svc-webhooks listen --save, or in the .jsonl files of folders, with schemas: those of svc-webhooks/events, or those that a module exports, such as the object that you pass to createReceiver as events. - reads stdin.",
    "Reports fields that the schema does not declare (new), declared fields that are absent (missing), values that the schema does not accept (changed), and event types without a schema (unknown_type), with the number of deliveries. It prints no values; [] stands for the items of a list, and {} for the entries of a map. A name that looks like a value is printed as ….",
    "With the schemas of svc-webhooks/events, an optional field that is absent is missing too, because these schemas make every field optional. With your schemas, only a required field can be missing.",
    "New fields are found if a schema describes itself as JSON Schema, as zod's schemas do from version 4.2, or if it removes or refuses fields that it does not declare. For other schemas, a note names the types whose new fields were not checked.",
    "Exits with 1 if there is drift. With --json, prints { deliveries, skipped, drift: [{ type, change, path?, expected?, found?, count, of }], unchecked }.",
  ],
  examples: [
    "svc-webhooks drift deliveries.jsonl",
    "svc-webhooks drift fixtures --schemas ./dist/events.js --json",
  ],
  options,
  async run(context) {
    const { args, options: values, note, show } = context;
    const sender = senderOf(values);
    const files = args.flatMap(filesAt);
    const schemas = await schemasOf(values.schemas, context.signal);
    const comparisons = new Map<string, Comparison>();
    const report = createReport();
    const unchecked = new Set<string>();
    const counts = { deliveries: 0, skipped: 0 };
    for (const file of files) {
      for await (const { captured } of requestsIn(file, context)) {
        const delivery =
          captured.verdict === "genuine" ? await eventIn(captured, sender) : undefined;
        if (!delivery) {
          counts.skipped += 1;
          continue;
        }
        const { type, event } = delivery;
        const schema = type === undefined ? undefined : schemas.byType.get(type);
        if (type === undefined || schema === undefined) {
          counts.deliveries += 1;
          report.addType(type);
          report.addUnknown(type);
          continue;
        }
        const compare = comparisons.get(type) ?? comparisonWith(schema, schemas.areFieldsExpected);
        comparisons.set(type, compare);
        const compared = await compare(event).catch((error: unknown) => {
          throw error instanceof InvalidPattern ? wrongPattern(error, values.schemas) : error;
        });
        if (!compared) {
          counts.skipped += 1;
          continue;
        }
        counts.deliveries += 1;
        report.addType(type);
        report.add(type, compared.differences);
        if (!compared.isChecked) unchecked.add(type);
      }
    }
    context.signal.throwIfAborted();
    if (counts.deliveries === 0) {
      throw new UsageError(
        "The files contain no genuine request whose body is a JSON object that is not nested too deeply.",
        useCaptureFile,
      );
    }
    const rows = report.rows();
    show(
      { ...counts, drift: rows, unchecked: Array.from(unchecked) },
      linesOf(rows, counts.deliveries, context),
    );
    if (!context.json && counts.skipped > 0) {
      note(
        `Requests that were skipped, because they are not genuine, or their body is nested too deeply or not a JSON object: ${counts.skipped}.`,
      );
    }
    if (!context.json && unchecked.size > 0) {
      note(
        `New fields were not checked for ${Array.from(unchecked).join(", ")}, because these schemas keep all fields and cannot describe themselves as JSON Schema.`,
      );
    }
    return rows.length > 0 ? 1 : 0;
  },
});

const wrongPattern = ({ message }: InvalidPattern, file: string | undefined) =>
  new UsageError(
    `--schemas ${file} has the pattern ${JSON.stringify(message)}, which is not a regular expression.`,
    "Correct the pattern in patternProperties of its JSON Schema.",
  );

function linesOf(rows: readonly Row[], deliveries: number, { stdout }: Pick<Context, "stdout">) {
  if (rows.length === 0) return [[paint("green", "No drift"), ` in ${deliveries} deliveries.`]];
  return table(
    ["type", "change", "path", "details", "deliveries"],
    rows.map(({ type, change, path, expected, found, count, of }) => [
      type ?? "(no type)",
      change,
      path ?? "",
      [expected && `expected ${expected}`, found && `found ${found}`].filter(Boolean).join(", "),
      `${count} of ${of}`,
    ]),
    stdout,
  );
}

/** Resolves to the event in a request and the event's type, or to undefined if the body is not a JSON object. */
async function eventIn(captured: Captured, { scheme }: Sender) {
  const event = objectIn(captured.body);
  return event && { type: (await identityOf(scheme, captured)).type, event };
}
