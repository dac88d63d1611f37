import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import {
  createReceiver,
  memoryStore,
  type OutcomeCode,
  type Receiver,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { outcomeTexts } from "@svc-webhooks/core/outcomes";
import { webhooks as express } from "@svc-webhooks/express";
import { webhooks as hono } from "@svc-webhooks/hono";
import { startModule } from "@svc-webhooks/kit/programs";
import { listen } from "@svc-webhooks/kit/servers";
import { webhooks as next } from "@svc-webhooks/next";
import { webhooks as node } from "@svc-webhooks/node";
import { fixture } from "@svc-webhooks/testing";
import expressApp, { type Express } from "express";
import { Hono } from "hono";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import {
  cli,
  describeInTerminal,
  testInTerminal,
  inTerminal,
  json,
  secret,
  shell,
  start,
} from "./support.js";

type Finding = Readonly<Record<"id" | "happened" | "cause" | "fix" | "mistake", string>>;

const receiver = (options: Partial<ReceiverOptions> = {}): Receiver =>
  createReceiver({ secret, on: { "*": () => {} }, log: () => {}, ...options });

const app = (build: (app: Express) => void): RequestListener => {
  const one = expressApp();
  build(one);
  return one as RequestListener;
};

interface Examination {
  readonly args?: readonly string[];
  /** How long the command waits for each response. Less than the default only if there is none. */
  readonly seconds?: number | undefined;
}

/** Runs the command. By default, a response comes in time, however busy the machine is. */
async function examine(listener: RequestListener, { args = [], seconds = 30 }: Examination = {}) {
  const port = await listen(listener);
  const url = `http://127.0.0.1:${port}/webhooks`;
  const keys = ["--secret-env=SECRET", "--previous-secret-env=OLD"];
  const flags = [...keys, `--timeout=${seconds}`, ...args];
  const { code, value } = await json(["doctor", url, ...flags], "", { OLD: oldSecret });
  const findings = value["findings"] as readonly Finding[];
  return { code, url, value, findings, ids: findings.map(({ id }) => id) };
}

const oldSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

describe("finds nothing wrong with the adapters", () => {
  test.each<[string, () => RequestListener]>([
    ["node", () => node(receiver())],
    ["Express", () => app((one) => one.post("/webhooks", express(receiver())))],
    [
      "Hono",
      () => {
        const { fetch } = new Hono().post("/webhooks", hono(receiver()));
        return getRequestListener(fetch, { overrideGlobalObjects: false });
      },
    ],
    ["Next.js", () => getRequestListener(next(receiver()).POST, { overrideGlobalObjects: false })],
  ])("%s", async (_name, make) => {
    const { code, value, url } = await examine(make());
    expect({ code, findings: value["findings"] }).toEqual({ code: 0, findings: [] });
    expect(value["url"]).toBe(url);
    expect(value["not_judged"]).toHaveLength(5);
    expect((value["probes"] as readonly unknown[]).length).toBeGreaterThan(15);
  });
});

/** Returns a receiver that responds to ten requests a second, and with 429 to the others. */
function limited(retryAfter: () => string): RequestListener {
  let second = 0;
  let count = 0;
  return (request, response) => {
    const now = Math.floor(Date.now() / 1_000);
    if (now !== second) [second, count] = [now, 0];
    count += 1;
    if (count <= 10) handWritten(isGenuine)(request, response);
    else response.writeHead(429, { "Retry-After": retryAfter() }).end();
  };
}

/** Returns whether a value has all fields of another, at any depth, with values of the same types. */
const hasFieldsOf = (model: unknown, value: unknown): boolean =>
  typeof model === "object" && model !== null
    ? Object.entries(model).every(([name, one]) => {
        const fields = Object(value) as Readonly<Record<string, unknown>>;
        return hasFieldsOf(one, fields[name]);
      })
    : typeof value === typeof model;

/** Returns whether a body is a complete event of the service. */
const isEnvelope = (body: Buffer) => hasFieldsOf(fixture("email.sent"), JSON.parse(String(body)));

describe("finds nothing wrong with hand-written receivers without a mistake", () => {
  test.each<[string, () => RequestListener]>([
    ["a rate limit in seconds", () => limited(() => "1")],
    [
      "a rate limit that names a date",
      () => limited(() => new Date(Date.now() + 1_000).toUTCString()),
    ],
    [
      "the event id of the header is compared with that of the body",
      () =>
        handWritten((body, signature, { headers }) => {
          if (!isGenuine(body, signature)) return false;
          const { event_id: id } = JSON.parse(body.toString()) as { readonly event_id: string };
          return id === headers["x-svc-event-id"] || 400;
        }),
    ],
    [
      "an empty body is an error",
      () => handWritten((body, signature) => (body.length > 0 ? isGenuine(body, signature) : 500)),
    ],
    [
      "a limit of exactly 64 KiB",
      () =>
        handWritten((body, signature) => (body.length > 65_536 ? 413 : isGenuine(body, signature))),
    ],
    [
      "the body is validated",
      () =>
        handWritten((body, signature) =>
          isGenuine(body, signature) ? isEnvelope(body) || 422 : false,
        ),
    ],
  ])("%s", async (_name, make) => {
    const { code, value } = await examine(make());
    expect({ code, findings: value["findings"] }).toEqual({ code: 0, findings: [] });
    expect(value["not_judged"]).toHaveLength(5);
  });

  test.each([403, 429, 503])(
    "a lock that responds with %i after wrong signatures is named once as not judged",
    async (status) => {
      const { code, value, findings } = await examine(locking(isGenuine, status));
      expect([code, findings]).toEqual([0, []]);
      const [first, ...others] = value["not_judged"] as readonly string[];
      expect(first).toMatch(/^everything else, because .+: status (?:403|429|503)\.$/);
      expect(others).toHaveLength(5);
    },
  );

  test.each([
    ["closes connections", hangUp, {}],
    ["leaves requests without a response", () => {}, { seconds: 5 }],
  ])("a lock that %s after wrong signatures is named once as not judged", async (...row) => {
    const [, drop, waiting] = row;
    const { code, value, findings } = await examine(locking(isGenuine, drop), waiting);
    expect([code, findings]).toEqual([0, []]);
    const [first, ...others] = value["not_judged"] as readonly string[];
    expect(first).toMatch(
      /^everything else, because .+ as a lockout would: .+: no response \(.+\)\.$/,
    );
    expect(others).toHaveLength(5);
  });

  test("the text states how many probes a lock has left", async () => {
    const url = `http://127.0.0.1:${await listen(locking(isGenuine, 429, 3))}/`;
    const { code, stdout } = await cli(["doctor", url, "--secret-env=SECRET"]);
    expect(code).toBe(0);
    expect(stdout).toContain("\nStopped after 5 of 64 probes; no mistake found so far.\n");
    expect(stdout).not.toContain("No mistake found.");
  });

  test("a rate limit that demands a long pause is named once as not judged", async () => {
    let count = 0;
    const { code, value, findings } = await examine((request, response) => {
      count += 1;
      if (count <= 5) handWritten(isGenuine)(request, response);
      else response.writeHead(429, { "Retry-After": "60" }).end();
    });
    expect([code, findings, count]).toEqual([0, [], 6]);
    const [first, ...others] = value["not_judged"] as readonly string[];
    expect(first).toMatch(/^everything else, because of a rate limit: .+: status 429\.$/);
    expect(others).toHaveLength(5);
  });
});

const hangUp = ({ socket }: IncomingMessage) => void socket.destroy();

/**
 * Returns a receiver that refuses everything after some wrong signatures, with a status or without a response.
 */
function locking(
  isRight: (body: Buffer, signature: string) => boolean,
  lock: number | ((request: IncomingMessage) => void),
  most = 5,
): RequestListener {
  let wrong = 0;
  const judging = handWritten((body, signature) => {
    if (wrong >= most && typeof lock === "number") return lock;
    if (isRight(body, signature)) return true;
    wrong += 1;
    return false;
  });
  return (request, response) => {
    if (wrong >= most && typeof lock !== "number") lock(request);
    else judging(request, response);
  };
}

describe("findings that a lock or a limit interrupts are printed", () => {
  const unsigned = (body: Buffer, signature: string) =>
    signature === "" || isGenuine(body, signature);

  const locks = [
    [403, 403],
    [429, 429],
    ["closed connections", hangUp],
  ] as const;

  test.each(locks)("an accepted forgery before a lock with %s", async (_name, lock) => {
    const { ids, value } = await examine(locking(unsigned, lock));
    expect(ids).toEqual(["unsigned_accepted"]);
    expect(value["not_judged"]).toHaveLength(6);
  });

  test.each([locks[1], locks[2]])(
    "a genuine delivery that is refused, while its cause is looked for before a lock with %s",
    async (_name, lock) => {
      const never = (body: Buffer, signature: string) =>
        signed(body, "whsec_another") === signature;
      const { ids, value } = await examine(locking(never, lock));
      expect(ids).toEqual(["wrong_secret"]);
      expect(value).toHaveProperty("findings.0.fix", expect.stringContaining("the fingerprint"));
      expect(value["not_judged"]).toHaveLength(6);
    },
  );

  test.each(locks)("an altered body before a lock with %s", async (_name, lock) => {
    const trimmed = (body: Buffer, signature: string) =>
      signature === signed(body.toString().trim());
    const { ids, value } = await examine(locking(trimmed, lock, 57));
    expect(ids).toEqual(["body_altered"]);
    expect(value["not_judged"]).toHaveLength(6);
  });
});

test("reads 64 KiB of a response that does not end, and closes the connection", async () => {
  const written: number[] = [];
  const respond: RequestListener = async (request, response) => {
    const body = await buffer(request);
    const isRight = isGenuine(body, String(request.headers["x-svc-signature"]));
    response.writeHead(isRight ? 200 : 401);
    const index = written.push(0) - 1;
    const piece = Buffer.alloc(65_536, "x");
    const write = () => {
      while (!response.destroyed) {
        written[index] = (written[index] ?? 0) + piece.length;
        if (!response.write(piece)) return void response.once("drain", write);
      }
    };
    write();
  };
  // A probe may hang up before the end of its body.
  const { code, findings } = await examine(
    (request, response) => void Promise.resolve(respond(request, response)).catch(() => {}),
  );
  expect({ code, findings }).toEqual({ code: 0, findings: [] });
  // The rest is in buffers of sockets.
  expect(Math.max(...written)).toBeLessThan(32 * 1_048_576);
});

test("sends only the type svc-webhooks.doctor", async () => {
  const types = new Set<string>();
  const collecting = receiver({
    on: { "*": ({ type }: { type: string }) => void types.add(type) },
  });
  expect((await examine(node(collecting))).code).toBe(0);
  expect([...types]).toEqual(["svc-webhooks.doctor"]);
});

type Verdict = boolean | number;

/**
 * Returns a hand-written receiver, which reads the body, then responds with 200 for true, 401 for false, or a
 * status.
 */
const handWritten =
  (
    judge: (body: Buffer, signature: string, request: IncomingMessage) => Verdict,
    read: (request: IncomingMessage) => Promise<Buffer> = buffer,
  ): RequestListener =>
  async (request, response) => {
    const signature = String(request.headers["x-svc-signature"] ?? "");
    const verdict = await read(request)
      .then((body) => judge(body, signature, request))
      .catch(() => 500);
    response.statusCode = verdict === true ? 200 : verdict === false ? 401 : verdict;
    response.end();
  };

const hmac = (body: string | Buffer, key: string | Buffer = secret, hash = "sha256") =>
  createHmac(hash, key).update(body).digest("hex");
const signed = (body: string | Buffer, key: string | Buffer = secret) =>
  `sha256=${hmac(body, key)}`;

const isGenuine = (body: Buffer, signature: string) => signed(body) === signature;

/** Parses with `express.json()`, then verifies the signature of the result after `JSON.stringify`. */
const reserializing = app((one) => {
  one.use(expressApp.json({ limit: "1mb" }));
  one.post("/webhooks", (request, response) => {
    const isRight = signed(JSON.stringify(request.body)) === request.get("x-svc-signature");
    response.sendStatus(isRight ? 200 : 401);
  });
});

const seen = () => {
  const ids = new Set<string>();
  return ({ headers }: IncomingMessage) => {
    const id = String(headers["x-svc-delivery-id"]);
    return ids.has(id) || !ids.add(id);
  };
};

const isSeen = seen();

function firstPiece(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve) => request.once("data", resolve));
}

