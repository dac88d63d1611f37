// autocannon ships no types. These cover the parts that the benchmark uses.
declare module "autocannon" {
  interface Result {
    readonly requests: { readonly sent: number; readonly total: number };
    readonly non2xx: number;
    readonly errors: number;
  }

  export default function autocannon(options: Readonly<Record<string, unknown>>): Promise<Result>;
}
