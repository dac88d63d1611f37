import { inside } from "../virtual/inside.js";

/**
 * Returns a `Date` whose current time is virtual inside of a history. Its instances are instances of the real `Date`.
 */
export function virtualDate(real: DateConstructor): DateConstructor {
  const now = (): number => inside.getStore()?.time.now() ?? real.now();
  const proxy: DateConstructor = new Proxy(real, {
    construct(target, args: unknown[], newTarget) {
      const dateArgs = args.length > 0 || !inside.getStore() ? args : [now()];
      return Reflect.construct(target, dateArgs, newTarget === proxy ? target : newTarget) as Date;
    },
    apply: () => new real(now()).toString(),
    get: (target, name, receiver) =>
      name === "now"
        ? now
        : (Reflect.get(target, name, receiver === proxy ? target : receiver) as unknown),
  });
  return proxy;
}
