/** The most characters of a text that are stored. */
const longest = 10_000;

/** Returns the error of a run as JSON that PostgreSQL stores: no lone surrogate and no NUL. Never throws. */
export function recordOf(error: unknown): object {
  try {
    const { name, message, code, stack } = Object(error) as Partial<Record<string, unknown>>;
    const texts = { name, message: message ?? String(error), code, stack };
    return Object.fromEntries(
      Object.entries(texts).flatMap(([key, value]) =>
        typeof value === "string" ? [[key, storable(value)]] : [],
      ),
    );
  } catch {
    // An object without a prototype, or a proxy.
    return { message: "The error cannot be read." };
  }
}

const storable = (text: string): string =>
  Buffer.from(text.slice(0, longest)).toString().replaceAll("\0", "");
