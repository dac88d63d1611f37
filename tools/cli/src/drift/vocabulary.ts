import { createResolver, type JsonSchema } from "./json-schema.js";
import { jsonSchemaOf, type Schemas } from "./schemas.js";

/** The names of fields and the values of enumerations that schemas declare. They are not personal data. */
export interface Vocabulary {
  readonly names: ReadonlySet<string>;
  /** The values by the name of their field. A number is written as JSON writes it. */
  readonly values: ReadonlyMap<string, ReadonlySet<string>>;
}

export const noVocabulary: Vocabulary = { names: new Set(), values: new Map() };

/** Returns the names and values that schemas declare in JSON Schema, and the event types of all schemas. */
export function vocabularyOf({ byType }: Pick<Schemas, "byType">): Vocabulary {
  const names = new Set<string>();
  const values = new Map([["type", new Set<string>(byType.keys())]]);

  const add = (root: JsonSchema) => {
    const resolve = createResolver(root);
    /** The names under which each schema has been visited, because a schema may contain itself. */
    const visited = new Map<JsonSchema, Set<string>>();
    const visit = (schema: JsonSchema | boolean | undefined, name: string): void => {
      if (typeof schema !== "object" || visited.get(schema)?.has(name)) return;
      visited.set(schema, (visited.get(schema) ?? new Set()).add(name));
      const part = resolve(schema);
      const own = part.enum ?? ("const" in part ? [part.const] : []);
      for (const value of own) {
        values.set(name, (values.get(name) ?? new Set()).add(String(value)));
      }
      for (const [field, inner] of Object.entries(part.properties ?? {})) {
        names.add(field);
        visit(inner, field);
      }
      for (const inner of [part.items, ...(part.prefixItems ?? [])]) visit(inner, name);
      for (const inner of [...(part.anyOf ?? []), ...(part.oneOf ?? [])]) visit(inner, name);
      for (const inner of Object.values(part.patternProperties ?? {})) visit(inner, "");
      visit(part.additionalProperties, "");
    };
    visit(root, "");
  };

  for (const schema of byType.values()) {
    const described = jsonSchemaOf(schema);
    if (described) add(described);
  }
  return { names, values };
}