/** Returns a receiver that does not respond to anything after a request that was cut off. */
function fragile(): RequestListener {
  let isBroken = false;
  return (request, response) => {
    request.on("aborted", () => (isBroken = true));
    if (isBroken) return void response.writeHead(503).end();
    handWritten(isGenuine)(request, response);
  };
}

const early: RequestListener = (request, response) => {
  const signature = String(request.headers["x-svc-signature"]);
  const length = Number(request.headers["content-length"]);
  // Longer bodies arrive in pieces.
  if (/^sha256=[0-9a-f]{64}$/.test(signature) && length < 2_000) response.end();
  else handWritten(isGenuine)(request, response);
};

interface Bad extends Pick<Examination, "seconds"> {
  readonly name: string;
  readonly listener: RequestListener;
  readonly ids: readonly string[];
  readonly mistake?: string;
}

/** Receivers whose mistakes need a diagnosis. `test/contracts/doctor.slow.ts` has those that accept a forgery. */
const bad: readonly Bad[] = [
  {
    name: "a parser before one of our adapters",
    listener: app((one) => one.use(expressApp.json(), express(receiver()))),
    ids: ["parser_before_receiver"],
  },
  {
    name: "a body that is parsed and serialized again",
    listener: reserializing,
    ids: ["parser_before_receiver"],
    mistake: "reserialized_json",
  },
  {
    name: "an HMAC of a parsed object, which throws",
    listener: app((one) => {
      one.use(expressApp.json());
      one.post("/webhooks", (request, response) => {
        hmac(request.body as string);
        response.sendStatus(200);
      });
      one.use((_error: unknown, _request: unknown, response: ServerResponse, _next: unknown) => {
        const { status = 500 } = _error as { readonly status?: number };
        response.writeHead(status).end();
      });
    }),
    ids: ["parser_before_receiver"],
  },
  {
    name: "an empty object in place of the body",
    listener: handWritten((_body, signature) => signature === signed("{}")),
    ids: ["parser_before_receiver"],
    mistake: "placeholder_body",
  },
  {
    name: "a body that is trimmed",
    listener: handWritten((body, signature) => signature === signed(body.toString().trim())),
    ids: ["body_altered"],
    mistake: "newline_removed",
  },
  {
    name: "a body that is decoded as Latin-1",
    listener: handWritten(
      (body, signature) => signature === signed(Buffer.from(body.toString("latin1"))),
    ),
    ids: ["body_altered"],
    mistake: "latin1",
  },
  {
    name: "another secret",
    listener: handWritten((body, signature) => signature === signed(body, "whsec_another")),
    ids: ["wrong_secret"],
  },
  {
    name: "the previous secret",
    listener: node(receiver({ secret: oldSecret })),
    ids: ["wrong_secret"],
    mistake: "old_secret",
  },
  {
    name: "a secret without its prefix",
    listener: node(receiver({ secret: secret.slice(6) })),
    ids: ["wrong_secret"],
    mistake: "secret_prefix_stripped",
  },
  {
    name: "a secret that is decoded from base64",
    listener: node(receiver({ secret: Buffer.from(secret.slice(6), "base64") })),
    ids: ["wrong_secret"],
    mistake: "secret_base64_decoded",
  },
  {
    name: "a signature in base64",
    listener: handWritten(
      (body, signature) =>
        signature === `sha256=${createHmac("sha256", secret).update(body).digest("base64")}`,
    ),
    ids: ["wrong_signature_form"],
    mistake: "base64",
  },
  {
    name: "upper-case digits",
    listener: handWritten((body, signature) => signature === `sha256=${hmac(body).toUpperCase()}`),
    ids: ["wrong_signature_form"],
    mistake: "upper_case_hex",
  },
  {
    name: "a signature in upper case",
    listener: handWritten((body, signature) => signature === signed(body).toUpperCase()),
    ids: ["wrong_signature_form"],
    mistake: "upper_case_hex",
  },
  {
    name: "the secret signed with the body",
    listener: handWritten((body, signature) => signature === signed(secret, body)),
    ids: ["wrong_signature_form"],
    mistake: "swapped",
  },
  {
    name: "a hash without a key",
    listener: handWritten(
      (body, signature) =>
        signature === `sha256=${createHash("sha256").update(body).digest("hex")}`,
    ),
    ids: ["wrong_signature_form"],
    mistake: "plain_hash",
  },
  ...[401, 403].map((status) => ({
    name: `middleware that responds ${status} to every POST`,
    listener: app((one) => {
      one.use((_request, response) => void response.sendStatus(status));
      one.post("/webhooks", express(receiver()));
    }),
    ids: ["guarded"],
  })),
  {
    name: "no verification",
    listener: handWritten(() => true),
    ids: ["unsigned_accepted"],
  },
  {
    name: "a look at the form of the signature",
    listener: handWritten((_body, signature) => /^sha256=[0-9a-f]{64}$/.test(signature)),
    ids: ["wrong_secret_accepted", "altered_body_accepted"],
  },
  {
    name: "a secret that may also be whsec_test",
    listener: handWritten((body, signature) =>
      [signed(body), signed(body, "whsec_test")].includes(signature),
    ),
    ids: ["missing_secret_accepted"],
  },
  {
    name: "a secret that is not set",
    listener: handWritten((body, signature) => signature === signed(body, "")),
    ids: ["wrong_secret"],
    mistake: "secret_missing",
  },
  {
    name: "an unknown type that is an error",
    listener: node(
      receiver({
        on: {
          "*": () => {
            throw new Error("unknown");
          },
        },
      }),
    ),
    ids: ["handler_failed"],
  },
  {
    name: "an unknown type that is refused",
    listener: handWritten((body, signature) => (isGenuine(body, signature) ? 422 : false)),
    ids: ["genuine_failed"],
  },
  {
    name: "copies that are conflicts",
    listener: handWritten((body, signature, request) =>
      isGenuine(body, signature) ? (isSeen(request) ? 409 : true) : false,
    ),
    ids: ["duplicate_refused"],
  },
  {
    name: "a receiver for each request",
    listener: (request, response) => void node(receiver())(request, response),
    ids: ["duplicate_ran"],
  },
  {
    name: "the first piece of a body",
    listener: handWritten(isGenuine, firstPiece),
    ids: ["pieces_refused", "large_refused"],
    seconds: 5,
  },
  {
    name: "a limit for bodies",
    listener: app((one) => {
      one.use(expressApp.raw({ type: "*/*", limit: "50kb" }));
      one.post("/webhooks", express(receiver()));
    }),
    ids: ["large_refused"],
  },
  {
    name: "words of our receivers in another one, which does not check the prefix",
    listener: (request, response) => {
      const end = response.end.bind(response);
      const words = () => (response.statusCode < 300 ? '{"status":"processed"}' : "{}");
      Object.assign(response, { end: () => end(words()) });
      const isRight = (body: Buffer, signature: string) =>
        signature.replace("sha256=", "") === hmac(body);
      handWritten(isRight)(request, response);
    },
    ids: ["prefix_not_checked"],
  },
  { name: "a hang-up that breaks it", listener: fragile(), ids: ["stops_serving"] },
  {
    name: "a response before the body",
    listener: early,
    ids: ["wrong_secret_accepted", "altered_body_accepted", "early_success"],
  },
  { name: "no response", listener: () => {}, ids: ["hangs"], seconds: 2 },
  {
    name: "a closed connection",
    listener: (request) => void request.socket.destroy(),
    ids: ["connection_closed"],
  },
  {
    name: "another path",
    listener: (_request, response) => void response.writeHead(404).end(),
    ids: ["not_found"],
  },
  {
    name: "a redirect",
    listener: (_request, response) => void response.writeHead(308, { Location: "/x" }).end(),
    ids: ["redirects"],
  },
  {
    name: "a header that a proxy removes",
    listener: (request, response) => {
      delete request.headers["x-svc-delivery-id"];
      void node(receiver())(request, response);
    },
    ids: ["header_removed"],
  },
];

