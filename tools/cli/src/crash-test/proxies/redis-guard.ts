/*
 * Protects a Redis server that this command has not started: refuses commands that could damage it, and records which
 * keys the server under test writes, so that only these are deleted.
 */

export interface RedisGuard {
  /** The commands that start each connection: they authenticate it and select its database. */
  readonly opening: readonly (readonly string[])[];
  /** Returns why a command is refused, or undefined if it may pass. */
  readonly refusalOf: (words: readonly string[]) => string | undefined;
  /**
   * Returns a function to call with each command of a connection and the reply, which is undefined if the connection
   * broke.
   */
  readonly observer: () => (words: readonly string[], reply: Buffer | undefined) => void;
  /** The keys that were certainly written. */
  readonly written: ReadonlySet<string>;
  /** The names of commands that may have written other keys, such as `EVALSHA`. */
  readonly uncertain: ReadonlySet<string>;
}

/** Matches commands that would change other databases, keys that no history has written, or the server itself. */
const refused =
  /^(?:FLUSHALL|FLUSHDB|SWAPDB|MOVE|MIGRATE|SHUTDOWN|DEBUG|FAILOVER|REPLICAOF|SLAVEOF|SYNC|PSYNC|RESET)$/;

/** Match the harmless subcommands of commands whose other subcommands affect the server or its other clients. */
const passing: Readonly<Record<string, RegExp>> = {
  ACL: /^WHOAMI$/,
  CLIENT: /^(?!(?:KILL|PAUSE|UNBLOCK)$)/,
  CLUSTER: /^(?:INFO|KEYSLOT|MYID|NODES|SHARDS|SLOTS)$/,
  CONFIG: /^GET$/,
  FUNCTION: /^(?:DUMP|LIST|STATS)$/,
  MODULE: /^LIST$/,
  SCRIPT: /^(?:EXISTS|LOAD)$/,
};

