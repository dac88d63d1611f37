import { describe, expect, test } from "vitest";
import { createRedisGuard } from "../../src/crash-test/proxies/redis-guard.js";
import { wordsOf } from "../../src/crash-test/proxies/redis.js";

/** Runs commands with their replies through one connection. Returns what the guard knows then. */
function after(...exchanges: readonly (readonly [command: string, reply?: string])[]) {
  const guard = createRedisGuard(new URL("redis://localhost"));
  const observe = guard.observer();
  for (const [command, reply] of exchanges) {
    observe(command.split(" "), reply === undefined ? undefined : Buffer.from(`${reply}\r\n`));
  }
  return { written: [...guard.written], uncertain: [...guard.uncertain] };
}

describe("the keys that a history has written", () => {
  test.each([
    ["set a 1", "+OK", ["a"]],
    ["SETNX a 1", ":1", ["a"]],
    ["SETNX a 1", ":0", []],
    ["SET a 1 NX", "$-1", []],
    ["SET a 1 NX", "_", []],
    ["GETSET a 1", "$-1", ["a"]],
    ["INCR a", ":1", ["a"]],
    ["INCR a", "-WRONGTYPE no number", []],
    ["MSET a 1 b 2", "+OK", ["a", "b"]],
    ["RENAME a b", "+OK", ["b"]],
    ["RPOPLPUSH a b", "$1\r\nx", ["b"]],
    ["GET a", "$1\r\n1", []],
    ["DEL a", ":1", []],
  ])("after %s with %j", (command, reply, written) => {
    expect(after([command, reply])).toEqual({ written, uncertain: [] });
  });

  test.each(["EVAL script 1 a", "EVALSHA sha 1 a", "FCALL f 1 a", "JSON.SET a $ 1", "SORT a"])(
    "are uncertain after %s",
    (command) => {
      const [name] = command.split(" ");
      expect(after([command, "+OK"])).toEqual({ written: [], uncertain: [name] });
    },
  );

  test("are uncertain after a command without a reply, unless it only reads", () => {
    expect(after(["SET a 1"], ["GET b"])).toEqual({ written: [], uncertain: ["SET"] });
  });

  test("include those of a transaction only if it was executed", () => {
    const queued = [
      ["MULTI", "+OK"],
      ["SET a 1", "+QUEUED"],
      ["EVAL s 0", "+QUEUED"],
    ] as const;
    const all = { written: ["a"], uncertain: ["EVAL"] };
    const none = { written: [], uncertain: [] };
    expect(after(...queued)).toEqual(none);
    expect(after(...queued, ["EXEC", "*2\r\n+OK\r\n+OK"])).toEqual(all);
    expect(after(...queued, ["EXEC", "*-1"])).toEqual(none);
    expect(after(...queued, ["DISCARD", "+OK"], ["EXEC", "*0"])).toEqual(none);
    expect(after(...queued, ["EXEC"])).toEqual({ written: [], uncertain: ["EXEC"] });
  });
});

test.each([
  [["SELECT", "0"], false],
  [["SELECT", "3"], true],
  [["flushall"], true],
  [["FLUSHDB"], true],
  [["SWAPDB", "0", "1"], true],
  [["SET", "a", "1"], false],
  [["RESET"], true],
  [["COPY", "a", "b"], false],
  [["COPY", "a", "b", "db", "0", "REPLACE"], true],
  [["CONFIG", "GET", "maxmemory-policy"], false],
  [["CONFIG", "set", "maxmemory", "1"], true],
  [["ACL", "WHOAMI"], false],
  [["ACL", "SETUSER", "me"], true],
  [["SCRIPT", "EXISTS", "abc"], false],
  [["SCRIPT", "FLUSH"], true],
  [["SCRIPT", "LOAD", "return redis.call('incr', 'a')"], false],
  [["SCRIPT", "LOAD", "return redis.call('flushall')"], true],
  [["FUNCTION", "LIST"], false],
  [["FUNCTION", "FLUSH"], true],
  [["FUNCTION", "LOAD", "#!lua name=a"], true],
  [["MODULE", "LOAD", "a.so"], true],
  [["CLIENT", "SETNAME", "a"], false],
  [["CLIENT", "KILL", "TYPE", "normal"], true],
  [["CLUSTER", "RESET"], true],
  [["EVAL", "return redis.call('hget', KEYS[1], 'state')", "1", "a"], false],
  [["EVAL", 'return redis.call("flushall")', "0"], true],
  [["eval", "redis.call('SELECT', 0) redis.call('set', 'a', 1)", "0"], true],
  [["EVAL", "local call = redis.pcall; call([[swapdb]], 0, 1)", "0"], true],
  [["EVAL", "-- select the next job, and move it\nreturn 1", "0"], false],
  [["'FLUSHALL'"], true],
])("%j is refused on the server of somebody else: %j", (words, isRefused) => {
  expect(createRedisGuard(new URL("redis://localhost")).refusalOf(words) !== undefined).toBe(
    isRefused,
  );
});

test("a value with line breaks does not look like a key", () => {
  const command = Buffer.from(
    "*5\r\n$4\r\nMSET\r\n$1\r\na\r\n$9\r\nx\r\nmine\r\n\r\n$1\r\nb\r\n$0\r\n\r\n",
  );
  expect(wordsOf(command)).toEqual(["MSET", "a", "x\r\nmine\r\n", "b", ""]);
});
