/**
 * Fixes for frameworks that read bodies by default, by package path. NestJS comes first, because it also runs on
 * Fastify.
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
 * Returns the fix for the framework that called the handler, or undefined if it is not one of these. Neither NestJS 12
 * nor Fastify 5 leaves a trace on the request, but their frames are on the stack unless a bundler moved their code.
 */
export function frameworkFix(): string | undefined {
  const { stackTraceLimit } = Error;
  // The receiver alone uses more than the default of 10 frames.
  Error.stackTraceLimit = 30;
  let stack = "";
  try {
    stack = String(new Error().stack);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  // The dots match the path separator, which is different on Windows.
  return Object.entries(fixes).find(([name]) =>
    new RegExp(`node_modules.${name}.`).test(stack),
  )?.[1];
}
