/*
 * Secrets that anyone can read, so anyone can sign with them. A receiver must not accept one of them as a fallback.
 */

/** Texts that stand for a missing secret. */
export const missingSecrets = ["undefined", "null", "None"] as const;

/** The secrets of examples. */
export const exampleSecrets = ["secret", "whsec_test", "whsec_example", "whsec_secret"] as const;

/** Texts that a configuration contains until somebody replaces them. */
export const placeholders = ["changeme", "test", "whsec_"] as const;

/** The samples of Standard Webhooks libraries, and the secret of published fixtures. Senders accept them as keys. */
export const sampleSecrets = [
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "whsec_c3ZjLXdlYmhvb2tzLXRlc3Qtc2VjcmV0",
] as const;
