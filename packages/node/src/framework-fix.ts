/**
 * The fixes of frameworks that read bodies by default, by the path of their package. NestJS comes first,
 * because it also runs on Fastify.
 */
const fixes = {
  "@nestjs.core":
    'in NestJS, call app.use("/webhooks", webhooks(receiver)) before app.listen(), or pass ' +
    "{ rawBody: true } to NestFactory.create()",
  fastify:
    "in Fastify, mount it in a plugin after scope.removeAllContentTypeParsers() and " +
    'scope.addContentTypeParser("*", (request, payload, done) => done(null))',
};

/**
 * Returns the fix of the framework that called the handler, if it is known. Neither NestJS 12 nor
 * Fastify 5 leaves a trace on the request, but their frames are on the stack unless a bundler moved
 * their code.
 */
export function frameworkFix(): string | undefined {
  const { stackTraceLimit } = Error;
  // The receiver alone uses more frames than the default of 10.
  Error.stackTraceLimit = 30;
  let stack = "";
  try {
    stack = String(new Error().stack);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  // The dots stand for separators, because Windows has another one.
  return Object.entries(fixes).find(([name]) =>
    new RegExp(`node_modules.${name}.`).test(stack),
  )?.[1];
}
