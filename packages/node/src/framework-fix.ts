/**
 * Fixes for frameworks that read bodies by default, by package path. NestJS comes first, because it also runs on
 * Fastify.
 */
const fixes = {
  "@nestjs.core":
    "in NestJS, use WebhooksModule from svc-webhooks/nest, or pass { rawBody: true } to NestFactory.create()",
  fastify: "in Fastify, use webhooks from svc-webhooks/fastify",
};

/**
 * Returns the fix for the framework that called the handler, or undefined if the stack shows neither NestJS nor
 * Fastify. Reads the stack, because NestJS 12 and Fastify 5 leave no trace on the request. The stack does not show the
 * framework if a bundler moved its code.
 */
export function frameworkFix(): string | undefined {
  const { stackTraceLimit } = Error;
  // The default of 10 frames is too few, because the receiver alone uses more.
  Error.stackTraceLimit = 30;
  let stack = "";
  try {
    stack = String(new Error().stack);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  // These adapters of ours have fixes of their own. The dots match the path separator, which is different on Windows.
  if (/\W(?:fastify|nest).(?:dist|src).\w+\./.test(stack)) return;
  return Object.entries(fixes).find(([name]) =>
    new RegExp(`node_modules.${name}.`).test(stack),
  )?.[1];
}
