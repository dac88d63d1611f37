import { expect, test, vi } from "vitest";
import { shared } from "../src/queue/shared.js";

const call = () => {
  const giving = new AbortController();
  return { giving, signal: giving.signal };
};

test("`shared` loads once, and reads no signal afterwards", async () => {
  const load = vi.fn<() => Promise<string>>(async () => "value");
  const get = shared(load);
  expect(await Promise.all([get(call()), get(call())])).toEqual(["value", "value"]);
  const later = {
    get signal(): never {
      throw new Error("The signal was created.");
    },
  };
  expect(get(later)).toBe("value");
  expect(load).toHaveBeenCalledTimes(1);
});

test("`shared` forgets a load that fails", async () => {
  const load = vi.fn<() => Promise<string>>().mockRejectedValueOnce(new Error("no"));
  load.mockResolvedValue("value");
  const get = shared(load);
  await expect(get(call())).rejects.toThrow("no");
  expect(await get(call())).toBe("value");
});

test("`shared` forgets a load that a caller has given up", async () => {
  const load = vi.fn<() => Promise<string>>().mockReturnValueOnce(new Promise(() => {}));
  load.mockResolvedValue("value");
  const get = shared(load);
  const first = call();
  void get(first);
  first.giving.abort();
  expect(await get(call())).toBe("value");
});
