/** Returns a text, and everything that its parts mean in another encoding. */
export function visible(text: string): string {
  const unescaped = text.replaceAll(/\\+u([\da-f]{4})/gi, (_all, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  const plain = unescaped.replaceAll(/(?:%[\da-f]{2})+/gi, (all) =>
    Buffer.from(all.replaceAll("%", ""), "hex").toString(),
  );
  const decoded = (plain.match(/[\w+/-]{8,}/g) ?? []).flatMap((token) => [
    Buffer.from(token, "base64").toString(),
    Buffer.from(token, "hex").toString(),
  ]);
  return [text, unescaped, plain, plain.replaceAll("+", " "), ...decoded].join("\n").toLowerCase();
}
