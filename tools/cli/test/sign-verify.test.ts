import { sized } from "@svc-webhooks/kit/sized";
import { createHash, createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { captureFile, captureLine } from "./capturing.js";
import { cli, json, newFile, patternOf, secret } from "./support.js";

// The tests sign with node:crypto, as a user's code does.

const oldSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const body = String.raw`{"type": "email.sent", "name": "Zo\u00eb", "a": [1.0, 12345678901234567890]}`;

type Bytes = string | Uint8Array;

const digest = (message: Bytes, key: Bytes = secret, hash = "sha256") =>
  createHmac(hash, key).update(message);
const signed = (message: Bytes, key: Bytes = secret) =>
  `sha256=${digest(message, key).digest("hex")}`;

const verify = (signature: string, input: Bytes = body, env = {}) =>
  json(
    [
      "verify",
      "--explain",
      "--secret-env=SECRET",
      "--previous-secret-env=OLD",
      `--signature=${signature}`,
    ],
    input,
    { OLD: oldSecret, ...env },
  );

describe("sign", () => {
  test.each([
    ["text", body],
    ["nothing", ""],
    ["a newline at the end", `${body}\n`],
    ["bytes that are not UTF-8", Uint8Array.of(0xff, 0xfe, 0, 13, 10)],
    ["a megabyte", Buffer.alloc(1_048_576, "é")],
  ])("prints the header's value for the exact bytes: %s", async (_what, input) => {
    const { code, stdout } = await cli(["sign", "--secret-env", "SECRET"], { input });
    expect([code, stdout]).toEqual([0, `${signed(input)}\n`]);
  });

  test("notes that a body is empty", async () => {
    const { stderr } = await cli(["sign", "--secret-env", "SECRET"]);
    expect(stderr).toBe("The body is empty, so this is the signature of 0 bytes.\n");
    expect((await cli(["sign", "--secret-env", "SECRET"], { input: " " })).stderr).toBe("");
  });

  test("takes the secret from a file or stdin, without the newline at its end, and --json", async () => {
    const [file, bodyFile] = [newFile(), newFile()];
    writeFileSync(file, `${secret}\r\n`);
    writeFileSync(bodyFile, body);
    const expected = { code: 0, value: { signature: signed(body) } };
    expect(await json(["sign", "--secret-file", file], body)).toEqual(expected);
    expect(await json(["sign", "--secret-stdin", "--body", bodyFile], `${secret}\n`)).toEqual(
      expected,
    );
  });

  test("refuses a file whose secret has two newlines", async () => {
    const file = newFile();
    writeFileSync(file, `${secret}\n\n`);
    const { code, stderr } = await cli(["sign", "--secret-file", file], { input: body });
    expect([code, stderr]).toEqual([2, expect.stringContaining("white space")]);
  });
});

describe("verify", () => {
  test("exits with 0 for a genuine signature", async () => {
    expect(await verify(signed(body))).toEqual({ code: 0, value: { ok: true, mistake: null } });
    const args = ["verify", "--secret-env", "SECRET", "--signature", signed(body)];
    expect(await cli(args, { input: body })).toEqual({
      code: 0,
      stdout: "The signature is genuine.\n",
      stderr: "",
    });
  });

  test("accepts upper-case hex digits, and --explain notes that others may refuse them", async () => {
    const upper = `sha256=${digest(body).digest("hex").toUpperCase()}`;
    const args = ["verify", "--secret-env", "SECRET", "--signature", upper];
    const stdout = "The signature is genuine.\n";
    expect(await cli(args, { input: body })).toEqual({ code: 0, stdout, stderr: "" });
    const explained = await cli([...args, "--explain"], { input: body });
    expect(explained).toEqual({ code: 0, stdout, stderr: expect.stringContaining("lower case") });
    expect(await verify(upper)).toEqual({ code: 0, value: { ok: true, mistake: null } });
  });

  const pretty = JSON.stringify(JSON.parse(body), null, 2);

  test.each([
    ["reserialized JSON", "reserialized_json", signed(JSON.stringify(JSON.parse(body)))],
    ["pretty-printed JSON", "pretty_printed_json", signed(pretty)],
    ["a trailing newline", "newline_added", signed(`${body}\n`)],
    ["CRLF", "newline_added", signed(`${body}\r\n`)],
    ["a byte order mark", "bom_added", signed(`\uFEFF${body}`)],
    ["unescaped Unicode", "unescaped_unicode", signed(body.replace("\\u00eb", "ë"))],
    ["a secret with quotes", "secret_quoted", signed(body, `"${secret}"`)],
    ["a secret with a space", "secret_space", signed(body, `${secret} `)],
    ["whsec_ stripped", "secret_prefix_stripped", signed(body, secret.slice(6))],
    [
      "a base64-decoded secret",
      "secret_base64_decoded",
      signed(body, Buffer.from(secret.slice(6), "base64")),
    ],
    ["base64 instead of hex", "base64", `sha256=${digest(body).digest("base64")}`],
    ["SHA-1", "sha1", `sha1=${digest(body, secret, "sha1").digest("hex")}`],
    ["SHA-512", "sha512", `sha512=${digest(body, secret, "sha512").digest("hex")}`],
    ["the old secret", "old_secret", signed(body, oldSecret)],
    ["a missing prefix", "missing_prefix", digest(body).digest("hex")],
    ["key and message swapped", "swapped", signed(secret, body)],
    ["no signature", "missing_header", ""],
    ["a hash without a key", "plain_hash", createHash("sha256").update(body).digest("hex")],
  ])("names %s and never accepts it", async (_what, mistake, signature) => {
    expect(await verify(signature)).toEqual({ code: 1, value: { ok: false, mistake } });
  });

  test.each([
    ["CRLF to LF", "line_endings", "{\r\n}", signed("{\n}")],
    ["LF to CRLF", "line_endings", "{\n}", signed("{\r\n}")],
  ])("names line endings: %s", async (_what, mistake, input, signature) => {
    expect(await verify(signature, input)).toEqual({ code: 1, value: { ok: false, mistake } });
  });

  test.each([
    ["quotes", `"${secret}"`, "secret_quoted"],
    ["a newline", `${secret}\n`, "secret_space"],
  ])("accepts nothing with a given secret that has %s", async (_what, spoilt, mistake) => {
    for (const signature of [signed(body), signed(body, spoilt)]) {
      expect(await verify(signature, body, { SECRET: spoilt })).toEqual({
        code: 1,
        value: { ok: false, mistake },
      });
    }
  });

  test("accepts no body or secret that differs in one bit", async () => {
    const bytes = Buffer.from(body);
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: bytes.length - 1 }),
        fc.nat({ max: 7 }),
        fc.nat({ max: secret.length - 7 }),
        async (at, bit, inSecret) => {
          const spoilt = Buffer.from(bytes);
          spoilt[at] = Number(spoilt[at]) ^ (1 << bit);
          expect((await verify(signed(body), spoilt)).code).toBe(1);
          const other = Array.from(secret, (letter, index) =>
            index === inSecret + 6 ? (letter === "x" ? "y" : "x") : letter,
          ).join("");
          expect((await verify(signed(body), body, { SECRET: other })).code).toBe(1);
        },
      ),
      { numRuns: sized(2, 6) },
    );
  });

  test("prints the cause, the fix and the first difference", async () => {
    const args = [
      "verify",
      "--explain",
      "--secret-env=SECRET",
      `--signature=${signed(`${body}\n`)}`,
    ];
    const { code, stdout, stderr } = await cli(args, { input: body });
    expect([code, stderr]).toEqual([1, ""]);
    expect(stdout).toMatch(
      /^Not genuine: signature_mismatch\.\nCause: .+newline.+\nFix: {3}.+\nId: {4}newline_added\nBody: {2}\d+ bytes were signed\. The first difference is at byte \d+\.\n {2}sent {2}(.+)\n {2}yours \1\\n\n$/,
    );
    const short = await cli(
      args.filter((arg) => arg !== "--explain"),
      { input: body },
    );
    expect(short.stdout).toBe(
      "Not genuine: signature_mismatch.\nAdd --explain to find the cause.\n",
    );
  });

  test("prints what to compare if no known mistake makes the signature, and no control characters", async () => {
    const args = ["verify", "--explain", "--secret-env=SECRET", "--signature=\u001b[31m\u202e"];
    const { code, stdout } = await cli(args, { input: body });
    expect(code).toBe(1);
    expect(stdout).toContain("no known mistake produces this signature");
    expect(stdout).toContain(createHash("sha256").update(body).digest("hex"));
    expect(stdout).toMatch(/^[\n -~]+$/);
    expect(await verify(`sha256=${"0".repeat(64)}`)).toEqual({
      code: 1,
      value: {
        ok: false,
        mistake: null,
        next_step: expect.stringContaining(createHash("sha256").update(body).digest("hex")),
      },
    });
  });
});

