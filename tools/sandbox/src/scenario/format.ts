import { z } from "zod";
import { problem, whole } from "../http/validate.js";
import { actionNames, type ActionName } from "../control/actions.js";
import { parseSpan } from "../lib/units.js";
import { deliveryStates, triggers } from "../state/records.js";
import { referencesIn, stringsIn } from "./template.js";

/** The version of the format that this package reads and writes. */
export const version = 1;

/**
 * The limits of a file: its size in bytes, the number of its steps and of the requests that they send, and the depth of
 * its JSON.
 */
export const mostBytes = 1_048_576;
export const mostSteps = 1_000;
const mostRequests = 2_000;
const deepest = 60;

/** The actions that a step can run: all except explaining a signature, moving the clock, resetting and recording. */
export const stepActions: readonly ActionName[] = actionNames.filter(
  (name) => !["explain", "clock", "reset", "start-recording", "stop-recording"].includes(name),
);

const name = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,59}$/, "must be a name such as endpoint-2: a-z, 0-9 and hyphens");
const span = z
  .string()
  .refine(
    (text) => parseSpan(text) !== undefined,
    "must be a number followed by ms, s, m, h or d, such as 90s or 28h, and at most ten years",
  );
const short = z.string().max(2_000);
const note = { note: short.optional() };
const captures = { capture: z.record(name, short).optional() };
const primitive = z.union(
  [z.string(), z.number(), z.boolean(), z.null()],
  "must be a string, a number, true, false or null",
);

/** Returns the path of a request without its query and fragment. Its dot segments have been resolved. */
const pathnameOf = (path: string) => new URL(path, "http://sandbox.test").pathname;

/** Whether a path still belongs to the interface after its dot segments have been resolved. */
export const isInterfacePath = (path: string): boolean => pathnameOf(path).startsWith("/v1/");

/** Whether a text can be the value of a header: it has only printable ASCII characters. */
export const isHeaderText = (text: string): boolean => /^[ -~]*$/.test(text);

