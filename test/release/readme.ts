/** Returns the packages that README's quick start installs from a registry. */
export function installedBy(readme: string): readonly string[] {
  const [, names] = /npm install (svc-webhooks [^`\n]+)/.exec(readme) ?? [];
  if (names === undefined) throw new Error("README.md has no line that installs svc-webhooks.");
  return names.split(" ");
}

/** Returns README's first example. */
export function firstExample(readme: string): string {
  const [, code] = /^```js\n([^]+?)^```$/m.exec(readme) ?? [];
  if (code === undefined) throw new Error("README.md has no example in a block of js.");
  return code;
}
