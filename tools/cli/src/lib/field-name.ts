/**
 * Returns whether the name of a JSON member is probably a field of a schema: at most eight words, such as
 * `firstName`, `line_1` or `@type`. Other names are probably data, such as email addresses in a map.
 */
export function isFieldName(name: string): boolean {
  if (name.length > 64) return false;
  const words = name.replace(/^(?:[@$]|_{1,2})/, "").split(/[_-]|(?<=[a-z\d])(?=[A-Z])/);
  return (
    words.length <= 8 &&
    words.every((word, index) => (index === 0 ? firstWord : laterWord).test(word))
  );
}

/** Matches letters with at most one digit after them, and words such as `sha256`. More digits may mean a user name. */
const firstWord = /^(?:[A-Za-z]+\d?|(?:sha|base|u?int|x)\d{2,3})$/i;
const laterWord = new RegExp(`${firstWord.source}|^\\d{1,2}$`, "i");

/** Returns whether a text may be an event type: up to ten words, as in `email.sent`, `orders/create` or `v2.paid`. */
export const isTypeName = (text: string): boolean =>
  text.length <= 100 && /^[A-Za-z]{1,40}\d?(?:[./:_-][A-Za-z]{1,40}\d?){0,9}$/.test(text);

/** Returns whether a text is a possible delivery id: 1 to 100 letters, digits, underscores and hyphens. */
export const isIdText = (text: string): boolean => /^[\w-]{1,100}$/.test(text);
