import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { textOf } from "../src/lib/read.js";
import { cli, newFile, secret } from "./support.js";

const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le");
const bigEndian = (text: string) => utf16(text).swap16();
const withoutMark = (text: string) => utf16(text).subarray(2);
const latin1 = (text: string) => Buffer.from(text, "latin1");
const png = () => Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

const body = '{"type":"email.sent","data":{"name":"Zoë"}}';

const captured = JSON.stringify({
  at: "2026-11-25T10:00:00.000Z",
  method: "POST",
  path: "/",
  headers: [["x-name", "Zoë"]],
  body: Buffer.from(body).toString("base64"),
  verdict: "genuine",
});

function fileWith(content: string | Uint8Array): string {
  const file = newFile("input.txt");
  writeFileSync(file, content);
  return file;
}

const nowhere = "http://127.0.0.1:9/";
const email = "service emails send --from a@a.test --to b@b.test --subject s --base-url".split(" ");
const crashTest = [
  "crash-test",
  "--start=true",
  "--url=http://127.0.0.1:1/",
  "--secret-env=SECRET",
];

/** Each command line that reads a text file, and the name of the file in its errors. */
const readers: readonly (readonly [(file: string) => readonly string[], string])[] = [
  [(file) => ["sign", "--body", file, "--secret-file", file], "The secret from --secret-file"],
  [
    (file) => ["service", "event-types", "list", "--base-url", nowhere, "--api-key-file", file],
    "The API key from --api-key-file",
  ],
  [
    (file) => ["doctor", nowhere, "--secret-env=SECRET", "--previous-secret-file"].concat(file),
    "The secret from --previous-secret-file",
  ],
  [(file) => [...email, nowhere, "--text-file", file], "--text-file"],
  [(file) => [...email, nowhere, "--html-file", file], "--html-file"],
  [(file) => ["replay", file, "--to", nowhere], "The capture file"],
  [(file) => ["redact", file, "--out", `${file}.out`], "The capture file"],
  [(file) => ["drift", file], "The capture file"],
  [
    (file) => ["verify", "--scheme=github", "--secret-env=SECRET", "--capture", file],
    "The capture file",
  ],
  [(file) => [...crashTest, "--deliver", file], "--deliver"],
];

describe.each(readers.map(([words, what]) => [words("<file>").join(" "), words, what] as const))(
  "%s",
  (_line, wordsFor, what) => {
    test.each([
      ["UTF-16", utf16, /^ is UTF-16\. Save it as UTF-8\./],
      [
        "UTF-16 without a byte order mark",
        (text: string) => withoutMark(text.replace("ë", "e")),
        /^ is not UTF-8 text(?: in line 1)?: it contains a NUL byte\. Save it as UTF-8\./,
      ],
      ["Latin-1", latin1, /^ is not UTF-8 text(?: in line 1)?\. Save it as UTF-8\./],
    ])("refuses a file in %s", async (_name, encode, expected) => {
      const { code, stderr } = await cli(wordsFor(fileWith(encode(captured))));
      const [, rest = stderr] = stderr.split(what);
      expect(rest).toMatch(expected);
      expect(code).toBe(2);
    });
  },
);

test.each([
  ["UTF-16", utf16, "x is UTF-16."],
  ["UTF-16, big-endian", bigEndian, "x is UTF-16."],
  ["Latin-1", latin1, "x is not UTF-8 text in line 2."],
  ["an image", png, "x is not UTF-8 text in line 2"],
  ["text with a NUL byte", () => Buffer.from("a\0b"), "x is not UTF-8 text in line 2: it contains"],
])("bytes that are not UTF-8 are refused: %s", (_name, encode, message) => {
  expect(() => textOf("x", encode("Zoë"), " in line 2")).toThrow(message);
});

