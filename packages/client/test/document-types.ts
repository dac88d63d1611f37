/* TypeScript types of the sandbox's OpenAPI document, written from its schemas. */

export interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
}

interface Content {
  readonly content?: { readonly "application/json": { readonly schema: Schema } };
}

export interface OperationObject {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: "path" | "query" | "header";
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Keywords that no TypeScript type expresses. */
const untyped = /^(?:x-.*|description|default|format|pattern|(?:min|max).*)$/;

const literals = (values: readonly unknown[]) =>
  values.map((value) => JSON.stringify(value)).join(" | ");

/** Returns the type of a schema. Throws for an unknown keyword, so that none is left out. */
function typeOf(schema: Schema): string {
  const {
    type,
    properties,
    required = [],
    items,
    enum: values,
    $ref,
    anyOf,
    allOf,
    ...rest
  } = schema;
  const { const: constant, ...others } = rest;
  const unknown = Object.keys(others).filter((keyword) => !untyped.test(keyword));
  if (unknown.length > 0) throw new Error(`There is no type for ${unknown.join(", ")}.`);
  // Only patterns are combined.
  for (const part of (allOf ?? []) as readonly Schema[]) typeOf({ type: "string", ...part });

  if (typeof $ref === "string") return `Schemas["${$ref.slice($ref.lastIndexOf("/") + 1)}"]`;
  if (constant !== undefined) return literals([constant]);
  if (Array.isArray(values)) return literals(values);
  if (Array.isArray(type)) return type.map((one) => typeOf({ type: one as string })).join(" | ");
  if (properties) {
    const members = Object.entries(properties).map(
      ([name, member]) => `${name}${required.includes(name) ? "" : "?"}: ${typeOf(member)};`,
    );
    return `{ ${members.join(" ")} }${anyOf ? ` & (${anyOf.map(requires).join(" | ")})` : ""}`;
  }
  if (anyOf) return anyOf.map(typeOf).join(" | ");
  if (type === "array") return `readonly (${typeOf(items ?? {})})[]`;
  if (type === "integer") return "number";
  if (["string", "number", "boolean", "null"].includes(String(type))) return String(type);
  throw new Error(`There is no type for ${JSON.stringify(schema)}.`);

  /** Returns the type of an alternative that only makes members required. */
  function requires({ required: names = [], ...more }: Schema): string {
    if (Object.keys(more).length > 0) throw new Error("An alternative has more than `required`.");
    return `{ ${names.map((name) => `${name}: ${typeOf(properties?.[name] ?? {})};`).join(" ")} }`;
  }
}

const objectOf = (members: readonly (readonly [name: string, type: string])[]) =>
  `{ ${members.map(([name, type]) => `${name}: ${type};`).join(" ")} }`;

function typeOfOperation({ parameters, requestBody, responses }: OperationObject): string {
  const inPlace = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(
        ({ name, required, schema }) =>
          [`"${name}"${required ? "" : "?"}`, typeOf(schema)] as const,
      );
  const schemaOf = (content: Content | undefined) => content?.content?.["application/json"].schema;
  const body = schemaOf(requestBody);
  const results = Object.entries(responses)
    .filter(([status]) => status.startsWith("2"))
    .map(([, response]) => schemaOf(response));
  return objectOf([
    [
      "path",
      `[${inPlace("path")
        .map(([name, type]) => `${JSON.parse(name)}: ${type}`)
        .join(", ")}]`,
    ],
    ["query", objectOf(inPlace("query"))],
    ["header", objectOf(inPlace("header"))],
    ["body", body ? typeOf(body) : "undefined"],
    ["result", results.map((schema) => (schema ? typeOf(schema) : "undefined")).join(" | ")],
  ]);
}

/** Returns a module with the document's schemas, and its operations by `operationId`. */
export function typesOf({ paths, components }: Document): string {
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => [name, typeOf(schema)] as const,
  );
  const operations = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => [operation.operationId, typeOfOperation(operation)] as const);
  return [
    `export interface Schemas ${objectOf(schemas)}`,
    `export interface Operations ${objectOf(operations)}`,
    "",
  ].join("\n");
}
