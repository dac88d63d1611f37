/*
 * Secrets that are public or easy to guess, so anyone can sign with them. A receiver must not use one as a fallback.
 */

/** The texts that JavaScript and Python produce when code converts a missing secret to a string. */
export const missingSecrets = ["undefined", "null", "None"] as const;

/** Secrets that examples contain. */
export const exampleSecrets = ["secret", "whsec_test", "whsec_example", "whsec_secret"] as const;

/** Texts that a configuration contains until somebody replaces them. */
export const placeholders = ["changeme", "test", "whsec_"] as const;

/**
 * The sample secret of Standard Webhooks libraries, and the secret of this project's published fixtures. Both are also
 * valid for senders whose keys are decoded from base64.
 */
export const sampleSecrets = [
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "whsec_c3ZjLXdlYmhvb2tzLXRlc3Qtc2VjcmV0",
] as const;
