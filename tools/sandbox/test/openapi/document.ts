import type { Opened } from "../support.js";

interface ResponseObject {
  readonly description: string;
  readonly headers: object;
  readonly content?: object;
  readonly "x-assumption"?: string;
}

interface OperationObject {
  readonly security?: readonly unknown[];
  readonly parameters: readonly { readonly name: string; readonly required: boolean }[];
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

export interface Document {
  readonly info: { readonly "x-assumptions": readonly { readonly id: string }[] };
  readonly security: unknown;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: OperationObject }>>;
  readonly components: { readonly securitySchemes: object };
}

export const documentOf = async ({ url }: Opened): Promise<Document> =>
  (await (await fetch(`${url}/openapi.json`)).json()) as Document;

/** Returns all operations of a document, named like `POST /v1/emails`. */
export const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
    ),
  );

const settings: readonly Readonly<Record<string, string>>[] = [
  {},
  { "A-11": "flat", "A-15": "array", "A-22": "204", "A-07": "short", "A-27": "shared" },
  { "A-11": "problem", "A-13": "422", "A-14": "422", "A-07": "bare", "A-09": "none" },
  {
    "A-03": "extra:email.opened,other.type",
    "A-02": "minimal",
    "A-10": "only200",
    "A-16": "delta:100/1m",
  },
];
/** Combinations of assumptions that change the document. */
export const choices = settings.map((assumptions) => ({
  assumptions,
  words: JSON.stringify(assumptions),
}));