describe("a byte order mark of UTF-8", () => {
  test("is not a part of a secret", async () => {
    const words = ["sign", `--body=${fileWith(body)}`];
    const [marked, plain] = await Promise.all(
      [`\uFEFF${secret}\r\n`, secret].map((text) =>
        cli([...words, `--secret-file=${fileWith(text)}`]),
      ),
    );
    expect(marked).toEqual(plain);
  });

  test("is signed with the body that begins with it", async () => {
    const signed = (bytes: string) =>
      cli(["sign", "--secret-env=SECRET", `--body=${fileWith(bytes)}`]);
    const [marked, plain] = await Promise.all([signed(`\uFEFF${body}`), signed(body)]);
    expect(marked.code).toBe(0);
    expect(marked.stdout).not.toBe(plain?.stdout);
  });

  test.each([
    ["a file", captured],
    ["each file of several that were joined", `${captured}\n\uFEFF${captured}\n`],
  ])("is not a part of %s with captured requests", async (_what, text) => {
    const file = fileWith(`\uFEFF${text}`);
    const { code, stderr } = await cli(["redact", file, "--out", `${file}.out`]);
    expect([stderr, code]).toEqual(["", 0]);
  });

  test("is not a part of a scenario", async () => {
    const file = fileWith(`\uFEFF{"name":"x"}`);
    const { stderr } = await cli(["sandbox", "--scenario", file, "--to", nowhere]);
    expect(stderr).not.toMatch(/JSON/);
    expect(stderr).toMatch(/version must be 1/);
  });
});

test.each([
  ["with a byte order mark", utf16],
  ["without one", withoutMark],
])("a scenario in UTF-16 %s is refused", async (_what, encode) => {
  const { code, stderr } = await cli(["sandbox", "--scenario", fileWith(encode("{}"))]);
  expect(stderr).toMatch(/^svc-webhooks sandbox: The scenario file \S+ is not UTF-8 text\. Save/);
  expect(code).toBe(2);
});

describe("- is stdin", () => {
  const wanted = () => cli(["sign", "--secret-env=SECRET", `--body=${fileWith(body)}`]);

  test("for a body", async () => {
    const { stdout } = await cli(["sign", "--secret-env=SECRET", "--body=-"], { input: body });
    expect(stdout).toBe((await wanted()).stdout);
  });

  test("for a secret", async () => {
    const words = ["sign", "--secret-file", "-", `--body=${fileWith(body)}`];
    const { stdout } = await cli(words, { input: `${secret}\n` });
    expect(stdout).toBe((await wanted()).stdout);
  });

  test.each(["--text-file", "--html-file"])("for %s", async (option) => {
    const { code, stderr } = await cli([...email, nowhere, option, "-"], { input: "" });
    expect(stderr).toContain("The email has no body.");
    expect(code).toBe(2);
  });

  test("for an API key", async () => {
    const words = ["listen", "--port=0", "--base-url=http://127.0.0.1:9/", "--api-key-file=-"];
    const { code, stderr } = await cli(words, { input: "svc_key" });
    expect(stderr).toContain("Nothing is listening at http://127.0.0.1:9/");
    expect(code).toBe(1);
  });

  test.each([
    [["sign", "--secret-file=-", "--body=-"], "--secret-file and --body"],
    [["sign", "--secret-stdin", "--body=-"], "--secret-stdin and --body"],
    [[...email, nowhere, "--text-file=-", "--html-file=-"], "--text-file and --html-file"],
    [["replay", "-", "--to", nowhere, "--secret-file=-"], "- and --secret-file"],
    [["drift", "-", "-"], "- and -"],
    [[...crashTest, "--deliver=-", "--deliver=-"], "--deliver and --deliver"],
  ])("once only: %j", async (words: readonly string[], names) => {
    const { code, stderr } = await cli(words);
    expect(stderr).toContain(
      `Stdin cannot be read twice, for ${names}. Save one of them to a file`,
    );
    expect(code).toBe(2);
  });

  test("not for a secret if the body comes from there", async () => {
    const { code, stderr } = await cli(["sign", "--secret-file=-"]);
    expect(stderr).toContain("--secret-file needs --body, because stdin cannot contain both");
    expect(code).toBe(2);
  });

  test.each([
    [["listen", "--save", "-"], "--save"],
    [[...crashTest, "--html=-"], "--html"],
    [["redact", "x.jsonl", "--out", "-"], "--out"],
    [["drift", "x.jsonl", "--schemas", "-"], "--schemas"],
    [["inbox", "stats", "--admin", "-"], "--admin"],
    [["reconcile", "--receiver", "-"], "--receiver"],
  ])("not for a file that is not read: %j", async (words: readonly string[], option) => {
    const { code, stderr } = await cli(words);
    expect(stderr).toContain(`${option} cannot be -, because`);
    expect(code).toBe(2);
  });

  test.each(["text", "html"])("not for --%s, which is the body itself", async (option) => {
    const { code, stderr } = await cli([...email, nowhere, `--${option}`, "-"]);
    expect(stderr).toContain(`To read the body from stdin, write --${option}-file -.`);
    expect(code).toBe(2);
  });
});

