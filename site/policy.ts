import { createHash } from "node:crypto";

const inlineScripts = /<script(?![^>]*\bsrc=)[^>]*>([^]*?)<\/script>/g;

/**
 * Adds a content security policy to a page: it loads nothing from another host, sends nothing there, and runs no
 * inline script but its own.
 */
export function withPolicy(html: string): string {
  const hashes = Array.from(
    html.matchAll(inlineScripts),
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(" ")}`.trim(),
    // Highlighted code has style attributes.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    // A worker from a blob has this policy too. One from an address has only that of the server's headers.
    "worker-src blob:",
    "form-action 'none'",
    "base-uri 'none'",
  ].join("; ");
  return html.replace(
    /<head>/,
    `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`,
  );
}
