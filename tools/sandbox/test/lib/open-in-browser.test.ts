import { describe, expect, test } from "vitest";
import { openerOf, openInBrowser } from "../../src/lib/open-in-browser.js";

const address = "http://127.0.0.1:4010/?a=1&b=2";

test.each([
  ["macOS", "darwin", "open", [address]],
  ["Windows", "win32", /cmd/, ["/d", "/c", `start "" "${address}"`]],
  ["Linux", "linux", "xdg-open", [address]],
  ["FreeBSD", "freebsd", "xdg-open", [address]],
] as const)("%s opens an address with its own program", (_name, platform, program, args) => {
  const opener = openerOf(platform, address);
  expect(opener).toEqual({ program: expect.stringMatching(program), args });
});

describe("what is not a web page is refused", () => {
  test.each([
    "",
    "127.0.0.1:4010",
    "--version",
    "file:///etc/passwd",
    "javascript:alert(1)",
    'http://a"b/',
  ])("%s", (url) => {
    expect(() => openInBrowser(url, () => {})).toThrow(
      expect.objectContaining({ code: "wrong_usage", message: expect.stringMatching(/http/) }),
    );
  });
});