describe("states what a receiver of svc-webhooks says of itself", () => {
  const never = new Promise<never>(() => {});
  const down = { ...memoryStore(), claim: () => Promise.reject(new Error("no route to host")) };
  const failing = () => {
    throw new Error("no");
  };
  test.each<[OutcomeCode, Partial<ReceiverOptions>, ...string[]]>([
    ["store_unavailable", { store: { ...down, shared: false } }],
    ["handler_timeout", { handlerTimeoutMs: 10, on: { "*": () => never } }],
    ["handler_failed", { on: { "email.sent": failing } }, "--event=email.sent"],
    ["ignored", { on: { "email.send": () => {} } }, "--event=email.sent"],
    ["misconfigured", { secret: () => Promise.reject(new Error("no vault")) }],
    ["event_untyped", { eventType: () => "" }],
  ])("%s", async (code, options, ...args) => {
    const { code: exit, findings } = await examine(node(receiver(options)), { args });
    const { happened, cause, fix } = outcomeTexts[code];
    expect(exit).toBe(1);
    expect(findings).toEqual([
      { id: code, happened: expect.stringContaining(code), cause: `${happened} ${cause}`, fix },
    ]);
  });

  test("nothing of a receiver whose handler takes events of the type", async () => {
    const types: string[] = [];
    const on = { "email.sent": ({ type }: { type: string }) => void types.push(type) };
    const { code, ids } = await examine(node(receiver({ on })), { args: ["--event=email.sent"] });
    expect([code, ids, new Set(types)]).toEqual([0, [], new Set(["email.sent"])]);
  });
});

