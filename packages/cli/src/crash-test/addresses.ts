import { secretName } from "./secrets.js";

/*
 * Recognizes addresses in variables. A variable that is listed without need costs its user `--yes`; one that is missed
 * may cost data.
 */

/**
 * Variables of npm, of proxies and of the session: the first and the last are of no use to a server, and the others are
 * replaced.
 */
const ignored = /^npm_|_proxy$|^(?:HOSTNAME|SSH_AUTH_SOCK|NOTIFY_SOCKET)$/i;

/** A URL anywhere in a value, also in JSON or after `jdbc:`. */
const urls = /(?<![\w+.-])((?!file:)[a-z][a-z0-9+.-]+):\/\/([^\s"']*)/i;

const jdbc = /^(jdbc:\w+):(?!file:|mem:|memory:)/i;

/** The DSN of Go's MySQL driver: `me:secret@tcp(host:3306)/app`. */
const goDsn = /(?:^|@)(\w+\([^()]*\))\//;

/** The parts of a DSN of keywords that name a place: `host=… dbname=…`, `Server=…;Database=…`. */
const keywords =
  /(?<![\w-])(?:host|hostaddr|port|dbname|database|service|server|data source|addr|address|endpoint|accountname)\s*=\s*'?[^\s;,']+/gi;

/** The text of a program, which assigns variables with such names, too. */
const program = /=>|\(\)\s*\{|;\s*\n|^\s*(?:const|function|import|let|var)\s/m;

const host = String.raw`(?:\[[\da-f:.]+\]|(?=[\w.-]*[a-z]|\d+(?:\.\d+){3}(?!\.))[\w.-]+)`;
const hostAndPort = String.raw`${host}:\d{2,5}(?:\/[^\s,;]*)?`;
const hostList = new RegExp(`^${hostAndPort}(?:[,;\\s]+${hostAndPort})*$`, "i");

/** An address without a scheme: `me:secret@host`, `me@host/app`, `me@host:22`, `me@host:app/file`. */
const withUser = /^[^\s@/]*:[^\s@]*@[\w.-]+|^[^\s@/]+@[\w.-]+(?::\d|(?::[\w.-]+)?\/\w)/;

/** Names of variables with addresses. Some are written without an underscore: `MYSQLHOST`. */
const ofAddress =
  /(?:HOSTS?|HOSTNAMES?|URLS?|URIS?|(?:^|_)(?:DSN|ENDPOINTS?|SERVERS?|BROKERS?|ADDR|ADDRESS|ADDRESSES|NODES?|CONTACT_POINTS?|RELAY|CONNECT|CONN(?:ECT(?:ION)?)?_?STR(?:ING)?))$/i;

/** Names of variables with the path or the folder of a socket. */
const ofSocket = /HOSTS?$|(?:^|_)SOCK(?:ET)?$/i;

/** Values that are not addresses: files, booleans, numbers, addresses to listen at, and buses of a desktop. */
const plain =
  /^(?:|(?:\.{0,2}|~)\/(?!\/).*|file:.*|[a-z]:\\.*|true|false|yes|no|on|off|null|none|\d+(?:\.\d+)?(?:px|%|[kmg]i?b)?|0\.0\.0\.0(?::\d+)?|\[?::\]?|:\d+|unix:(?:path|abstract)=.*)$/i;

/** Returns the address in a variable without what may be a secret, or undefined if it contains none. */
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

/** Returns the scheme and the hosts of a URL, and the database of PostgreSQL or Redis. */
function shownUrl(scheme: string, rest: string, text: string): string {
  const start = `${scheme}://`;
  const [authority = ""] = rest.split(/[/?#]/);
  // A secret that is not escaped may contain the characters that end the authority.
  if (text.slice(start.length + authority.length).includes("@")) return `${start}…`;
  const hosts = authority.slice(authority.lastIndexOf("@") + 1);
  const database = /^(?:postgres|redis)/i.test(scheme) ? /^[^?#]*/.exec(rest)?.[0] : undefined;
  return `${start}${hosts}${database?.slice(authority.length) ?? ""}`;
}

/** Returns the hosts of an address without a scheme. */
const withoutUser = (text: string): string =>
  /^(?:\/\/)?([\w.,:[\]-]+)/.exec(text.slice(text.lastIndexOf("@") + 1))?.[1] ?? "…";
