import { inside } from "../virtual/inside.js";

/**
 * Returns a `Date` that is virtual inside of a history. Its instances are those of the real one, and it is their
 * `constructor`.
 */
export function virtualDate(real: DateConstructor): DateConstructor {
  const now = (): number => inside.getStore()?.time.now() ?? real.now();
  const proxy: DateConstructor = new Proxy(real, {
    construct(target, args: unknown[], newTarget) {
      const given = args.length > 0 || !inside.getStore() ? args : [now()];
      return Reflect.construct(target, given, newTarget === proxy ? target : newTarget) as Date;
    },
    apply: () => new real(now()).toString(),
    get: (target, name, receiver) =>
      name === "now"
        ? now
        : (Reflect.get(target, name, receiver === proxy ? target : receiver) as unknown),
  });
  return proxy;
}
