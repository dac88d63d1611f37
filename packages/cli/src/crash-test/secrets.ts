import type { Context } from "../command.js";
import { conceal } from "../lib/mask.js";

/** Names of variables and of parameters of URLs whose values may be secret. `PWD` alone is the working folder. */
export const secretName: RegExp =
  /SECRET|TOKEN|KEY|PASS|[^D]_?PWD|AUTH(?!OR)|LOGIN|CREDENTIAL|^sig/i;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Returns the segments of a path that may be secret, as in the URL of a webhook. Words and versions are not. */
export const secretSegments = (path: string): readonly string[] =>
  path.split("/").filter((segment) => !/^(?:[a-z]{0,10}|v\d+)$/.test(segment));

/** A name that other texts may contain, such as the user of a database. */
const plainName = /^[a-z]+(?:[._-][a-z]+)*$/i;

/** Returns the secrets in the URLs of a value: passwords, users that are keys, and parameters. */
function secretsIn(value: string): readonly string[] {
  const found: string[] = [];
  for (const [, scheme = "", user = "", password] of value.matchAll(
    /\b([a-z][a-z0-9+.-]*):\/\/([^\s:/@?#]*)(?::([^\s/]*))?@/gi,
  )) {
    // The password of many databases for tests is the name of their user, which other texts contain.
    if (password && password !== user) found.push(password);
    if (!password && (/^https?$/i.test(scheme) || !plainName.test(user))) found.push(user);
  }
  for (const [, name = "", text = ""] of value.matchAll(/[?&;]([^\s=&;#]+)=([^\s&;#"']+)/g)) {
    if (secretName.test(name)) found.push(text);
  }
  return found;
}

/** Masks the secrets of the environment in all output: those by name, those in URLs, and the paths of stubs. */
export function concealEnvironment(env: Context["env"], paths: readonly string[]): void {
  for (const [name, value = ""] of Object.entries(env)) {
    if (secretName.test(name)) value.split("\n").forEach(conceal);
    for (const secret of secretsIn(value)) [secret, decoded(secret)].forEach(conceal);
  }
  paths.flatMap(secretSegments).forEach(conceal);
}
