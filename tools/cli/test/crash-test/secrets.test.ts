import { expect, test } from "vitest";
import { concealEnvironment } from "../../src/crash-test/secrets.js";
import { masked } from "../../src/lib/mask.js";

test.each([
  ["a password", "DB_PASS", "pass-1-hidden", "pass-1-hidden"],
  ["a password", "DB_PWD", "pwd-2-hidden", "pwd-2-hidden"],
  ["a password", "MYSQL_PWD", "pwd-3-hidden", "pwd-3-hidden"],
  ["credentials", "NPM_AUTH", "auth-4-hidden", "auth-4-hidden"],
  ["credentials", "GOOGLE_CREDENTIALS", "credential-5-hidden", "credential-5-hidden"],
  ["a key in a URL", "SENTRY_DSN", "https://f6hidden0123@o1.example.com/2", "f6hidden0123"],
  ["a key with an empty password", "PAY_URL", "https://f7hidden0123:@example.com", "f7hidden0123"],
  ["a key of another scheme", "MQ_URL", "amqp://f8hidden0123@example.com", "f8hidden0123"],
  ["a password in a URL", "DATABASE_URL", "postgres://me:hid%2Fden-9@localhost", "hid/den-9"],
  ["a parameter", "MAPS_URL", "https://example.com/?a=1&api_key=hid%2Bden-10", "hid+den-10"],
  ["a parameter", "SMS_URL", "https://example.com/?auth=hidden-11-auth&b=2", "hidden-11-auth"],
  ["a signature", "BLOB_URL", "https://example.com/a?sv=1&sig=hidden-12-sig", "hidden-12-sig"],
])("%s in %s is masked", (_what, name, value, secret) => {
  concealEnvironment({ [name]: value }, []);
  expect(masked(`It prints ${secret}.`)).toBe("It prints ….");
});

test.each([
  ["PWD", "/home/ada/visible-1"],
  ["OLDPWD", "/home/ada/visible-2"],
  ["GIT_AUTHOR_NAME", "Ada Visible"],
  ["DATABASE_URL", "visibleuser", "postgres://visibleuser@localhost/app"],
  ["SEARCH_URL", "visible-page", "http://127.0.0.1/?page=visible-page"],
])("%s is not: %s is shown", (name, shown, value = shown) => {
  concealEnvironment({ [name]: value }, []);
  expect(masked(`It prints ${shown}.`)).toBe(`It prints ${shown}.`);
});

test.each([
  { A_SECRET: "prefix-13-hidden", B_SECRET: "prefix-13-hidden-SUFFIX" },
  { A_SECRET: "prefix-14-hidden-SUFFIX", B_SECRET: "prefix-14-hidden" },
])("a secret that starts with another one is masked as a whole: %o", (env) => {
  concealEnvironment(env, []);
  expect(masked(`${env.A_SECRET} ${env.B_SECRET}`)).toBe("… …");
});
