/** Whether the bytes are genuine: true or `{ ok: true }` if so. A throw or a rejection says no, too. */
export type Check = (body: Body) => unknown;

export type Body = Buffer<ArrayBuffer>;

/** One way to verify, configured as its authors ask for. */
export interface Verifier {
  readonly name: string;
  /** Signs `genuine` as this contender's sender would; the answer checks bodies against that signature. */
  readonly prepare: (genuine: Body, secret: string) => Check;
}

/** Rejects unless the check accepts what is genuine, and nothing that differs in one bit. */
export async function prove(name: string, check: Check, genuine: Body): Promise<void> {
  const tampered = Buffer.from(genuine);
  tampered.writeUInt8(tampered.readUInt8(tampered.length - 3) ^ 1, tampered.length - 3);
  if (!(await accepts(check, genuine))) throw new Error(`${name} refuses a genuine body`);
  if (await accepts(check, tampered)) throw new Error(`${name} accepts a tampered body`);
}

async function accepts(check: Check, body: Body): Promise<boolean> {
  try {
    const answer = await check(body);
    return answer === true || (answer as { readonly ok?: unknown } | undefined)?.ok === true;
  } catch {
    return false;
  }
}
