import type { Command, CommandEntry, OptionSpec, OptionSpecs } from "./command.js";
import type { Output } from "./paint.js";

/** The options that every command has. */
export const commonOptions = {
  json: { type: "boolean", text: "write JSON to stdout, and errors as JSON to stderr" },
  help: { type: "boolean", short: "h", text: "print this help and exit" },
} as const satisfies OptionSpecs;

const exitCodes = "Exit codes: 0 success, 1 failure, 2 incorrect usage, 130 after Ctrl-C.";

/** The width to which help texts are wrapped, in characters, unless the terminal is narrower. */
const maxColumns = 100;

const widthOn = ({ columns = 0 }: Pick<Output, "columns">) =>
  columns === 0 ? maxColumns : Math.min(columns, maxColumns);

/** Wraps a text into lines of at most `width` characters. A word that is longer than `width` has a line of its own. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines;
}

/** Formats rows as two columns. Wraps the second one between words, so that lines have at most `total` characters. */
function twoColumns(rows: readonly (readonly [string, string])[], total: number): string {
  const width = Math.max(...rows.map(([first]) => first.length)) + 4;
  return rows
    .flatMap(([first, second]) =>
      wrap(second, total - width).map((line, index) => {
        const start = index === 0 ? `  ${first}` : "";
        return `${start.padEnd(width)}${line}\n`;
      }),
    )
    .join("");
}

const rowOf = ([name, spec]: [string, OptionSpec]) => {
  const short = spec.short === undefined ? "" : `-${spec.short}, `;
  const value = spec.type === "boolean" ? "" : ` <${spec.value ?? "text"}>`;
  const initial = spec.default === undefined ? "" : ` (${spec.default})`;
  return [`${short}--${name}${value}`, `${spec.text}${initial}`] as const;
};

/**
 * Returns the help text of one command. Wraps its paragraphs and options to the width of the terminal, but at most to
 * 100 characters. Does not wrap the usage line, the examples and the exit codes.
 */
export function helpOf(
  { name, summary }: CommandEntry,
  { usage, details, examples, canNotRun = false, options }: Command,
  output: Pick<Output, "columns">,
): string {
  const width = widthOn(output);
  const paragraphs = [`${summary}.`, ...details].map((text) => `${wrap(text, width).join("\n")}\n`);
  const rows = Object.entries<OptionSpec>({ ...options, ...commonOptions }).map(rowOf);
  return [
    `${`Usage: svc-webhooks ${name} ${usage}`.trimEnd()}\n`,
    ...paragraphs,
    `Options:\n${twoColumns(rows, width)}`,
    `Examples:\n${examples.map((line) => `  ${line}\n`).join("")}`,
    `${canNotRun ? exitCodes.replace(", 130", ", 3 test not run, 130") : exitCodes}\n`,
  ].join("\n");
}

/**
 * Returns the help text that lists `commands`.
 *
 * @param group the first words of the commands, if they are the subcommands of one group
 */
export function overview(
  commands: readonly Pick<CommandEntry, "name" | "summary">[],
  output: Pick<Output, "columns">,
  group?: string,
): string {
  const width = widthOn(output);
  return [
    `Usage: svc-webhooks ${group === undefined ? "" : `${group} `}<command> [options]\n`,
    `Commands:\n${twoColumns(
      commands.map(({ name, summary }) => [name, summary] as const),
      width,
    )}`,
    `Options:\n${twoColumns(
      [
        ["-v, --version", "print the version and exit"],
        ["-h, --help", "print this help, or a command's help, and exit"],
      ],
      width,
    )}`,
    `${exitCodes}\n`,
  ].join("\n");
}