describe("a value that begins with a dash", () => {
  test.each([
    ["--subject", "-20 % today"],
    ["--text", "-- \nAda"],
    ["--idempotency-key", "-1"],
    ["--text", "--unknown"],
  ])("is refused with the way to write it: %s", async (option, value) => {
    const { code, stderr } = await cli([...email, nowhere, option, value]);
    expect(stderr).toContain(
      `The value of ${option} begins with a dash. Write it as ${option}=-…, in quotes if it contains spaces.`,
    );
    expect(stderr).not.toContain(value);
    expect(code).toBe(2);
  });

  test("is accepted after an equals sign", async () => {
    const { stderr } = await cli([...email, nowhere, "--text=-20 % today"]);
    expect(stderr).toContain("Nothing is listening");
  });

  test.each(["--text", "--text=x", "--json", "-h"])("is not the next option %s", async (next) => {
    const { code, stderr } = await cli([...email, nowhere, "--html", next]);
    expect(stderr).toMatch(/--html has no value, because \S+ is an option\./);
    expect(code).toBe(2);
  });
});

describe("a wrong input names its source and its fix", () => {
  const keyFile = () => fileWith("svc_live_1234\nsecond line\n");
  const large = Buffer.alloc(2 ** 26 + 1);

  test.each<[string, readonly string[], RegExp, Uint8Array?]>([
    [
      "an API key with two lines in a file",
      ["service", "event-types", "list", "--base-url", nowhere, "--api-key-file", "KEY"],
      /The API key from --api-key-file must be printable ASCII/,
    ],
    [
      "an API key with white space in a variable",
      ["service", "event-types", "list", "--base-url", nowhere, "--api-key-env", "SPACED"],
      /The API key in SPACED must be printable ASCII/,
    ],
    [
      "a port that does not exist",
      ["listen", "--port=99999", "--secret-env=SECRET"],
      /For example, write --port 4011\./,
    ],
    [
      "a large body on stdin",
      ["sign", "--secret-env=SECRET"],
      /sign: The body on stdin is larger than 64 MiB\./,
      large,
    ],
    [
      "a folder as the body",
      ["sign", "--secret-env=SECRET", "--body=/"],
      /sign: \/ is a folder\. Pass a file\./,
    ],
    [
      "a URL of a module that does not exist",
      ["reconcile", "--endpoint=we_1", "--receiver=file:///no/receiver.mjs"],
      /--receiver file:\/\/\/no\/receiver\.mjs does not exist/,
    ],
  ])("%s", async (_what, words, text, input = new Uint8Array()) => {
    const args = words.map((word) => (word === "KEY" ? keyFile() : word));
    const { code, stderr } = await cli(args, { input, env: { SPACED: "svc live" } });
    expect([code, stderr]).toEqual([2, expect.stringMatching(text)]);
  });

  test("a module may be named by its URL", async () => {
    const path = newFile("events.mjs");
    writeFileSync(path, "export const nothing = 1;");
    const { stderr } = await cli([
      "drift",
      fileWith(captured),
      "--schemas",
      String(pathToFileURL(path)),
    ]);
    expect(stderr).toContain("exports no schemas");
  });
});
