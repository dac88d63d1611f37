import type { Context } from "../command.js";
import { UsageError } from "../errors.js";
import { hostOf, literalAddresses } from "../lib/target-rule.js";
import { isLoopback } from "../lib/target.js";
import { addressOf } from "./addresses.js";

/** How the test handles the service at a variable's address. `unnamed`: no option names the variable. */
export type Access = "through" | "stub" | "unnamed";

/** An environment variable that contains an address, or that `--through` or `--stub` names. */
export interface Address {
  readonly name: string;
  readonly access: Access;
  /** The address without parts that may be secret, `…` if no address was found in the variable, or `not set`. */
  readonly shown: string;
}

/** A service that the server reaches through a proxy. */
export interface Through {
  readonly name: string;
  readonly url: URL;
  readonly kind: "postgres" | "redis" | "http" | "bytes";
}

/** An API that this command serves. */
export interface Stub {
  readonly name: string;
  /** The path of the URL in the variable, or an empty string. */
  readonly path: string;
}

/** Returns whether a value is one URL, which `--through` and `--stub` can replace. */
export const isUrl = (value: string) =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(value) && URL.canParse(value);

/** Match variables that clients of PostgreSQL read by default, and those among them that name a place or a user. */
const ofPostgres = /^PG[A-Z]+$/;
const ofPlace =
  /^PG(?:HOST|HOSTADDR|PORT|DATABASE|USER|PASSWORD|PASSFILE|SERVICE|SERVICEFILE|SYSCONFDIR)$/;

/**
 * Removes all PostgreSQL variables if one of them names a place or a user, because they may lead a client without a URL
 * to a real server. In that case, also sets `PGHOST` to a folder that does not exist, so that the client does not use
 * its default host either.
 *
 * @returns the environment, and the names of the removed variables that name a place or a user
 */
export function withoutPostgres(env: Context["env"]): {
  readonly env: Context["env"];
  readonly removed: readonly string[];
} {
  const removed = Object.keys(env).filter((name) => ofPlace.test(name));
  if (removed.length === 0) return { env, removed };
  const kept = Object.entries(env).filter(([name]) => !ofPostgres.test(name));
  return {
    env: { ...Object.fromEntries(kept), PGHOST: "/removed-by-svc-webhooks-crash-test" },
    removed,
  };
}

/** Returns the variables that contain an address or that an option names, and how the test handles each. */
export function addressesIn(
  env: Context["env"],
  { through, stub }: { readonly through: readonly string[]; readonly stub: readonly string[] },
): readonly Address[] {
  const named = new Set([...through, ...stub]);
  const present = Object.entries(env).flatMap(([name, value = ""]): readonly Address[] => {
    const shown = ofPlace.test(name) ? undefined : addressOf(name, value);
    if (shown === undefined && !named.has(name)) return [];
    const access = through.includes(name) ? "through" : stub.includes(name) ? "stub" : "unnamed";
    return [{ name, access, shown: shown ?? "…" }];
  });
  const absent = stub.filter((name) => env[name] === undefined);
  return [
    ...present,
    ...absent.map((name): Address => ({ name, access: "stub", shown: "not set" })),
  ];
}

/**
 * Returns whether a URL's host is a loopback address, `localhost` or a name below it. Other names are not looked up.
 */
export const isHere = (url: URL): boolean =>
  literalAddresses(hostOf(url))?.every(isLoopback) ?? false;

const kinds: Readonly<Record<string, Through["kind"]>> = {
  "postgres:": "postgres",
  "postgresql:": "postgres",
  "redis:": "redis",
  "http:": "http",
};

/** Matches query parameters that clients prefer to the address in a URL. */
const overriding =
  /^(?:host|hostaddr|port|db|dbname|database|user|username|service|servicefile|socket|unix_?socket(?:_?path)?)$/i;

