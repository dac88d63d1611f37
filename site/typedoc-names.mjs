import { Converter, ReflectionKind } from "typedoc";
import { entries } from "./typedoc.config.mjs";

const nameOf = new Map([...entries].map(([name, source]) => [source, name]));

/** Returns a name for a parameter that the source destructures, from its type: `outcome` for `Outcome`. */
const nameFor = (type) =>
  type?.type === "reference" ? type.name[0].toLowerCase() + type.name.slice(1) : "options";

/** Names each module as users import it, and each parameter that has no name in the source. */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const parameter of project.getReflectionsByKind(ReflectionKind.Parameter)) {
      if (parameter.name.startsWith("__namedParameters")) parameter.name = nameFor(parameter.type);
    }
    for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
      const source = project.getSymbolIdFromReflection(module)?.fileName;
      module.name = nameOf.get(source) ?? module.name;
    }
  });
}
