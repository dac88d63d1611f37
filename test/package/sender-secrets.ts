/** Secrets of the form that each sender's have, under the names of the environment variables in the blocks. */
export const senderSecrets: Readonly<Record<string, string>> = {
  STRIPE_WEBHOOK_SECRET: "whsec_test",
  GITHUB_WEBHOOK_SECRET: "test-secret",
  SLACK_SIGNING_SECRET: "8f742231b10e8888abcd99yyyzzz85a5",
  SHOPIFY_API_SECRET: "hush",
  RESEND_WEBHOOK_SECRET: "whsec_YSBzaWduaW5nIGtleSBvZiAzMiBieXRlcyBvciBzby4=",
  CLERK_WEBHOOK_SIGNING_SECRET: "whsec_YSBzaWduaW5nIGtleSBvZiAzMiBieXRlcyBvciBzby4=",
  OPENAI_WEBHOOK_SECRET: "whsec_YSBzaWduaW5nIGtleSBvZiAzMiBieXRlcyBvciBzby4=",
  POLAR_WEBHOOK_SECRET: "whsec_YSBzaWduaW5nIGtleSBvZiAzMiBieXRlcyBvciBzby4=",
  WEBHOOK_PUBLIC_KEY: "whpk_+idJuY/fEKwk4FPEHhTIxGZq6mkophn+ubq0keJmOpA=",
  DISCORD_PUBLIC_KEY: "fa2749b98fdf10ac24e053c41e14c8c4666aea6928a619feb9bab491e2663a90",
  PADDLE_WEBHOOK_SECRET: "pdl_ntfset_01test_secret",
  LINEAR_WEBHOOK_SECRET: "lin_wh_test",
  SENDGRID_VERIFICATION_KEY:
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEVt71wZE5TBivchJ8nhXy8GsIMGgvKUV0OxctmGR2hW7NwzQQcjZ+wUt6hAGutRCvgnX9wIx53AQX+YMG153MTA==",
  ZOOM_SECRET_TOKEN: "test-secret-token",
  META_APP_SECRET: "0123456789abcdef0123456789abcdef",
  LEMON_SQUEEZY_SECRET: "test-secret",
  PAGERDUTY_WEBHOOK_SECRET: "test-secret",
  WOOCOMMERCE_WEBHOOK_SECRET: "test-secret",
  INTUIT_VERIFIER_TOKEN: "test-token",
};
