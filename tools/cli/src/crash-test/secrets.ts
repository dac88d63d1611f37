import type { Context } from "../command.js";
import { conceal } from "../lib/mask.js";

/** Matches names of variables and URL parameters whose values may be secret, but not `PWD`, the working folder. */
export const secretName: RegExp =
  /SECRET|TOKEN|KEY|PASS|[^D]_?PWD|AUTH(?!OR)|LOGIN|CREDENTIAL|^sig/i;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Returns the segments of a path that may be secret, as in a webhook URL: all except short words and versions. */
export const secretSegments = (path: string): readonly string[] =>
  path.split("/").filter((segment) => !/^(?:[a-z]{0,10}|v\d+)$/.test(segment));

/** Matches a user in a URL that is not masked, such as that of a database, because other texts may contain the name. */
const plainName = /^[a-z]+(?:[._-][a-z]+)*$/i;

/** Returns the secrets in the URLs of a value: passwords, users that may be keys, and parameters named like secrets. */
function secretsIn(value: string): readonly string[] {
  const secrets: string[] = [];
  for (const [, scheme = "", user = "", password] of value.matchAll(
    /\b([a-z][a-z0-9+.-]*):\/\/([^\s:/@?#]*)(?::([^\s/]*))?@/gi,
  )) {
    // A password that equals the user is not masked: many test databases have one, and other texts contain the name.
    if (password && password !== user) secrets.push(password);
    if (!password && (/^https?$/i.test(scheme) || !plainName.test(user))) secrets.push(user);
  }
  for (const [, name = "", text = ""] of value.matchAll(/[?&;]([^\s=&;#]+)=([^\s&;#"']+)/g)) {
    if (secretName.test(name)) secrets.push(text);
  }
  return secrets;
}

/** Masks all but short secrets in output: values of variables named like secrets, and secrets in URLs and `paths`. */
export function concealEnvironment(env: Context["env"], paths: readonly string[]): void {
  for (const [name, value = ""] of Object.entries(env)) {
    if (secretName.test(name)) value.split("\n").forEach(conceal);
    for (const secret of secretsIn(value)) [secret, decoded(secret)].forEach(conceal);
  }
  paths.flatMap(secretSegments).forEach(conceal);
}