describe("verify prints", () => {
  const event = '{ "type": "email.sent" }';
  const digits = digest(event).digest("hex");

  /** The lines, in which … is any text, for options and the secret's variable. */
  test.each<[string, string, readonly string[], readonly string[]]>([
    [
      "the code of a missing signature",
      "SECRET",
      ["--signature="],
      ["Not genuine: signature_missing.", "Add --explain to find the cause."],
    ],
    [
      "a mistake that is not in the body",
      "SECRET",
      [`--signature=sha256=${digits.slice(0, -1)}`, "--explain"],
      [
        "Not genuine: signature_malformed.",
        "Cause: …",
        "Fix:   …",
        "Id:    truncated",
        `First difference at character 71: expected "${digits.charAt(63)}", found its end.`,
      ],
    ],
    [
      "what to compare for an unknown mistake",
      "SECRET",
      ["--signature=sha256=z", "--explain"],
      [
        "Not genuine: signature_malformed.",
        "Cause: no known mistake produces this signature.",
        "Next:  Print the length and the SHA-256 …",
        `First difference at character 8: expected "${digits.charAt(0)}", found "z".`,
      ],
    ],
    [
      "the previous secret as a mistake",
      "SECRET",
      [`--signature=${signed(event, oldSecret)}`, "--explain", "--previous-secret-env=OLD"],
      [
        "Not genuine: signature_mismatch.",
        "Cause: …",
        "Fix:   …",
        "Id:    old_secret",
        "First difference at character 8: …",
      ],
    ],
    [
      "a secret with a space as the cause",
      "SPACED",
      [`--signature=${signed(event)}`],
      [
        "Not genuine. The given secret has white space around it. Remove the white space where the secret is stored.",
      ],
    ],
    [
      "a secret in quotes as the cause",
      "QUOTED",
      [`--signature=${signed(event)}`, "--explain"],
      ["Not genuine. The given secret is in quotes. Remove the quotes where the secret is stored."],
    ],
  ])("%s", async (_what, variable, flags, lines) => {
    const env = { OLD: oldSecret, SPACED: ` ${secret}`, QUOTED: `'${secret}'` };
    const args = ["verify", `--secret-env=${variable}`, ...flags];
    expect(await cli(args, { input: event, env })).toEqual({
      code: 1,
      stdout: expect.stringMatching(patternOf(lines)),
      stderr: "",
    });
  });

  test("a note on upper-case hex digits", async () => {
    const upper = `--signature=sha256=${digits.toUpperCase()}`;
    const args = ["verify", "--secret-env=SECRET", upper, "--explain"];
    expect((await cli(args, { input: event })).stderr).toBe(
      'The hex digits of this signature are in upper case, which other receivers may refuse. Write them in lower case, as digest("hex") does.\n',
    );
  });

  test.each<[string, readonly string[], string]>([
    [
      "a missing signature, before the secret is read",
      ["--secret-env=ABSENT"],
      "--signature is missing. svc-webhooks verify --help lists its arguments and options.",
    ],
    [
      "an option of senders",
      ["--at=1"],
      "--at needs --scheme. Add --scheme <name>, or remove --at.",
    ],
    [
      "a capture with a signature",
      ["--capture=f", "--signature=x"],
      "--capture already contains the signature. Remove --signature, or --capture.",
    ],
    [
      "a capture with a header",
      ["--capture=f", "--header=a: b"],
      "--header needs --scheme. Add --scheme <name>, or remove --header.",
    ],
    [
      "a capture with a body",
      ["--secret-env=SECRET", "--capture=f", "--body=f"],
      "--capture already contains the headers and the body. Remove --header and --body, or --capture.",
    ],
    [
      "a signature for a sender, before its missing headers",
      ["--scheme=stripe", "--signature=x"],
      "--signature is only for the service's own signatures. With --scheme, pass the sender's headers with --header 'Name: value'.",
    ],
    [
      "a secret and a body on stdin, before a missing signature",
      ["--secret-stdin"],
      "--secret-stdin needs --body, because stdin cannot contain both the secret and the body. Add --body <file>, or use --secret-env or --secret-file.",
    ],
  ])("an error for %s", async (_what, flags, text) => {
    expect(await cli(["verify", ...flags], { input: event })).toEqual({
      code: 2,
      stdout: "",
      stderr: `svc-webhooks verify: ${text}\n`,
    });
  });
});

