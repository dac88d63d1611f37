import { InvalidResponseError } from "./errors.js";

/** A page of a list. */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  /** The cursor of the next page. Undefined on the last page, and if the service does not paginate. */
  readonly next_cursor: string | undefined;
}

/** A list: `for await` iterates over its items, and requests the next page when the current one is used up. */
export interface List<Item> extends AsyncIterable<Item> {
  /** Returns the pages of the list. */
  readonly pages: () => AsyncIterable<Page<Item>>;
}

/**
 * Creates a list.
 *
 * @param read requests the page after a cursor, or the first page if the cursor is undefined
 * @param first the cursor to start after
 */
export function list<Item>(
  read: (after: string | undefined) => Promise<unknown>,
  first?: string,
): List<Item> {
  async function* pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const seen = new Set<string | undefined>();
    let after = first;
    do {
      const page = asPage<Item>(await read(after));
      seen.add(after);
      after = page.next_cursor;
      // Throws if a cursor repeats, before any item is handled twice.
      if (after && seen.has(after)) throw invalid("The list repeats a cursor.");
      yield page;
    } while (after);
  }
  async function* items(): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of pages()) yield* data;
  }
  return { pages, [Symbol.asyncIterator]: items };
}

/** Parses both forms of a list (assumption A-15): a page with a cursor, and an array of all items. */
function asPage<Item>(body: unknown): Page<Item> {
  const {
    data,
    has_more: hasMore,
    next_cursor: next,
  } = (Array.isArray(body) ? { data: body } : body) as {
    readonly data?: unknown;
    readonly has_more?: unknown;
    readonly next_cursor?: string | number;
  };
  if (!Array.isArray(data) || data.includes(null))
    throw invalid("The response has no valid `data`.");
  const isMore = hasMore !== false && !!next;
  return { data, has_more: isMore, next_cursor: isMore ? String(next) : undefined };
}

const invalid = (message: string) =>
  new InvalidResponseError({ code: "invalid_response", message });
