import { spawn } from "node:child_process";
import { once } from "node:events";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { curlCommand } from "../../src/read/curl.js";
import { receiver, open, type Received } from "../support.js";

/** Runs the command as if it were typed into a shell, which does not limit the length of a line. */
async function run(command: string): Promise<void> {
  const shell = spawn("/bin/sh", { stdio: ["pipe", "ignore", "ignore"] });
  shell.stdin.end(command);
  expect(await once(shell, "exit")).toEqual([0, null]);
}

const sent = ({ headers }: Received) => {
  // These headers belong to the connection, not to the delivery.
  const { host: _host, connection: _connection, ...rest } = headers;
  return rest;
};

describe("GET deliveries/{id}/attempts/{n}/curl", () => {
  testPosix("is a command that sends the same bytes, headers and signature", async () => {
    const { control, endpoint, send, settle } = await open();
    const { url, got } = await receiver(200);
    const { secret } = await endpoint(`${url}?it's=[1-3]&x=$HOME`);
    await send({ subject: "It's a “receipt” — 100 % $HOME `id` \\n !" });
    await settle();
    const deliveries = (await control("GET timeline")).body.data[0]?.events[0]?.deliveries;
    const path = `GET deliveries/${deliveries?.[0]?.id}/attempts/1/curl`;
    const { text, headers } = await control(path);
    expect(headers.get("content-type")).toMatch(/^text\/plain/);
    expect(text).not.toContain(secret.slice(6));
    const first = got.find((one) => one.headers["x-svc-delivery-id"] === deliveries?.[0]?.id);
    const count = got.length;
    await run(text);
    const again = got[count];
    expect(again?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
    expect(again && sent(again)).toEqual(first && sent(first));
  });

  testPosix.each(["missing_header", "duplicate_header", "flipped_byte", "reserialized"])(
    "repeats an attempt that was tampered with (%s)",
    async (tamper) => {
      const { control, endpoint, send, settle } = await open();
      const { url, got } = await receiver(401);
      await endpoint(url);
      await send();
      await settle();
      const deliveries = (await control("GET timeline")).body.data[0]?.events[0]?.deliveries;
      await control(`POST deliveries/${deliveries?.[0]?.id}/send`, { tamper });
      await settle();
      const tampered = got.at(-1);
      await run((await control(`GET deliveries/${deliveries?.[0]?.id}/attempts/2/curl`)).text);
      const again = got.at(-1);
      expect(again).not.toBe(tampered);
      expect(again?.body.equals(tampered?.body ?? Buffer.alloc(0))).toBe(true);
      expect(again && sent(again)).toEqual(tampered && sent(tampered));
    },
  );
});

describe("a curl command", () => {
  const bodies: readonly (readonly [string, Uint8Array])[] = [
    ["quotes", Buffer.from(`'"\`$(id)\\'`)],
    ["a leading @", Buffer.from("@/etc/passwd")],
    ["line breaks and tabs", Buffer.from("a\n\tb\n")],
    ["a carriage return and an escape", Buffer.from("a\r\n\u001b[2J")],
    ["a byte order mark", Buffer.from("\ufeff{}")],
    ["bytes that are not UTF-8", Buffer.from([0xff, 0x00, 0x80, 0x0a])],
    ["nothing", Buffer.alloc(0)],
    ["a mebibyte", Buffer.alloc(1_048_576, "é")],
  ];

  testPosix.each(bodies)("reproduces a body with %s", async (_what, body) => {
    const { url, got } = await receiver();
    const command = curlCommand({ url, headers: [["X-Empty", ""]], body });
    expect(command).not.toMatch(/[^\P{Cc}\n\t]/u);
    await run(command);
    expect(got[0]?.body.equals(body)).toBe(true);
    expect(got[0]?.headers["x-empty"]).toBe("");
  });

  test("is refused for a header with a line break", () => {
    const request = { url: "http://localhost/", headers: [["X", "a\r\nY: b"]] as const };
    expect(() => curlCommand({ ...request, body: Buffer.alloc(0) })).toThrow("line break");
  });
});