/** @throws UsageError unless a URL names exactly one host, and no query parameter overrides its address */
function assertNamesAddress(name: string, { hostname, searchParams }: URL): void {
  const parameter = [...searchParams.keys()].find((key) => overriding.test(key));
  const reason =
    parameter === undefined
      ? hostname === "" || /,|^%2f/i.test(hostname)
        ? "names a socket, several hosts or no host"
        : undefined
      : `has the parameter ${parameter}, which clients prefer to the address in the URL`;
  if (reason === undefined) return;
  throw new UsageError(
    `--through names ${name}, whose URL ${reason}.`,
    "Put the host and port in the URL itself, for example postgres://me@localhost:5432/app_test.",
  );
}

/**
 * Adds what a PostgreSQL URL lacks: the default port, and the values of `PGUSER` and `PGPASSWORD`, which
 * `withoutPostgres` removes from the environment.
 */
function complete(url: URL, { PGUSER = "", PGPASSWORD = "" }: Context["env"]): void {
  url.username ||= encodeURIComponent(PGUSER);
  url.password ||= encodeURIComponent(PGPASSWORD);
  url.port ||= "5432";
}

/**
 * Returns the services that `--through` names.
 *
 * @param isAccepted whether a service on this machine that cannot be copied may be used as it is
 * @param template the variable of `--template`, whose database may be on another machine
 * @throws UsageError if a variable is not set, is not a URL, or names a service that the test cannot use safely
 */
export function throughOf(
  names: readonly string[],
  env: Context["env"],
  template: string | undefined,
  isAccepted: boolean,
): readonly Through[] {
  return names.map((name) => {
    const value = env[name];
    if (value === undefined || !isUrl(value)) {
      throw new UsageError(
        `--through names ${name}, which ${value === undefined ? "is not set" : "is not a URL"}.`,
        `Set ${name} to the URL of a test service, such as postgres://localhost/app_test.`,
      );
    }
    const url = new URL(value);
    const { host } = url;
    const kind = kinds[url.protocol] ?? "bytes";
    if (url.protocol === "https:" || (kind === "http" && !isHere(url))) {
      throw new UsageError(
        `--through names ${name}, but requests to ${url.host} are never forwarded.`,
        `Pass --stub ${name} instead, so that this command serves the API itself. The only HTTP services that --through accepts are http:// URLs on this machine.`,
      );
    }
    if (url.protocol === "rediss:") {
      throw new UsageError(
        `--through names ${name}, whose server ${url.host} uses TLS.`,
        `Set ${name} to the redis:// URL of a server on this machine.`,
      );
    }
    if (kind !== "http") assertNamesAddress(name, url);
    if (kind === "postgres") complete(url, env);
    if (kind === "bytes" && isHere(url) && !isAccepted) {
      throw new UsageError(
        `--through names ${name}, but ${url.protocol}//${host} cannot be copied, so each history would write to it.`,
        `Start a separate service for this test, set ${name} to its URL, and pass --yes to let each history write to it. Of the services of --through, only PostgreSQL databases are copied, and only Redis is replaced by an empty database.`,
      );
    }
    if (isHere(url)) return { name, url, kind };
    if (kind !== "postgres" || template !== name) {
      const fix =
        kind === "postgres"
          ? `Use a database on this machine, or pass --template ${name} to allow this one. Each history then gets a copy of it on the same server.`
          : `Set ${name} to the URL of a server on this machine.`;
      throw new UsageError(`--through names ${name}, which is on another machine: ${host}.`, fix);
    }
    return { name, url, kind };
  });
}

export const stubsOf = (names: readonly string[], env: Context["env"]): readonly Stub[] =>
  names.map((name) => {
    const value = env[name] ?? "";
    return { name, path: isUrl(value) ? new URL(value).pathname.replace(/\/$/, "") : "" };
  });

/** Returns the variables that make HTTP clients use the refusing proxy, except for requests to `ports` of 127.0.0.1. */
export function proxyVariables(
  port: number,
  ports: readonly number[],
): Readonly<Record<string, string>> {
  const url = `http://127.0.0.1:${port}`;
  const own = ports.map((ownPort) => `127.0.0.1:${ownPort}`).join(",");
  return {
    HTTP_PROXY: url,
    http_proxy: url,
    HTTPS_PROXY: url,
    https_proxy: url,
    ALL_PROXY: url,
    all_proxy: url,
    NO_PROXY: own,
    no_proxy: own,
    NODE_USE_ENV_PROXY: "1",
  };
}
