import { command, type Command, type CommandEntry, type OptionSpec } from "../command.js";
import { commonOptions } from "../help.js";

const shells = ["bash", "zsh"];

/** Returns the command `completions`, which prints a shell script that completes `commands`. */
export const completions = (commands: readonly CommandEntry[]) =>
  command({
    usage: "<shell>",
    args: ["shell"],
    argValues: shells,
    details: [
      "Prints a bash or zsh script that completes commands and options, and the values of options that accept a fixed list.",
      "To load it, add the line for your shell from the examples to ~/.bashrc or ~/.zshrc. With --json, prints { script }.",
    ],
    examples: ['eval "$(svc-webhooks completions bash)"', 'eval "$(svc-webhooks completions zsh)"'],
    options: {},
    async run({ args: [shell], show }) {
      const lines = [...(shell === "zsh" ? zsh : []), ...(await script(commands))];
      show({ script: lines.join("\n") }, lines);
      return 0;
    },
  });

/** The lines that let zsh use completions written for bash. */
const zsh = [
  "whence compdef > /dev/null || { autoload -U compinit && compinit; }",
  "autoload -U bashcompinit && bashcompinit",
];

/** Returns the completions as a script for bash. Where the script offers no word, the shell completes file names. */
async function script(commands: readonly CommandEntry[]): Promise<readonly string[]> {
  const cases = await Promise.all(
    commands.map(async ({ name, load }) => [`  "${name} "*)`, ...optionCases(await load())]),
  );
  // The words that may follow "", "service", "service events" and so on.
  const following = new Map<string, Set<string>>();
  for (const { name } of commands) {
    for (const [index, word] of name.split(" ").entries()) {
      const start = name.split(" ").slice(0, index).join(" ");
      following.set(start, (following.get(start) ?? new Set()).add(word));
    }
  }
  const groupCases = Array.from(following, ([start, words]) =>
    wordsCase(`"${start} "`, Array.from(words)),
  );
  return [
    "_svc_webhooks() {",
    "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=",
    '  case "${COMP_WORDS[*]:1:$((COMP_CWORD - 1))} " in',
    ...cases.flat(),
    ...groupCases,
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    "}",
    "complete -o default -F _svc_webhooks svc-webhooks",
  ];
}

/**
 * Returns the lines of a shell `case` that offers words depending on the word before the current one. After an option
 * with a value, these are its fixed values, if it has any. After any other word, they are the values of the first
 * argument, and the options.
 */
function optionCases({ options, argValues = [] }: Command): readonly string[] {
  const specs = Object.entries<OptionSpec>({ ...options, ...commonOptions });
  const valued = specs.filter(([, { type }]) => type === "string");
  const free = valued.filter(([, { values }]) => values === undefined).map(flagOf);
  return [
    "    case $previous in",
    ...(free.length === 0 ? [] : [`    ${free.join(" | ")}) ;;`]),
    ...valued.flatMap(([name, { values }]) =>
      values ? [`  ${wordsCase(`--${name}`, values)}`] : [],
    ),
    `  ${wordsCase("*", [...argValues, ...specs.map(flagOf)])}`,
    "    esac ;;",
  ];
}

const flagOf = ([name]: readonly [string, OptionSpec]) => `--${name}`;

const wordsCase = (pattern: string, words: readonly string[]) =>
  `  ${pattern}) words="${words.join(" ")}" ;;`;
