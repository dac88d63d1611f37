import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describePosix } from "@svc-webhooks/kit/systems";
import { expect, test } from "vitest";
import { openCapture } from "../src/lib/capture.js";
import { captureFile } from "./capturing.js";
import { cli, newFile } from "./support.js";

const writers: readonly (readonly [string, readonly string[]])[] = [
  ["--save", ["listen", "--port=0", "--secret-env=SECRET"]],
  ["--html", ["crash-test", "--start=true", "--url=http://127.0.0.1:1/", "--event=email.sent"]],
];

const refusal = "is a symbolic link. Pass the path of the file itself.";

describePosix("a link is not followed", () => {
  test.for(writers)("by %s, to a file", async ([flag, words]) => {
    const target = newFile("target");
    writeFileSync(target, "", { mode: 0o644 });
    const link = newFile("link");
    symlinkSync(target, link);
    const { code, stderr } = await cli([...words, flag, link]);
    expect(stderr).toContain(`${flag} ${refusal}`);
    expect(code).toBe(2);
    expect([readFileSync(target, "utf8"), statSync(target).mode & 0o777]).toEqual(["", 0o644]);
  });

  test.for(writers)("by %s, to nothing", async ([flag, words]) => {
    const target = newFile("target");
    const link = newFile("link");
    symlinkSync(target, link);
    const { code, stderr } = await cli([...words, flag, link]);
    expect(stderr).toContain(`${flag} ${refusal}`);
    expect([code, existsSync(target)]).toEqual([2, false]);
  });

  test("in the folder of --out", async () => {
    const file = await captureFile({ body: '{"type":"email.sent"}' });
    const out = newFile("out");
    mkdirSync(out);
    const target = newFile("target");
    symlinkSync(target, join(out, basename(file)));
    const { code, stderr } = await cli(["redact", file, "--out", out]);
    expect(stderr).toContain(refusal);
    expect([code, existsSync(target)]).toEqual([2, false]);
  });

  test("unless it leads to a device, as /dev/stdout does", () => {
    const link = newFile("link");
    symlinkSync("/dev/null", link);
    expect(() => openCapture("--save", link).close()).not.toThrow();
  });
});
