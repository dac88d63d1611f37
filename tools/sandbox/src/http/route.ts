import { ApiError } from "../errors.js";

interface Target {
  readonly method: string;
  readonly path: string;
}

export interface Route<Item extends Target> {
  readonly operation: Item;
  readonly params: Readonly<Record<string, string>>;
}

const patterns = new Map<string, RegExp>();

/**
 * Returns the regular expression that matches a path such as `/v1/domains/{domain_id}:verify`. A parameter matches text
 * without `/` and `:`.
 */
function patternOf(path: string): RegExp {
  const known =
    patterns.get(path) ?? new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/:]+)")}$`);
  patterns.set(path, known);
  return known;
}

/**
 * Finds the operation that a request is for, and decodes the parameters of its path.
 * @throws ApiError 404 for an unknown path, 405 with `Allow` for a known path without this method
 */
export function matchRoute<Item extends Target>(
  table: readonly Item[],
  method: string,
  path: string,
): Route<Item> {
  const matching = table.filter((operation) => patternOf(operation.path).test(path));
  const operation = matching.find((candidate) => candidate.method === method);
  if (operation) {
    const groups = patternOf(operation.path).exec(path)?.groups ?? {};
    const params = Object.entries(groups).map(([name, text]) => [name, decoded(text)]);
    return { operation, params: Object.fromEntries(params) };
  }
  if (matching.length === 0) {
    throw new ApiError(
      404,
      "not_found",
      "There is no such route. /openapi.json lists the interface's routes.",
    );
  }
  const allowed = matching.map((candidate) => candidate.method).join(", ");
  throw new ApiError(405, "method_not_allowed", `Use ${allowed} for this route.`, {
    headers: { Allow: allowed },
  });
}

/** Decodes percent-encoded text. Returns the text unchanged if it cannot be decoded. */
export const decoded = (text: string): string => {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
