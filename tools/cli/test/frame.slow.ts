import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { collected } from "@svc-webhooks/kit/collected";
import { root } from "@svc-webhooks/kit/programs";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { commands } from "../src/commands.js";
import { conceal, masked } from "../src/lib/mask.js";
import { excerpt } from "../src/lib/terminal/text.js";
import {
  cli,
  describeInTerminal,
  testInTerminal,
  inTerminal,
  main,
  newFile,
  secret,
  shell,
  start,
} from "./support.js";

const oneLine = /^svc-webhooks[^\n]*: [^\n]+\n$/;

describe("wrong usage prints one line with the fix, and exits with 2", () => {
  test.each([
    ["an unknown command", ["frobnicate"], /The command frobnicate does not exist\. svc.*--help/],
    [
      "a misspelt command",
      ["sing"],
      /The command sing does not exist\. Did you mean sign\? .*--help/,
    ],
    [
      "two misspelt words",
      ["event", "lst"],
      /command event does not exist\. Did you mean service events list\?/,
    ],
    ["half a command", ["send"], /Did you mean service emails send\?/],
    ["words in another order", ["sned", "email"], /Did you mean service emails send\?/],
    ["words that resemble one command", ["list", "events"], /Did you mean service events list\?/],
    ["a misspelt group", ["serivce", "events"], /Did you mean service\?/],
    [
      "misspelt words of a group",
      ["service", "evnts", "lst"],
      /service evnts does not exist\. Did you mean `service events list`\?/,
    ],
    [
      "a misspelt word of a group",
      ["service", "triger", "email.sent"],
      /Did you mean `service trigger`\?/,
    ],
    ["a part of a group", ["service", "sends"], /`service sends` needs a subcommand: get\./],
    ["an option in place of a command", ["--verbose"], /Put options after the command\./],
    [
      "a misspelt option",
      ["sign", "--sercet-env", "SECRET"],
      /--sercet-env is not an option\. Did you mean --secret-env\? .*sign --help/,
    ],
    [
      "an option that resembles none",
      ["sign", "--zzz"],
      /--zzz is not an option\. svc.*sign --help/,
    ],
    [
      "a misspelt value",
      ["service", "events", "list", "--status", "faild"],
      /--status cannot be faild\. Did you mean failed\? Use pending, .* or failed\./,
    ],
    [
      "a misspelt argument",
      ["service", "trigger", "emial.sent"],
      /<event_type> cannot be emial\.sent\. Did you mean email\.sent\? Use /,
    ],
    ["an option without its value", ["sign", "--secret-env"], /--secret-env/],
    [
      "an option that is given more than once",
      ["sign", "--body=a", "--body=b"],
      /--body was given more than once/,
    ],
    ["a missing option", ["verify", "--secret-env", "SECRET"], /--signature is missing/],
    ["a missing argument", ["replay", "--to", "http://localhost:1"], /<file> is missing/],
    ["an argument too many", ["sign", "body.json"], /The command line has 1 argument too many\./],
    ["arguments too many", ["sign", "a", "b"], /The command line has 2 arguments too many\./],
    ["no secret", ["sign"], /signing secret is missing\. .*--secret-env/],
    ["two secrets", ["sign", "--secret-env=SECRET", "--secret-file=x"], /given more than once/],
    ["a variable that is not set", ["sign", "--secret-env", "NO_SUCH"], /NO_SUCH is not set/],
    ["an empty variable", ["sign", "--secret-env", "EMPTY"], /EMPTY is empty/],
    ["a file that does not exist", ["sign", "--secret-file", "/no/file"], /ENOENT/],
    ["a secret and a body on stdin", ["sign", "--secret-stdin"], /--body/],
    ["a secret in quotes", ["sign", "--secret-env", "QUOTED"], /starts or ends with a quote/],
  ])("%s", async (_what, args, text) => {
    const { code, stdout, stderr } = await cli(args, {
      env: { EMPTY: "", QUOTED: `"${secret}"` },
    });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(oneLine);
    expect(stderr).toMatch(text);
  });

  test.each([
    ["--secret", ["sign", "--secret", secret]],
    ["--secret=", ["listen", `--secret=${secret}`]],
    ["--previous-secret", ["verify", "--signature", "x", "--previous-secret", secret]],
    ["the secret in place of a variable's name", ["sign", "--secret-env", secret]],
    ["a part of it", ["sign", "--secret-env", secret.slice(6)]],
    ["an API key", ["service", "event-types", "list", "--api-key-env", secret.slice(6)]],
    ["the secret as an argument", ["sign", secret]],
    ["the secret as a command", [secret]],
  ])("a secret on the command line is refused and not repeated: %s", async (_what, args) => {
    const { code, stdout, stderr } = await cli(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(oneLine);
    expect(stderr).not.toContain(secret.slice(6, 12));
    if (args.some((arg) => arg.startsWith("--"))) expect(stderr).toMatch(/(?:Use|Write) .*-env/);
  });

  test("no command prints the overview to stderr", async () => {
    const { stdout: overview } = await cli(["--help"]);
    expect(await cli([])).toEqual({ code: 2, stdout: "", stderr: overview });
  });
});

test("errors are JSON on stderr with --json", async () => {
  const { code, stdout, stderr } = await cli(["sign", "--json"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(JSON.parse(stderr)).toEqual({
    error: {
      code: "wrong_usage",
      message: "The signing secret is missing.",
      hint: expect.stringContaining("--secret-env"),
    },
  });
});

test("a variable whose name is unusual and that is set has the secret", async () => {
  expect((await cli(["sign", "--secret-env=secret"], { env: { secret } })).code).toBe(0);
});

test.each(["--version", "-v", "version"])("%s prints the version of the package", async (word) => {
  const manifest = readFileSync(join(root, "tools/cli/package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { readonly version: string };
  expect(await cli([word])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test.each([
  ["help", "--help"],
  ["help sign", "sign --help"],
  ["help service emails send", "service emails send --help"],
  ["help service emails", "service emails --help"],
  ["help service", "service --help"],
])("%s prints what %s prints", async (words, same) => {
  const help = await cli(words.split(" "));
  expect(help).toEqual(await cli(same.split(" ")));
  expect([help.code, help.stderr]).toEqual([0, ""]);
});

test("the help lists the commands of the service as one entry", async () => {
  const { stdout } = await cli(["--help"]);
  expect(stdout.match(/^ {2}(?:service|events|trigger)\b.*$/gm)).toEqual([
    expect.stringMatching(/^ {2}service {4,}Call the service: /),
  ]);
  const { stdout: service } = await cli(["service", "--help"]);
  expect(service).toMatch(/^Usage: svc-webhooks service <command> \[options\]\n/);
  expect(service.match(/^ {2}service \S+/gm)).toHaveLength(15);
});

// The old names work until 0.1.0 is out.
test.each([
  ["trigger email.opened", 2],
  ["events --help", 0],
  ["help sends get", 0],
  ["event-types list --api-key-env NO_SUCH", 2],
  ["endpoints", 2],
  ["emails sned x --json", 2],
])("%s does what it does after service", async (words, code) => {
  const [first, ...rest] = words.replace(/^(help )?/, "$1service ").split(" ");
  const old = await cli(words.split(" "));
  expect(old).toEqual(await cli([first ?? "", ...rest]));
  expect([old.code, `${old.stdout}${old.stderr}`]).toEqual([
    code,
    expect.stringContaining(" service "),
  ]);
});

test("the help of a group lists its commands", async () => {
  const { stdout } = await cli(["service", "events", "--help"]);
  expect(stdout).toMatch(/^Usage: svc-webhooks service events <command> \[options\]\n/);
  expect(stdout.match(/^ {2}service events \S+/gm)).toEqual([
    "  service events list",
    "  service events get",
    "  service events redeliver",
    "  service events redeliver-failed",
  ]);
  expect(stdout).not.toContain("sandbox");
});

describe("--help", () => {
  test.each([[], ...commands.map(({ name }) => name.split(" "))])(
    "fits 50 lines of 100 characters: %s",
    async (...words) => {
      const { code, stdout, stderr } = await cli([...words, "--help"]);
      expect([code, stderr]).toEqual([0, ""]);
      const lines = stdout.trimEnd().split("\n");
      expect(lines.length).toBeLessThanOrEqual(50);
      expect(lines.filter((line) => line.length > 100)).toEqual([]);
      expect(lines[0]).toBe(lines[0]?.trim());
      expect(lines[0]).toMatch(new RegExp(`^Usage: svc-webhooks ${words.join(" ")}`));
      expect(await cli([...words, "-h"])).toEqual({ code, stdout, stderr });
    },
  );

  test("starts in at most three times the processor time of an empty Node process", () => {
    const report =
      "process.on('exit', () => { const { user, system } = process.cpuUsage(); console.error((user + system) / 1_000); });";
    const time = (...args: readonly string[]) => {
      const reporting = ["--import", `data:text/javascript,${encodeURIComponent(report)}`];
      const { stderr } = spawnSync(process.execPath, [...reporting, ...args], { encoding: "utf8" });
      return Number(stderr);
    };
    const empty = newFile("empty.js");
    const fastest = (...args: readonly string[]) =>
      Math.min(...Array.from({ length: 5 }, () => time(...args)));
    expect(fastest(main, "--help")).toBeLessThan(3 * fastest("-e", "", empty));
  });
});

test("stdout that is closed early is not an error", async () => {
  const child = spawn(process.execPath, [main, "--help"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  const stderr = collected(child.stderr);
  const [code] = (await once(child, "close")) as [number | null];
  expect([code, stderr()]).toEqual([0, ""]);
});

testPosix("stdin that is closed is an empty body", async () => {
  const child = spawn("bash", [
    "-c",
    `SECRET=whsec_test ${shell("sign", "--secret-env=SECRET")} <&-`,
  ]);
  const output = collected(child.stdout);
  const [code] = (await once(child, "close")) as [number | null];
  expect(code).toBe(0);
  expect(output()).toMatch(/^sha256=[0-9a-f]{64}\n$/);
});

testPosix.each([
  ["sandbox", ["--assumptions"], 0],
  ["listen", ["--secret-stdin"], 2],
  ["replay", ["/no/file", "--to=localhost:9"], 2],
  ["verify", ["--secret-env=SECRET", "--signature=x"], 1],
  ["doctor", ["localhost:9", "--secret-env=SECRET"], 1],
])("%s ends by itself when stdin is closed", async (name, args, expected) => {
  const script = `SECRET=whsec_test ${shell(name, ...args)} <&-`;
  const child = spawn("bash", ["-c", script], { stdio: ["pipe", "ignore", "ignore"] });
  const [code] = (await once(child, "close")) as [number | null];
  expect(code).toBe(expected);
});

testPosix("Ctrl-C while stdin is read exits with 130 and prints nothing", async () => {
  const { child, interrupt, output } = start(["sign", "--secret-env", "SECRET"]);
  child.stdin.write("{");
  await once(child, "spawn");
  // The handler is set before the first byte is read.
  await new Promise<void>((resolve) => child.stdin.write(Buffer.alloc(1_000_000), () => resolve()));
  expect(await interrupt()).toBe(130);
  expect(output).toEqual({ stdout: "", stderr: "" });
});

describeInTerminal("in a terminal", () => {
  const verify = ["verify", "--secret-env", "SECRET", "--signature", "sha256="];

  test("colors are written, unless NO_COLOR is set", async () => {
    const commandLine = `${shell(...verify)} < /dev/null`;
    const { code, output } = await inTerminal(commandLine);
    expect(code).toBe(1);
    expect(output).toContain("\u001b[31m");
    expect((await inTerminal(commandLine, { NO_COLOR: "1" })).output).not.toContain("\u001b");
    expect((await cli(verify)).stdout).not.toContain("\u001b");
  });

  test("a body is typed, and Ctrl-C ends the command with 130", async () => {
    const commandLine = shell("sign", "--secret-env", "SECRET");
    const { code, output } = await inTerminal(
      commandLine,
      {},
      {
        after: /Reading the body from the terminal/,
        type: "\u0003",
      },
    );
    expect([code, output]).toEqual([130, expect.not.stringContaining("sha256=")]);
  });
});

testInTerminal("a secret is typed after a line that asks for it", async () => {
  const file = newFile();
  writeFileSync(file, "{}");
  const { code, output } = await inTerminal(
    shell("sign", "--secret-stdin", "--body", file),
    {},
    { after: /Reading the secret from the terminal/, type: "whsec_typed\n\u0004" },
  );
  expect([code, output]).toEqual([0, expect.stringMatching(/sha256=[0-9a-f]{64}/)]);
});

describe("excerpt", () => {
  test.each([
    ["terminal sequences", "a\u001b[31mb\u001b]0;title\u0007c", "abc"],
    ["C1 controls", "a\u009b1mb\u0081c", "abc"],
    ["line breaks and tabs", "a\r\nb\tc\u2028d", "a b c d"],
    ["bidirectional and zero-width characters", "a\u202eb\u2066c\u200bd\u00ade", "abcde"],
    ["lone surrogates", "a\ud800b", "ab"],
    ["what is long", "😀".repeat(2_000), `${"😀".repeat(99)}…`],
    ["nothing else", " Grüße  😀", "Grüße 😀"],
  ])("removes %s", (_what, given, text) => {
    expect(excerpt(given, 100)).toBe(text);
  });
});

describe("masked", () => {
  // Other files run in the same process and conceal the fixture's secret.
  const unknown = "whsec_never0read1anywhere2";

  test.each([
    ["secrets", `set ${unknown}, "${unknown}" or whsec_`, 'set whsec_… "whsec_… or whsec_'],
    ["API keys", "svc_live_1a2b3c (svc_test_4d5e6f) svc_test", "svc_live_… (svc_test_… svc_test"],
    ["what was concealed", `a ${conceal("un.usual key")} b ${conceal("short")}`, "a … b short"],
  ])("hides %s", (_what, text, shown) => {
    expect(masked(text)).toBe(shown);
  });

  test("leaves what is revealed, whatever its form", () => {
    const revealed = conceal("whsec_a.b 'c'");
    expect(masked(`${revealed} ${unknown}${revealed}`, revealed)).toBe(
      `${revealed} whsec_…${revealed}`,
    );
  });
});
