/**
 * Describes why a TLS connection failed.
 *
 * @param host the host name for which the certificate must be valid
 * @param starting how to start the program that connects, such as `start the sandbox`
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { tlsText } from "@svc-webhooks/sandbox/command";
 *
 * const error = Object.assign(new Error(), { code: "CERT_HAS_EXPIRED" });
 * assert.equal(tlsText(error, "localhost", "start the app"), "The certificate has expired.");
 * ```
 */
export function tlsText(
  { code = "", message }: NodeJS.ErrnoException,
  host: string,
  starting: string,
): string {
  const trusting = (content: string): string =>
    `To trust it, ${starting} with NODE_EXTRA_CA_CERTS=FILE, where FILE contains ${content}.`;

  switch (code) {
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return `The certificate is self-signed. ${trusting("this certificate")}`;
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
      return `Node cannot verify the issuer of the certificate. Either the server does not send its intermediate certificates, or Node does not trust the authority. ${trusting("the authority's root certificate")}`;
    case "CERT_HAS_EXPIRED":
      return "The certificate has expired.";
    case "CERT_NOT_YET_VALID":
      return "The certificate is not valid yet.";
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `The certificate is not valid for ${host}. Use a host name that it contains.`;
  }
  // A code that begins with neither EPROTO nor ERR_ comes from OpenSSL, and names a problem with the certificate.
  if (!/^E(?:PROTO|RR_)/.test(code)) return `The certificate was refused: ${message} (${code}).`;
  // The reason comes from OpenSSL's line in the message, because Node 20 reports all TLS protocol errors as EPROTO.
  const reason = /:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1] ?? message;
  if (/wrong version number|packet length too long|http request/.test(reason))
    return "This port does not use TLS. Use an http: URL, or the port that serves HTTPS.";
  if (reason.includes("certificate required"))
    return `The server requires a client certificate (${reason}), but none is ever sent. Use a URL that requires none.`;
  // TLS 1.2 has no alert of its own for a missing client certificate, so that is one possible cause of this failure.
  return reason.includes("handshake failure")
    ? `The server refused the TLS handshake (${reason}). It may require a client certificate, which is never sent, or a cipher that Node does not offer.`
    : `The TLS connection failed (${reason}).`;
}