/** Matches a Lua string with the name of a refused command that a script could run. */
const inScripts = /(?:["']|\[\[)(?:SELECT|FLUSHALL|FLUSHDB|SWAPDB|MOVE|COPY|MIGRATE)(?:["']|\]\])/i;

/** Returns the text of the script that a command runs or loads, or an empty string. */
function scriptOf([command = "", first = "", second = ""]: readonly string[]): string {
  if (/^EVAL(?:_RO)?$/i.test(command)) return first;
  return /^SCRIPT$/i.test(command) && /^LOAD$/i.test(first) ? second : "";
}

/** Returns the part of a command that must be refused, or undefined if the command may pass. */
function refusedPartOf(words: readonly string[], database: string): string | undefined {
  const [command = "", first = "", ...others] = words;
  const name = command.toUpperCase();
  const sub = first.toUpperCase();
  if (refused.test(name)) return name;
  if (name === "SELECT" && first !== database) return `SELECT ${first}`;
  if (passing[name]?.test(sub) === false) return `${name} ${sub}`.trim();
  if (name === "COPY" && others.some((word) => /^DB$/i.test(word))) return "COPY with DB";
  const [forbidden] = inScripts.exec(scriptOf(words)) ?? [];
  return forbidden && `a script with ${forbidden}`;
}

/** Returns the commands that authenticate a connection with a URL's credentials, and select the URL's database. */
export function openingOf({ username, password, pathname }: URL): readonly (readonly string[])[] {
  const credentials = [username, password].filter(Boolean).map(decodeURIComponent);
  return [
    ...(credentials.length > 0 ? [["AUTH", ...credentials]] : []),
    ["SELECT", databaseOf(pathname)],
  ];
}

const databaseOf = (pathname: string): string => pathname.slice(1) || "0";

/** Matches commands that write the key in their first argument. */
const ofFirst =
  /^(?:SET|SETEX|PSETEX|SETNX|GETSET|APPEND|SETRANGE|SETBIT|(?:INCR|DECR)(?:BY)?|INCRBYFLOAT|HSET|HSETNX|HMSET|HINCRBY(?:FLOAT)?|[LR]PUSH|SADD|ZADD|ZINCRBY|XADD|PFADD|GEOADD|S(?:UNION|INTER|DIFF)STORE|Z(?:UNION|INTER|DIFF|RANGE)STORE)$/;

/** Matches commands that write the key in their second argument. */
const ofSecond = /^(?:RENAME|RENAMENX|RPOPLPUSH|LMOVE|SMOVE)$/;

/** Matches commands that write no keys, or only keys that exist already. */
const ofNone =
  /^(?:GET|MGET|GETDEL|GETEX|GETRANGE|GETBIT|STRLEN|BITCOUNT|EXISTS|TYPE|TTL|PTTL|(?:P?EXPIRE)(?:AT|TIME)?|PERSIST|DEL|UNLINK|TOUCH|KEYS|SCAN|DBSIZE|RANDOMKEY|TIME|HGET|HMGET|HGETALL|HKEYS|HVALS|HLEN|HEXISTS|HDEL|HSCAN|LLEN|LRANGE|LINDEX|LSET|LREM|LTRIM|LINSERT|[LR]POP|[LR]PUSHX|BL?POP|BRPOP|SCARD|SMEMBERS|SISMEMBER|SMISMEMBER|SREM|SPOP|SSCAN|SUNION|SINTER|SDIFF|ZCARD|ZCOUNT|ZRANGE|ZRANGEBYSCORE|ZRANK|ZREM|ZREMRANGEBYSCORE|ZSCAN|ZSCORE|XLEN|XRANGE|XREAD|XACK|XDEL|XTRIM|PUBLISH|MULTI|EXEC|DISCARD|WATCH|UNWATCH|HELLO|AUTH|CLIENT|SELECT|PING|INFO|COMMAND|CONFIG|ACL|FUNCTION|MODULE|READONLY|QUIT|SCRIPT|ECHO|CLUSTER|ROLE|WAIT|(?:P|S)?(?:UN)?SUBSCRIBE|MONITOR)$/;

/** Returns the keys that a command writes, or undefined if they are not known. */
function keysOf([command = "", ...args]: readonly string[]): readonly string[] | undefined {
  const name = command.toUpperCase();
  const [first = "", second = ""] = args;
  if (ofFirst.test(name)) return [first];
  if (ofSecond.test(name)) return [second];
  if (/^MSET(?:NX)?$/.test(name)) return args.filter((_word, index) => index % 2 === 0);
  return ofNone.test(name) ? [] : undefined;
}

/** Returns whether a reply states that nothing was written: an error, or a condition such as `NX` that is not met. */
function hasNoEffect(words: readonly string[], reply: string): boolean {
  if (reply.startsWith("-")) return true;
  if (/NX$/i.test(words[0] ?? "")) return reply === ":0\r\n";
  return /^(?:_|\$-1)/.test(reply) && words.some((word) => /^(?:NX|XX|NOMKSTREAM)$/i.test(word));
}

/** Creates the guard of one history. The server under test may use only the database in this URL. */
export function createRedisGuard(url: URL): RedisGuard {
  const database = databaseOf(url.pathname);
  const written = new Set<string>();
  const uncertain = new Set<string>();
  const note = (name: string, keys: readonly string[] | undefined) => {
    if (keys === undefined) uncertain.add(name);
    for (const key of keys ?? []) written.add(key);
  };

  return {
    written,
    uncertain,
    opening: openingOf(url),
    refusalOf(words) {
      // Refuses an inline command with quotes or line breaks, which could hide another command. Clients send arrays.
      const part = /["'\n]/.test(words[0] ?? "")
        ? "a line with quotes"
        : refusedPartOf(words, database);
      return part === undefined
        ? undefined
        : `svc-webhooks crash-test does not forward ${part} to a server that it has not started`;
    },
    observer() {
      let queued: (readonly string[])[] = [];
      return (words, reply) => {
        const name = words[0]?.toUpperCase() ?? "";
        const text = reply?.toString("latin1", 0, 9);
        if (text === "+QUEUED\r\n") return void queued.push(words);
        if (/^(?:EXEC|DISCARD)$/.test(name)) {
          const isDone = name === "EXEC" && text !== undefined && !/^(?:[-_]|\*-1)/.test(text);
          if (isDone)
            for (const command of queued) note(command[0]?.toUpperCase() ?? "", keysOf(command));
          if (text === undefined && queued.length > 0) uncertain.add(name);
          queued = [];
          return;
        }
        const keys = keysOf(words);
        // A command without a reply is uncertain unless it writes no keys, because it may have been executed.
        if (text === undefined && keys?.length !== 0) uncertain.add(name);
        if (text !== undefined && !hasNoEffect(words, text)) note(name, keys);
      };
    },
  };
}