const requestStep = z.strictObject({
  ...note,
  request: z
    .strictObject({
      method: z.enum(["GET", "POST", "DELETE"]),
      path: short
        .regex(/^\/v1\//, "must begin with /v1/")
        .refine(isInterfacePath, "must not leave /v1/ with dot segments"),
      idempotency_key: short
        .refine(isHeaderText, "must consist of printable ASCII characters")
        .optional(),
      body: z.unknown().optional(),
      text: z.string().optional(),
    })
    .refine(
      ({ method, body, text }) => method !== "GET" || (body === undefined && text === undefined),
      "must not have a body or text with the method GET",
    ),
  times: whole(1, 1_000).default(1),
  status: z
    .union([whole(100, 599), z.literal("lost")], 'must be a status from 100 to 599, or "lost"')
    .optional(),
  expect: z.record(short, primitive).optional(),
  ...captures,
});

const actionStep = z.strictObject({
  ...note,
  action: z.enum(stepActions as [ActionName, ...ActionName[]]),
  params: z.record(z.string(), short).default({}),
  body: z.unknown().optional(),
  ...captures,
});

const selection = { endpoint: short.optional(), type: short.optional() };
const states = z.enum(deliveryStates);

const findStep = z.strictObject({
  ...note,
  find: z.strictObject({ ...selection, state: states.optional(), number: whole(1, 100_000) }),
  capture: z.record(name, z.enum(["id", "event_id", "delivery_id", "source_event_id"])),
});

const advanceStep = z.strictObject({
  ...note,
  advance: z
    .string()
    .refine(
      (text) => text === "next" || parseSpan(text) !== undefined,
      'must be "next", or a number followed by ms, s, m, h or d, such as 90s or 28h, and at most ten years',
    ),
});

const amount = {
  count: whole(0, 1_000_000).optional(),
  at_least: whole(0, 1_000_000).optional(),
  at_most: whole(0, 1_000_000).optional(),
};

/** Whether an expectation has an amount. Without an amount, it could not fail. */
const hasAmount = (expectation: { readonly [Name in keyof typeof amount]?: number | undefined }) =>
  expectation.count !== undefined ||
  expectation.at_least !== undefined ||
  expectation.at_most !== undefined;
const needsAmount = "needs count, at_least or at_most";

const expectStep = z.strictObject({
  ...note,
  expect: z
    .strictObject({
      deliveries: z
        .strictObject({ ...selection, state: states.optional(), ...amount })
        .refine(hasAmount, needsAmount)
        .optional(),
      attempts: z
        .strictObject({
          ...selection,
          ok: z.boolean().optional(),
          status: whole(100, 599).optional(),
          error: short.optional(),
          fault: z.boolean().optional(),
          trigger: z.enum(triggers).optional(),
          ...amount,
        })
        .refine(hasAmount, needsAmount)
        .optional(),
    })
    .refine(
      ({ deliveries, attempts }) => (deliveries === undefined) !== (attempts === undefined),
      "needs either deliveries or attempts",
    ),
  within: span.optional(),
});

const kinds = {
  request: requestStep,
  action: actionStep,
  find: findStep,
  advance: advanceStep,
  expect: expectStep,
} as const;

export type RequestStep = z.output<typeof requestStep>;
export type ActionStep = z.output<typeof actionStep>;
export type FindStep = z.output<typeof findStep>;
export type AdvanceStep = z.output<typeof advanceStep>;
export type ExpectStep = z.output<typeof expectStep>;
export type Step = RequestStep | ActionStep | FindStep | AdvanceStep | ExpectStep;

/** Returns how often a step rotates a signing secret. */
export function rotationsIn(step: Step): number {
  if ("request" in step)
    return pathnameOf(step.request.path).endsWith(":rotate-secret") ? step.times : 0;
  return "action" in step && step.action === "rotate-secret" ? 1 : 0;
}

/** The assumption that a file cannot change. With another value, a file could send data to other machines. */
export const fixedAssumption = "A-21";
export const fixedReason = `${fixedAssumption}, because a scenario delivers only to its receiver.`;

const file = z.strictObject({
  version: z.literal(version),
  name,
  description: short.optional(),
  assumptions: z.record(z.string(), short).optional(),
  steps: z
    .array(z.unknown())
    .min(1, "needs at least one step")
    .max(mostSteps, `must have at most ${mostSteps} steps`),
});

/** A valid scenario: requests, actions, moves of the clock, and expectations. */
export interface Scenario extends Omit<z.output<typeof file>, "steps"> {
  readonly steps: readonly Step[];
}

/**
 * Validates the JSON of a scenario.
 *
 * @throws Error whose message names the path in the file and the fix
 */
export function parseScenario(value: unknown): Scenario {
  assertShallow(value);
  const { steps, ...head } = parsed(file, value, "");
  if (Object.hasOwn(head.assumptions ?? {}, fixedAssumption))
    throw new Error(`assumptions cannot have ${fixedReason} Remove it.`);
  const known = new Set(["receiver"]);
  let requests = 0;
  return {
    ...head,
    steps: steps.map((rawStep, index) => {
      const path = `steps[${index}]`;
      const step = parsedStep(rawStep, path);
      assertReferences(step, path, known);
      if ("times" in step) requests += step.times;
      if (requests > mostRequests)
        throw new Error(
          `${path}.times is too large: the scenario has more than ${mostRequests} requests. Use fewer.`,
        );
      return step;
    }),
  };
}

/** Checks that a file can contain the step, without checking its references. @throws Error if it cannot */
export function assertStep(step: unknown): void {
  // The depth starts at 2, because a step is two levels deep in a file.
  assertShallow(step, 2);
  parsedStep(step, "");
}

function parsedStep(value: unknown, path: string): Step {
  const members = Object.keys(Object(value) as object);
  // `request` comes before `expect`, because a request step may have a member `expect` too.
  const kind = (["request", "action", "find", "advance", "expect"] as const).find((member) =>
    members.includes(member),
  );
  if (kind !== undefined) return parsed(kinds[kind] as z.ZodType<Step>, value, path);
  throw new Error(
    `${path} is not a step: ${members.length === 0 ? "it has no members" : `its members are ${members.slice(0, 5).join(", ").slice(0, 100)}`}. Give it the member request, action, find, advance or expect.`,
  );
}

function parsed<Output>(schema: z.ZodType<Output>, value: unknown, path: string): Output {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = (issue?.path ?? []).reduce<string>(
    (all, part) => (typeof part === "number" ? `${all}[${part}]` : `${all}.${String(part)}`),
    path,
  );
  const where = place.replace(/^\./, "").slice(0, 200) || "The file";
  const text = (issue ? problem(issue, schema) : "is invalid").replaceAll(/\.$/g, "");
  throw new Error(`${where} ${text}.`);
}

/** Checks that each reference has a value when the step runs, and adds the step's own captures to `known`. */
function assertReferences(step: Step, path: string, known: Set<string>): void {
  const { capture = {}, ...rest } = { capture: undefined, ...step };
  const own = "times" in step ? new Set([...known, "n"]) : known;
  for (const text of stringsIn({ ...rest, note: undefined })) {
    const missing = referencesIn(text).find((reference) => !own.has(reference));
    if (missing !== undefined)
      throw new Error(
        `${path} refers to {${missing}}, which no earlier step captures. Capture it first, or write {{ for a brace.`,
      );
  }
  if ("times" in step && step.times > 1 && Object.keys(capture).length > 0)
    throw new Error(`${path}.capture needs a request that is sent once. Remove \`times\`.`);
  for (const captureName of Object.keys(capture)) {
    if (captureName === "receiver" || captureName === "n")
      throw new Error(`${path}.capture cannot use the name ${captureName}. Choose another name.`);
    known.add(captureName);
  }
}

/** Checks a value's depth. @throws Error if it is nested too deeply for the functions that walk through it */
function assertShallow(value: unknown, depth = 0): void {
  if (depth > deepest)
    throw new Error(`The file is nested more than ${deepest} levels deep. Use flatter bodies.`);
  if (typeof value !== "object" || value === null) return;
  for (const member of Object.values(value)) assertShallow(member, depth + 1);
}
