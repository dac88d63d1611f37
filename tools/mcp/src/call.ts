import type { CallToolResult } from "@modelcontextprotocol/server";
import { codeOf } from "@svc-webhooks/core/adapter";
import type { Mask } from "./lib/mask.js";
import { untrustedText } from "./lib/untrusted.js";
import { Refusal, type UntrustedText } from "./refusal.js";
import type { Report, Tool } from "./tools/tool.js";
import type { World } from "./world.js";

/** Runs a tool. Never rejects: a refusal or an error becomes a result with `isError`. */
export async function callTool(
  tool: Tool,
  world: World,
  mask: Mask,
  args: unknown,
  signal: AbortSignal,
): Promise<CallToolResult> {
  try {
    const input = parse(tool, args);
    assertMayWrite(tool, world, input);
    return resultOf(await tool.run(world, input, signal), mask);
  } catch (error) {
    return { ...resultOf(reportOf(error, signal), mask), isError: true };
  }
}

/** Parses the arguments of a tool. Throws a Refusal `invalid_input` if they do not match the tool's schema. */
function parse({ name, input }: Tool, args: unknown): Readonly<Record<string, unknown>> {
  const { data, error } = input.safeParse(args ?? {});
  if (data) return data;
  const problems = (error?.issues ?? []).map(
    ({ path, message }) => [path.map(String).join(".") || "arguments", message] as const,
  );
  throw new Refusal(
    "invalid_input",
    "The arguments do not match the tool's schema.",
    `Correct the arguments. The input schema of ${name} describes them; the field \`untrusted\` lists the problems.`,
    [["problems", problems.map((problem) => problem.join(": ")).join("; ")]],
  );
}

/** Throws a Refusal `write_off` if a call would write where this server may not write. */
function assertMayWrite(
  { writes, writesTo }: Tool,
  { write, service }: World,
  input: Readonly<Record<string, unknown>>,
): void {
  const to = writes === "depends" ? writesTo?.(input) : writes;
  if (write || to === "nothing" || (to === "service" && service.isOwn)) return;
  throw new Refusal(
    "write_off",
    to === "receiver"
      ? "This server may not send deliveries to receivers, because it was started without --write."
      : "This server may not change a service that it did not start, because it was started without --write.",
    to === "receiver"
      ? "Ask the user to add --write to the command that starts this server, preferably with --allow-host for the receiver's host and port."
      : "Ask the user to add --sandbox or --write to the command that starts this server.",
  );
}

type Shown = Omit<Report, "facts"> & { readonly facts?: unknown };

function reportOf(error: unknown, signal: AbortSignal): Shown {
  const { code, message: happened, fix, untrusted } = signal.aborted ? canceled : refusalOf(error);
  return { ok: false, code, happened, fix, untrusted, next_step: fix };
}

const canceled = new Refusal(
  "canceled",
  "The call was canceled before it ended.",
  "Call the tool again if its result is still needed.",
);

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { message = "", hint } = Object(error) as {
    readonly message?: unknown;
    readonly hint?: unknown;
  };
  const texts: readonly UntrustedText[] = [["error", String(message)]];
  const code = codeOf(error);
  // Errors of the command line have a code; errors about settings, such as a secret in quotes, have a hint.
  const isOurs = code !== undefined || typeof hint === "string";
  return isOurs
    ? new Refusal(
        code ?? codeIn(error),
        "This server's settings or the service prevented the call.",
        "The field `untrusted` contains the error's message. Ask the user to correct the command that starts this server.",
        texts,
      )
    : new Refusal(
        "unexpected_error",
        "The tool failed unexpectedly.",
        "The field `untrusted` contains the error's message. Call the tool again, and report the error if it happens again.",
        texts,
      );
}

function codeIn(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === "string" && /^[a-z_]{1,40}$/.test(code) ? code : "failed";
}

/**
 * Returns a report as a tool's result. All texts are masked. Untrusted texts are also cleaned, and cut to a maximum
 * size. The text content repeats the structured result, for clients that show only text.
 */
function resultOf({ untrusted = [], ...report }: Shown, mask: Mask): CallToolResult {
  const text = untrustedText(untrusted, mask);
  const { next_step, ...shown } = report;
  const structured = maskedIn(
    { ...shown, ...(text === undefined ? {} : { untrusted: text }), next_step },
    mask,
  ) as Record<string, unknown>;
  return {
    content: [{ type: "text", text: JSON.stringify(structured) }],
    structuredContent: structured,
  };
}

/** Masks every text in a value, so that no result contains a secret even if a tool reveals one by mistake. */
function maskedIn(value: unknown, mask: Mask): unknown {
  if (typeof value === "string") return mask(value);
  if (Array.isArray(value)) return value.map((item) => maskedIn(item, mask));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [mask(name), maskedIn(member, mask)]),
  );
}
