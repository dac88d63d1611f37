import { z } from "zod";
import { ApiError, invalid } from "../errors.js";

const article = (noun: string) => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);

const expectedNames: Readonly<Record<string, string>> = { record: "object", int: "whole number" };

/**
 * Parses `value` with the schema and returns the result.
 *
 * @param classStatus the status for a `message_class` that is a string other than `transactional`
 * @throws ApiError with status 400 or `classStatus` that names the first invalid field
 */
export function validate<Output>(
  schema: z.ZodType<Output>,
  value: unknown,
  classStatus = 400,
): Output {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const param = issue?.path.join(".") || "body";
  const text = `${param} ${issue ? problem(issue, schema) : "is invalid"}.`;
  if (param === "message_class" && typeof issue?.input === "string") {
    throw new ApiError(classStatus, "invalid_request", text, { param });
  }
  throw invalid(param, text);
}

/** Returns a schema for whole numbers from `first` to `last`. */
export const whole = (first: number, last: number) => {
  const message = `must be a whole number from ${first} to ${last}`;
  return z.int(message).min(first, message).max(last, message);
};

/** Returns the rest of a sentence that begins with the name of an invalid value, such as `is required`. */
export function problem(issue: z.core.$ZodIssue, schema: z.ZodType): string {
  if (issue.code === "invalid_type") {
    return issue.input === undefined
      ? "is required"
      : `must be ${article(expectedNames[issue.expected] ?? issue.expected)}`;
  }
  if (issue.code === "unrecognized_keys") {
    const known =
      schema instanceof z.ZodObject
        ? `. The members are ${Object.keys(schema.shape).join(", ")}`
        : "";
    return `must not have the member ${issue.keys[0]}${known}`;
  }
  if (issue.code === "invalid_value") return `must be ${issue.values.map(String).join(" or ")}`;
  if (issue.code === "too_big" && issue.origin === "string") {
    return `must have at most ${issue.maximum} characters`;
  }
  return issue.message;
}
