import { writeFileSync } from "node:fs";
import { listen } from "@svc-webhooks/kit/servers";
import { expect, test } from "vitest";
import { addressesIn } from "../../src/crash-test/environment.js";
import { cli, newFile } from "../support.js";

const start = ["crash-test", "--start=node server.js", "--url=http://127.0.0.1:{port}/"];
const event = "--event=email.sent";

/** Only these variables contain addresses. */
const env = {
  ...Object.fromEntries(
    addressesIn(process.env, { through: [], stub: [] }).map(({ name }) => [name, undefined]),
  ),
  DATABASE_URL: "postgres://me:hidden@db.example.com/app",
  API_URL: "https://api.example.com/v1",
  LOCAL_URL: "http://127.0.0.1:9/",
  QUEUE_URL: "amqp://queue.example.com",
  SEARCH_URL: "amqp://me:hidden@localhost:9/app",
  CACHE_URL: "rediss://localhost",
  MYSQL_HOST: "mysql.example.com",
  KEY: "hidden",
};

test.each([
  ["a database on another machine", ["--through=DATABASE_URL"], /db\.example\.com\. .*--template/],
  [
    "a remote API",
    ["--through=API_URL"],
    /api\.example\.com are never forwarded\. .*--stub API_URL/,
  ],
  [
    "a remote queue",
    ["--through=QUEUE_URL"],
    /another machine: queue\.example\.com\. Set QUEUE_URL/,
  ],
  ["a remote queue as a template", ["--through=QUEUE_URL", "--template=QUEUE_URL"], /another mach/],
  ["Redis over TLS", ["--through=CACHE_URL"], /uses TLS\. Set CACHE_URL to the redis:\/\/ URL/],
  [
    "a service that is not copied",
    ["--through=SEARCH_URL"],
    /SEARCH_URL, but amqp:\/\/localhost:9 cannot be copied.*--yes/,
  ],
  ["a variable that is not set", ["--through=NO_SUCH"], /NO_SUCH, which is not set\. Set NO_SUCH/],
  ["a fault that does not exist", ["--faults=crsh"], /Did you mean crash\?/],
  ["a fault of the other form", ["--faults=crash,slow"], /cannot be slow/],
  ["a point without a fault", ["--at=3"], /--at is 3.*--at crash@3/],
  ["two points", ["--at=crash@3 crash@5"], /not a fault and a point/],
  ["a finding that is stuck", ["--accept=stuck evt_1"], /--accept is stuck evt_1, .*cannot be acc/],
  ["a finding without an effect", ["--accept=lost"], /such as --accept "duplicate slack"/],
  [
    "a page in no folder",
    ["--html=/no/such/page.html"],
    /--html cannot .*\/no\/such.* Check the path/,
  ],
  ["a page that is a folder", ["--html=/tmp"], /--html cannot be written: .* Check the path/],
  ["a wrong duration", ["--time-limit=10"], /not a duration from .*Write it as --time-limit 10m\./],
  ["four events", Array.from({ length: 3 }, () => event), /are 4 events.*1 to 3/],
  ["a file that listen has not written", ["--deliver", "/dev/null", "--deliver"], /--deliver/],
  [
    "a sender without a key",
    ["--scheme=stripe"],
    /--scheme needs --secret-env\. Pass the variable/,
  ],
  ["Linear", ["--scheme=linear", "--secret-env=KEY"], /linear is not supported: .*crashTest\(\)/],
  [
    "a private key for the server",
    ["--scheme=discord", "--secret-env=KEY"],
    /discord signs with a private key, .* Unset KEY: the server then gets a new public key there/,
  ],
  [
    "a secret in place of a name",
    ["--secret-env=whsec_abc"],
    /does not name an environment variable\. Pass the name/,
  ],
])("%s is refused with exit code 2 and the fix", async (_what, args, text) => {
  const { code, stderr } = await cli([...start, event, ...args], { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^svc-webhooks crash-test: [^\n]+\n$/);
  expect(stderr).toMatch(text);
  expect(stderr).not.toContain("hidden");
});

test.each([
  ["postgres://me@localhost/app?host=192.0.2.2&port=54990", "has the parameter host"],
  ["postgres://me@localhost/app?sslmode=disable&HostAddr=192.0.2.2", "has the parameter HostAddr"],
  ["postgres://me@localhost/app?dbname=prod", "has the parameter dbname"],
  ["postgres://me@localhost/app?service=prod", "has the parameter service"],
  ["postgres://me@localhost/app?user=prod", "has the parameter user"],
  ["postgres://me@localhost/app?port=5433", "has the parameter port"],
  ["redis://localhost?db=3", "has the parameter db"],
  ["postgres:///app", "names a socket, several hosts or no host"],
  ["postgres://%2Fvar%2Frun%2Fpostgresql/app", "names a socket"],
  ["postgres://prod.example.com,me.localhost/app", "names a socket, several hosts"],
  ["unix:///run/redis.sock", "names a socket"],
])("the address %s, which may be another one, is refused", async (url, text) => {
  const { code, stderr } = await cli([...start, event, "--yes", "--through=TESTED_URL"], {
    env: { ...env, TESTED_URL: url },
  });
  expect(code).toBe(2);
  expect(stderr).toContain(`--through names TESTED_URL, whose URL ${text}`);
  expect(stderr).toContain("Put the host and port in the URL itself");
});

test("no event is refused", async () => {
  const { code, stderr } = await cli(start, { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/no event to deliver\. Pass 1 to 3 events: --event email\.delivered/);
});

test("a server on another machine is refused", async () => {
  const { code, stderr } = await cli(
    ["crash-test", "--start=x", "--url=http://192.0.2.1/", event],
    { env },
  );
  expect(code).toBe(2);
  expect(stderr).toMatch(/192\.0\.2\.1, which is not a loopback address/);
});

test("a saved request that is not one is refused", async () => {
  const file = newFile();
  writeFileSync(file, "{}\n");
  const { code, stderr } = await cli([...start, "--deliver", file], { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/has a line that was not written by svc-webhooks listen --save/);
});

test.each([[["--list"]], [[]]])(
  "addresses that are not named are listed, and the server is not started: %j",
  async (args) => {
    const file = newFile();
    const touch = ["--start", `touch ${file}`, "--url=http://127.0.0.1:{port}/"];
    const { code, stdout, stderr } = await cli(
      ["crash-test", ...touch, event, "--stub=API_URL", ...args],
      { env },
    );
    expect(code).toBe(2);
    expect(stdout).toMatch(/^API_URL +https:\/\/api\.example\.com +served by this command$/m);
    expect(stdout).toMatch(
      /^DATABASE_URL +postgres:\/\/db\.example\.com\/app +passed through unchanged: .*real/m,
    );
    expect(stdout).toMatch(/^MYSQL_HOST +mysql\.example\.com +passed through unchanged/m);
    expect(stdout).not.toContain("hidden");
    expect(stderr).toMatch(
      /addresses that neither --through nor --stub names.*MYSQL_HOST.*The server was not started\. Name DATABASE_URL.*CACHE_URL with --through or --stub.* No option replaces MYSQL_HOST, because only URLs can be replaced.*With --yes, .*unchanged/,
    );
    await expect(import("node:fs/promises").then(({ stat }) => stat(file))).rejects.toThrow(
      "ENOENT",
    );
  },
);

test("PostgreSQL that is not there is reported with exit code 3", async () => {
  const only = { ...env, DATABASE_URL: "postgres://127.0.0.1:9/app" };
  const { code, stderr } = await cli([...start, event, "--through=DATABASE_URL", "--yes"], {
    env: only,
  });
  expect(code).toBe(3);
  expect(stderr).toMatch(/server in DATABASE_URL did not accept a connection.*Start it/);
});

test("variables that --yes passes through are named, and secrets in the output of a server are masked", async () => {
  const { code, stderr } = await cli(
    ["crash-test", "--start", "env; exit 7", "--url=http://127.0.0.1:{port}/", event, "--yes"],
    {
      env: {
        ...env,
        DATABASE_URL: "postgres://me:very-hidden@127.0.0.1/app",
        A_TOKEN: "token-hidden",
      },
    },
  );
  expect(code).toBe(3);
  expect(stderr).toMatch(/^DATABASE_URL, .*MYSQL_HOST are passed through unchanged: /);
  expect(stderr).toContain("ended with exit code 7");
  expect(stderr).not.toMatch(/very-hidden|token-hidden/);
});

test("a variable of --stub and --through is refused", async () => {
  const { code, stderr } = await cli([...start, event, "--stub=LOCAL_URL", "--through=LOCAL_URL"], {
    env,
  });
  expect(code).toBe(2);
  expect(stderr).toContain("--stub and --through both name LOCAL_URL.");
});

test("the time limit ends a server that never listens", async () => {
  // If the command waited for the server, it would not end before the test's own limit.
  const { code, stderr } = await cli(
    ["crash-test", "--start", "sleep 86400", "--url=http://127.0.0.1:{port}/", event].concat(
      "--yes",
      "--time-limit=1s",
    ),
    { env },
  );
  expect(code).toBe(3);
  expect(stderr).toContain("The time limit of 1s was reached");
});

test("a port on which another program listens is refused, and it gets no delivery", async () => {
  const received: unknown[] = [];
  const port = await listen((request, response) => {
    received.push(request.url);
    response.end();
  });
  const { code, stderr } = await cli(
    ["crash-test", "--start=sleep 60", `--url=http://127.0.0.1:${port}/webhooks`, event].concat(
      "--stub=API_URL",
      "--yes",
    ),
    { env },
  );
  expect(code).toBe(3);
  expect(stderr).toMatch(/Another program listens on port \d+, so .* \{port\} in --url/);
  expect(received).toEqual([]);
});