describe("names what is wrong", () => {
  test.each(bad)("$name", async ({ listener, ids, mistake, seconds }) => {
    const { code, findings, ids: found } = await examine(listener, { seconds });
    expect({ code, found }).toEqual({ code: 1, found: ids });
    expect(findings[0]?.mistake).toBe(mistake);
    for (const { happened, cause, fix } of findings) {
      for (const text of [happened, cause, fix])
        expect(text).toMatch(/^[A-Za-z].*[.]$|\/docs\/.+\.md$/);
      expect(`${cause} ${fix}`).not.toMatch(/(?<!\/)\bdocs\//);
    }
  });

  test.each<[string, RequestListener, RegExp, seconds?: number]>([
    [
      "a slow handler as a cause of silence",
      () => {},
      /handler that takes longer than --timeout/,
      2,
    ],
    [
      "the path of the URL",
      (_request, response) => void response.writeHead(404).end(),
      /Pass the URL with the receiver's path/,
    ],
    ["the next step for a wrong secret", handWritten(() => false), /svc-webhooks verify --explain/],
  ])("names %s", async (_what, listener, text, seconds) => {
    const { findings } = await examine(listener, { seconds });
    expect(findings.map(({ cause, fix }) => `${cause} ${fix}`)).toEqual([
      expect.stringMatching(text),
    ]);
  });

  test("a connection that is closed for a forgery only, perhaps deliberately", async () => {
    const { code, ids, findings } = await examine((request, response) => {
      if (request.headers["x-svc-signature"] === undefined) hangUp(request);
      else handWritten(isGenuine)(request, response);
    });
    expect([code, ids]).toEqual([1, ["connection_closed"]]);
    expect(findings[0]).toMatchObject({
      cause: expect.stringContaining("deliberately"),
      fix: expect.stringContaining("Respond with 401"),
    });
  });

  test.each([
    ["in place of a response", "process.exit(1)", "connection_closed"],
    [
      "after its response",
      "server.close(() => process.exit(1)); response.writeHead(401, { connection: 'close' }).end()",
      "unreachable",
    ],
  ])("a process that ends at a forgery, %s", async (_when, end, id) => {
    const child = startModule(`
      import { createServer } from "node:http";
      const server = createServer((request, response) => {
        request.resume().on("end", () => {
          if (request.headers["x-svc-signature"] !== undefined) response.end();
          else { ${end} }
        });
      });
      server.listen(0, "127.0.0.1", () => process.send(server.address().port));`);
    const [port] = (await once(child, "message")) as readonly number[];
    const url = `http://127.0.0.1:${String(port)}/`;
    const { code, value } = await json(["doctor", url, "--secret-env=SECRET"]);
    expect(code).toBe(1);
    expect(value["findings"]).toMatchObject([{ id, fix: expect.stringContaining("log") }]);
  });

  test("a server that is not there", async () => {
    const { code, value } = await json(["doctor", "localhost:9", "--secret-env=SECRET"]);
    expect(code).toBe(1);
    expect(value["findings"]).toMatchObject([{ id: "unreachable" }]);
  });

  test("a path that lacks its slash", async () => {
    const { findings } = await examine((request, response) => {
      if (request.url === "/webhooks/") handWritten(isGenuine)(request, response);
      else response.writeHead(404).end();
    });
    expect(findings).toMatchObject([{ id: "not_found", fix: expect.stringContaining("slash") }]);
  });
});

test("prints each finding with what it saw, its cause and its fix, and what it cannot judge", async () => {
  const port = await listen(handWritten(() => true));
  const { code, stdout, stderr } = await cli([
    "doctor",
    `http://localhost:${port}/`,
    "--secret-env=SECRET",
  ]);
  expect([code, stderr]).toEqual([1, ""]);
  expect(stdout).toMatch(
    /^http:\/\/localhost:\d+\/: \d+ probes, 1 finding\nFingerprint of the secret: (?:short key|[0-9a-f]{8})\n\nunsigned_accepted\n {2}Saw: {3}.+\n {2}Cause: .+\n {2}Fix: {3}.+\n\nNot checked:\n(?: {2}- .+\n)+$/,
  );
});

test.each([
  [
    "an external target",
    ["doctor", "http://192.0.2.1/", "--secret-env=SECRET"],
    /--allow-external/,
  ],
  ["no URL", ["doctor", "--secret-env=SECRET"], /<url> is missing/],
  ["no secret", ["doctor", "http://localhost:1"], /secret is missing/],
  [
    "a secret in quotes",
    ["doctor", "localhost:1", "--secret-env=QUOTED"],
    /starts or ends with a quote/,
  ],
])("refuses %s", async (_what, args, text) => {
  const { code, stdout, stderr } = await cli(args, { env: { QUOTED: `"${secret}"` } });
  expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(text)]);
});

