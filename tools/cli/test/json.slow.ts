import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createReceiver } from "@svc-webhooks/core";
import { linesOf } from "@svc-webhooks/kit/collected";
import { freePort } from "@svc-webhooks/kit/free-port";
import { listen } from "@svc-webhooks/kit/servers";
import { root } from "@svc-webhooks/kit/programs";
import { codeIn } from "@svc-webhooks/kit/tables";
import { until } from "@svc-webhooks/kit/until";
import { webhooks } from "@svc-webhooks/node";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { expect, test } from "vitest";
import { commands } from "../src/commands.js";
import { adminFile } from "./inbox-admin.js";
import { deliver, listening } from "./listening.js";
import { cli, newFile, secret, start } from "./support.js";

const page = readFileSync(join(root, "docs/cli/json.md"), "utf8");
const rows = Array.from(page.matchAll(/^- (.+?): (.*)$/gm), ([, names = "", shapes = ""]) => ({
  names: codeIn(names),
  shapes: codeIn(shapes).filter((code) => code.startsWith("{")),
}));

test("docs/cli/json.md has the JSON of every command", () => {
  const names = rows.flatMap((row) => row.names);
  expect(names.toSorted()).toEqual(commands.map(({ name }) => name).toSorted());
});

/** Returns whether an object has the keys of a shape such as `{ a, b?, c: [{ d }] }`. */
function hasShape(value: object, shape: string): boolean {
  const [inner = ""] = /(?<=^\{).*(?=\}$)/.exec(shape) ?? [];
  const nested = /[[{][^[\]{}]*[\]}]/g;
  const flat = inner.replaceAll(nested, "").replaceAll(nested, "");
  const keys = flat.split(",").map((key) => key.replace(/:.*$/, "").trim());
  const known = new Set(keys.map((key) => key.replace("?", "")));
  const required = keys.filter((key) => !key.endsWith("?"));
  return required.every((key) => key in value) && Object.keys(value).every((key) => known.has(key));
}

test("every command writes the JSON that docs/cli/json.md has", async () => {
  const { url: SVC_BASE_URL } = await openSandbox({
    clock: "real",
    assumptions: { "A-09": "none" },
  });
  const written: (readonly [name: string, value: object])[] = [];
  type Value = Readonly<Record<string, never>>;
  const add = (name: string, lines: string): Value => {
    const values = linesOf(lines).map((line) => JSON.parse(line) as Value);
    written.push(...values.map((value) => [name, value] as const));
    return values[0] ?? {};
  };
  const run = async (name: string, ...args: readonly string[]) => {
    const words = [...name.split(" "), ...args, "--json"];
    const { stdout } = await cli(words, { env: { SVC_BASE_URL }, input: "{}" });
    return add(name, stdout);
  };

  const { domain_id } = await run("service domains add", "example.test");
  await run("service domains list");
  await run("service domains verify", domain_id ?? "");
  const url = "http://127.0.0.1:9/";
  const created = await run("service endpoints create", "--url", url, "--event=email.sent");
  const id = String(created["webhook_endpoint"]?.["webhook_endpoint_id"]);
  await run("service endpoints list");
  await run("service trigger", "domain.updated");
  await run("service trigger", "email.sent");
  const email = ["--from=a@example.test", "--to=b@example.test", "--subject=s", "--text=t"];
  await run("service emails send", ...email);
  const { send_id } = await run("service emails send", ...email, "--wait");
  await run("service sends get", send_id ?? "");
  await until(async () => {
    const { data } = await run("service events list", "--status=failed");
    return (data as unknown as readonly object[]).length > 0;
  }, "a delivery has failed");
  const { data } = await run("service events list", "--status=failed");
  await run("service events get", data?.[0]?.["event_id"] ?? "");
  await run("service events redeliver", data?.[0]?.["event_id"] ?? "");
  await run("service events redeliver-failed", id);
  await run("service events redeliver-failed", id, "--dry-run");
  await run("service event-types list");
  await run("service endpoints rotate-secret", id);
  await run("service endpoints archive", id);

  const records = newFile("receiver.mjs");
  writeFileSync(records, "export default { peek: async (ids) => ids.map(() => undefined) };");
  await run("reconcile", `--receiver=${records}`);

  const app = [
    process.execPath,
    "-e",
    "require('node:http').createServer((_, r) => r.end()).listen(process.env.PORT)",
  ];
  const to = `http://127.0.0.1:${await freePort()}/`;
  const developing = start(["dev", "--json", "--to", to, "--", ...app], {
    SVC_BASE_URL,
    PORT: undefined,
  });
  await developing.shows(/"result".*\n/);
  add("dev", developing.output.stdout);
  // The end of the test only kills the command, not the app that it has started.
  await developing.interrupt();
  const { shows, output } = start(["sandbox", "--port=0", "--json"]);
  await shows(/\n/);
  add("sandbox", output.stdout);
  await run("mcp", "--list");
  const scenario = newFile("scenario.json");
  const step = { request: { method: "GET", path: "/v1/webhook-events" }, status: 404 };
  writeFileSync(scenario, JSON.stringify({ version: 1, name: "reads", steps: [step] }));
  await run("sandbox", "--scenario", scenario);
  await run("completions", "bash");
  await run("sign", "--secret-env=SECRET");
  await run("verify", "--secret-env=SECRET", "--signature=x");
  const file = newFile();
  const receiver = createReceiver({ secret, on: { "*": () => {} }, log: () => {} });
  const receiverUrl = `http://127.0.0.1:${await listen(webhooks(receiver))}/`;
  const listener = await listening(["--save", file, "--forward-to", receiverUrl]);
  await deliver(listener.url, '{"type":"email.sent"}');
  await until(() => listener.received().length === 1, "the delivery is shown");
  add("listen", listener.output.stdout);
  await run("replay", file, "--to", receiverUrl);
  await run("redact", file, "--out", newFile("fixtures"));
  await run("drift", file);
  await run("doctor", receiverUrl, "--secret-env=SECRET");
  await run("conformance", receiverUrl, "--secret-env=SECRET");
  const program = newFile("server.cjs");
  writeFileSync(
    program,
    `require("node:http").createServer((_, response) =>
      fetch(process.env.MAIL_URL, { method: "POST" }).then(() => response.end(), () => response.destroy()),
    ).listen(process.env.PORT, "127.0.0.1");`,
  );
  const crash = [`--start=node ${program}`, "--url=http://127.0.0.1:{port}/", "--stub=MAIL_URL"];
  const admin = `--admin=${adminFile()}`;
  const checked = adminFile('inbox.check = async () => ["a problem"];', "inbox");
  await run("inbox check", `--admin=${checked}`);
  await run("inbox stats", admin);
  const letters = await run("inbox list", admin);
  const [first, second] = letters["data"] as unknown as readonly { readonly id: string }[];
  await run("inbox show", first?.id ?? "", admin);
  await run("inbox show", first?.id ?? "", "--body", admin);
  await run("inbox retry", first?.id ?? "", admin);
  await run("inbox discard", second?.id ?? "", "--reason=test", admin);
  await run("inbox release", "--rate=1", admin);
  await run("crash-test", ...crash, "--event=email.sent", "--yes");
  await run("crash-test", ...crash, "--event=email.sent", "--yes", "--list");

  expect(new Set(written.map(([name]) => name)).size).toBe(commands.length);
  const shapesOf = (name: string) => rows.find(({ names }) => names.includes(name))?.shapes ?? [];
  const undocumented = written.filter(
    ([name, value]) => !shapesOf(name).some((shape) => hasShape(value, shape)),
  );
  expect(undocumented).toEqual([]);
});
