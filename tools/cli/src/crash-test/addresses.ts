import { secretName } from "./secrets.js";

/*
 * Recognizes addresses in environment variables. If in doubt, a value counts as an address: a false alarm only makes
 * the user pass `--yes`, but a missed address may cost data.
 */

/**
 * Matches the names of variables that are ignored: those of npm and of the session, which a server does not need, and
 * those of proxies, which this command replaces.
 */
const ignored = /^npm_|_proxy$|^(?:HOSTNAME|SSH_AUTH_SOCK|NOTIFY_SOCKET)$/i;

/** Matches a URL anywhere in a value, such as in JSON or after `jdbc:`, but not a `file:` URL. */
const urls = /(?<![\w+.-])((?!file:)[a-z][a-z0-9+.-]+):\/\/([^\s"']*)/i;

const jdbc = /^(jdbc:\w+):(?!file:|mem:|memory:)/i;

/** Matches a DSN of Go's MySQL driver: `me:secret@tcp(host:3306)/app`. */
const goDsn = /(?:^|@)(\w+\([^()]*\))\//;

/** Matches the keywords of a DSN that name a place, with their values: `host=… dbname=…`, `Server=…;Database=…`. */
const keywords =
  /(?<![\w-])(?:host|hostaddr|port|dbname|database|service|server|data source|addr|address|endpoint|accountname)\s*=\s*'?[^\s;,']+/gi;

/** Matches the text of a program, in which such keywords may be the names of variables. */
const program = /=>|\(\)\s*\{|;\s*\n|^\s*(?:const|function|import|let|var)\s/m;

const host = String.raw`(?:\[[\da-f:.]+\]|(?=[\w.-]*[a-z]|\d+(?:\.\d+){3}(?!\.))[\w.-]+)`;
const hostAndPort = String.raw`${host}:\d{2,5}(?:\/[^\s,;]*)?`;
const hostList = new RegExp(`^${hostAndPort}(?:[,;\\s]+${hostAndPort})*$`, "i");

/** Matches an address without a scheme: `me:secret@host`, `me@host/app`, `me@host:22`, `me@host:app/file`. */
const withUser = /^[^\s@/]*:[^\s@]*@[\w.-]+|^[^\s@/]+@[\w.-]+(?::\d|(?::[\w.-]+)?\/\w)/;

/** Matches names of variables that contain addresses, with or without an underscore: `MYSQL_HOST`, `MYSQLHOST`. */
const ofAddress =
  /(?:HOSTS?|HOSTNAMES?|URLS?|URIS?|(?:^|_)(?:DSN|ENDPOINTS?|SERVERS?|BROKERS?|ADDR|ADDRESS|ADDRESSES|NODES?|CONTACT_POINTS?|RELAY|CONNECT|CONN(?:ECT(?:ION)?)?_?STR(?:ING)?))$/i;

/** Matches names of variables that may contain the path or the folder of a Unix socket. */
const ofSocket = /HOSTS?$|(?:^|_)SOCK(?:ET)?$/i;

/** Matches values that are not addresses: empty texts, files, booleans, numbers, listening addresses, desktop buses. */
const plain =
  /^(?:|(?:\.{0,2}|~)\/(?!\/).*|file:.*|[a-z]:\\.*|true|false|yes|no|on|off|null|none|\d+(?:\.\d+)?(?:px|%|[kmg]i?b)?|0\.0\.0\.0(?::\d+)?|\[?::\]?|:\d+|unix:(?:path|abstract)=.*)$/i;

/** Returns the address in a variable, without parts that may be secret, or undefined if there is no address. */
export function addressOf(name: string, value: string): string | undefined {
  if (ignored.test(name)) return undefined;
  const text = value
    .trim()
    .replace(/^(["'])(.*)\1$/s, "$2")
    .trim();
  const url = urls.exec(text);
  if (url) return shownUrl(url[1] ?? "", url[2] ?? "", text.slice(url.index));
  const driver = jdbc.exec(text)?.[1];
  if (driver !== undefined) return /sqlite/i.test(driver) ? undefined : `${driver}:…`;
  const dsn = goDsn.exec(text)?.[1];
  if (dsn !== undefined) return dsn;
  const parts = (!program.test(text) && text.match(keywords)) || [];
  if (parts.some((part) => !/^port/i.test(part))) return parts.join(" ");
  if (hostList.test(text)) return secretName.test(name) ? "…" : withoutUser(text);
  if (withUser.test(text)) return withoutUser(text);
  if (ofSocket.test(name) && /^\/(?!\/)/.test(text)) return text;
  if (!ofAddress.test(name)) return undefined;
  return plain.test(text) ? undefined : withoutUser(text);
}

/** Returns the scheme and the hosts of a URL, and, for PostgreSQL and Redis, the database. Leaves out credentials. */
function shownUrl(scheme: string, rest: string, text: string): string {
  const start = `${scheme}://`;
  const [authority = ""] = rest.split(/[/?#]/);
  // An `@` after the authority may belong to an unescaped secret, so nothing after the scheme is shown.
  if (text.slice(start.length + authority.length).includes("@")) return `${start}…`;
  const hosts = authority.slice(authority.lastIndexOf("@") + 1);
  const database = /^(?:postgres|redis)/i.test(scheme) ? /^[^?#]*/.exec(rest)?.[0] : undefined;
  return `${start}${hosts}${database?.slice(authority.length) ?? ""}`;
}

/** Returns the hosts in an address that has no scheme, without the user. */
const withoutUser = (text: string): string =>
  /^(?:\/\/)?([\w.,:[\]-]+)/.exec(text.slice(text.lastIndexOf("@") + 1))?.[1] ?? "…";