describe("a capture of the service", () => {
  const event = '{ "type": "email.sent" }';
  const secretOption = "--secret-env=SECRET";

  test("is verified without --scheme", async () => {
    const file = await captureFile({ body: event }, { body: `${event} ` });
    for (const line of ["1", "2"]) {
      const { code, stdout } = await cli([
        "verify",
        secretOption,
        "--capture",
        file,
        "--line",
        line,
      ]);
      expect([code, stdout]).toEqual([0, "The signature is genuine.\n"]);
    }
  });

  test("is explained without --scheme", async () => {
    const file = newFile("changed.jsonl");
    const request = JSON.parse(
      await captureLine({ body: JSON.stringify(JSON.parse(event)) }),
    ) as object;
    const changed = { ...request, body: Buffer.from(event).toString("base64") };
    writeFileSync(file, JSON.stringify(changed));
    const { value } = await json(["verify", secretOption, "--capture", file, "--explain"]);
    expect(value).toMatchObject({ ok: false, mistake: "reserialized_json" });
  });

  test("without a signature is not genuine", async () => {
    const file = newFile("unsigned.jsonl");
    const request = JSON.parse(await captureLine({ body: event })) as object;
    writeFileSync(file, JSON.stringify({ ...request, headers: [] }));
    const { code, stdout } = await cli(["verify", secretOption, "--capture", file]);
    expect([code, stdout]).toEqual([1, expect.stringContaining("signature_missing")]);
  });
});