test("takes the secret from stdin", async () => {
  const port = await listen(node(receiver()));
  const args = ["doctor", `http://127.0.0.1:${port}/`, "--secret-stdin"];
  expect((await json(args, `${secret}\n`)).code).toBe(0);
});

testPosix("Ctrl-C exits with 130 and prints nothing", async () => {
  let called = () => {};
  const isCalled = new Promise<void>((resolve) => (called = resolve));
  const port = await listen(() => called());
  const { interrupt, output } = start(["doctor", `localhost:${port}`, "--secret-env=SECRET"]);
  await isCalled;
  expect([await interrupt(), output]).toEqual([130, { stdout: "", stderr: "" }]);
});

testInTerminal("a terminal shows the probes as they are sent", async () => {
  const port = await listen(node(receiver()));
  const { code, output } = await inTerminal(
    shell("doctor", `localhost:${port}`, "--secret-env=SECRET"),
  );
  expect(code).toBe(0);
  expect(output).toContain("a copy of a delivery");
  expect(output.split("\r\u001b[K").at(-1)).toMatch(/^http:.+ 0 findings/);
});

describeInTerminal("the bar in a terminal", () => {
  test.each<[string, RequestListener]>([
    ["a receiver without mistakes", node(receiver())],
    ["a refused secret", handWritten(() => false)],
    [
      "a guess that is right",
      handWritten((body, value) => value === `sha1=${hmac(body, secret, "sha1")}`),
    ],
    ["a body parser", reserializing],
  ])("is full at the last probe: %s", async (_what, listener) => {
    const url = `localhost:${await listen(listener)}/webhooks`;
    const { output } = await inTerminal(shell("doctor", url, "--secret-env=SECRET"));
    const shares = Array.from(output.matchAll(/\] (\d+) %/g), ([, share]) => Number(share));
    expect(output).toContain(` ${shares.length} probes, `);
    expect(shares.indexOf(100)).toBe(shares.length - 1);
  });

  test("is not shown with --json", async () => {
    const url = `localhost:${await listen(node(receiver()))}/webhooks`;
    const args = ["doctor", url, "--secret-env=SECRET", "--json"];
    const { output } = await inTerminal(shell(...args));
    expect(output).toMatch(/^\{.*\}\r\n$/);
  });
});
