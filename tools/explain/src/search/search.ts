import type { SecretKey } from "@svc-webhooks/core";
import { bodyVariants, cutVariants, type BodyVariant } from "./bodies.js";
import { concat, toBinary, toHex, type Bytes } from "./bytes.js";
import { methods, type Method } from "./hash.js";
import { exactKeys, keyVariants, otherKeys, type KeyVariant } from "./keys.js";
import type { MistakeId } from "../mistakes.js";
import { obviousMistake, parseValue, valueMistakes } from "./value.js";

/**
 * The result of a search: the mistakes that produce the value (none if nothing matched it), and the mistakes that were
 * checked.
 */
export interface Found {
  readonly found: readonly MistakeId[];
  readonly checked: readonly (MistakeId | "combinations")[];
  /** The bytes that were signed instead of the body. Undefined if the body itself was signed, or nothing was found. */
  readonly body?: Bytes | undefined;
}

export interface Keys {
  readonly current: readonly SecretKey[];
  readonly previous: readonly SecretKey[];
  readonly other: readonly SecretKey[];
}

interface Candidate {
  readonly body: BodyVariant;
  readonly key: KeyVariant;
  readonly method: Method;
}

/**
 * Returns the size of the largest body whose variants are tried, in bytes. In a quick search, trying all variants of
 * such a body takes 0.1 s.
 */
export const changedBodyBytes = (isQuick: boolean): number => (isQuick ? 8_192 : 4 * 1_048_576);

/**
 * The limits of the search. On two cores, 10,000 digests of a small body take 0.3 s, and all variants of 4 MiB of
 * commas take 5 s.
 */
const limits = {
  combinations: 10_000,
  combinedBodyBytes: 16_384,
  /**
   * The maximum number of other endpoints' secrets that are combined with other mistakes. There may be many such
   * secrets.
   */
  combinedOthers: 5,
};

/**
 * The maximum number of digests before yielding to the event loop. Some WebCrypto implementations complete a digest
 * without yielding to it.
 */
const digestsPerTurn = 1_000;

/** Lets timers and I/O run. */
const turn = () => new Promise<void>((resolve) => setTimeout(resolve));

const idsOf = ({ body, key, method }: Candidate) => [...key.ids, ...body.ids, ...method.ids];

const isRight = ({ ids }: { readonly ids: readonly MistakeId[] }) => ids.length === 0;

function product(
  bodies: readonly BodyVariant[],
  keys: readonly KeyVariant[],
  methodsToUse: readonly Method[],
): readonly Candidate[] {
  return methodsToUse.flatMap((method) =>
    (method.keyed ? keys : keys.slice(0, 1)).flatMap((key) =>
      bodies.map((body) => ({ body, key, method })),
    ),
  );
}

/**
 * Searches for the mistakes that produce the value. Compares the value with the digests of single mistakes, then of
 * combinations of mistakes, then of cut bodies, until one matches.
 *
 * @param before the bytes that are signed before the body
 * @param isQuick whether to omit combinations, bodies that were cut or whose characters were split, and changes of
 *   larger bodies
 */
export async function search(
  body: Bytes,
  signature: string,
  { current, previous, other }: Keys,
  before: Bytes,
  isQuick: boolean,
): Promise<Found> {
  const obvious = obviousMistake(signature, [...current, ...previous, ...other]);
  if (obvious) return { found: [obvious], checked: [obvious] };

  const checked = new Set<MistakeId | "combinations">(valueMistakes);
  const mistakesIn = parseValue(signature);
  const isSmall = body.length <= limits.combinedBodyBytes;
  // WebCrypto copies the data that it hashes, so large bodies are hashed one at a time.
  const batch = isSmall ? 64 : 1;

  async function mistakesOf(candidate: Candidate): Promise<readonly MistakeId[] | undefined> {
    const { body: variant, key, method } = candidate;
    const digest = await method.digest(key.key, concat(before, variant.body));
    const written = mistakesIn(toHex(new Uint8Array(digest)), method.hash);
    return written && [...idsOf(candidate), ...written];
  }

  let digests = 0;

  /** Resolves to the mistakes of the first candidate that produces the value, or to undefined if none does. */
  async function compare(candidates: readonly Candidate[]): Promise<Found | undefined> {
    for (let index = 0; index < candidates.length; index += batch) {
      const some = candidates.slice(index, index + batch);
      digests += some.length;
      if (digests > digestsPerTurn) {
        await turn();
        digests = some.length;
      }
      for (const id of some.flatMap(idsOf)) checked.add(id);
      const results = await Promise.all(some.map(mistakesOf));
      const place = results.findIndex((result) => result !== undefined);
      const ids = results[place];
      const changed = some[place]?.body;
      if (ids)
        return {
          found: ids,
          checked: [...checked],
          body: changed && !isRight(changed) ? changed.body : undefined,
        };
    }
    return undefined;
  }

  const exact: BodyVariant = { ids: [], body };
  const keys = keyVariants(current, previous);
  const others = otherKeys(other.slice(0, limits.combinedOthers));
  const rightKeys = keys.filter(isRight);
  const all = methods();
  const rightMethod = all.filter(isRight);
  const wrongMethods = all.filter((method) => !isRight(method));
  const exactMatch =
    (await compare(product([exact], keys, rightMethod))) ??
    (await compare(
      product([exact], [...exactKeys(other, ["other_secret"]), ...others], rightMethod),
    )) ??
    (await compare(product([exact], rightKeys, wrongMethods)));
  if (exactMatch) return exactMatch;

  const isChangeable = body.length <= changedBodyBytes(isQuick);
  const variants = isChangeable ? bodyVariants(body, isSmall) : [];
  const bodies = [exact];
  const seen = new Set(isSmall ? [toBinary(body)] : []);
  for (const variant of variants) {
    // Lets other work run before each variant: building a variant of a large body is slow, and so is hashing it.
    if (!isSmall) await turn();
    if (!variant) continue;
    if (isSmall) {
      const bytes = toBinary(variant.body);
      if (seen.has(bytes)) continue;
      seen.add(bytes);
      bodies.push(variant);
    }
    const match = await compare(product([variant], rightKeys, rightMethod));
    if (match) return match;
  }

  if (isQuick) return { found: [], checked: [...checked] };
  if (isSmall) {
    const combinations = [...product(bodies, keys, all), ...product(bodies, others, all)]
      .filter(({ body: variant, key, method }) => [variant, key, method].filter(isRight).length < 2)
      .toSorted((a, b) => idsOf(a).length - idsOf(b).length);
    const next = combinations[limits.combinations];
    if (!next || idsOf(next).length > 2) checked.add("combinations");
    const match = await compare(combinations.slice(0, limits.combinations));
    if (match) return match;
  }

  for (const variant of isChangeable ? cutVariants(body, isSmall) : []) {
    if (!isSmall) await turn();
    const match = await compare(product([variant], rightKeys, rightMethod));
    if (match) return match;
  }
  return { found: [], checked: [...checked] };
}
