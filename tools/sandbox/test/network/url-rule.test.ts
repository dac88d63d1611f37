import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  allowedAddresses,
  checkUrl,
  type Lookup,
  systemLookup,
  type UrlRule,
} from "../../src/network/url-rule.js";

/** Creates a resolver that always returns these addresses. */
const resolvesTo =
  (...addresses: string[]): Lookup =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

const notOwn = (): boolean => false;
const rules: readonly UrlRule[] = ["loopback", "private", "strict"];

function refusal(text: string, rule: UrlRule): string | undefined {
  const checked = checkUrl(text, rule);
  return "refused" in checked ? checked.refused : undefined;
}

function parsed(text: string): URL {
  return new URL(text);
}

describe("a URL that is judged without DNS", () => {
  test.each([
    "http://localhost:3000/webhooks",
    "https://localhost/",
    "http://localhost",
    "HTTP://LocalHost:3000/",
    "http://127.0.0.1:3000/a?b=c&d=%20",
    "http://127.255.255.254/",
    "http://[::1]:3000/",
    "http://my_service.internal:8080/",
    "http://localhost:3000/grüße",
    "http://localhost:80/",
    "https://localhost:443/",
  ])("is allowed by the loopback rule: %s", (text) => {
    expect(refusal(text, "loopback")).toBeUndefined();
  });

  test.each([
    "https://example.com/webhooks",
    "https://example.com:8443/",
    "https://xn--bcher-kva.example/",
    "https://93.184.215.14/",
    "https://[2606:4700::1111]/",
  ])("is allowed by the strict rule: %s", (text) => {
    expect(refusal(text, "strict")).toBeUndefined();
  });

  test.each([
    ["", "not valid"],
    ["/webhooks", "not valid"],
    ["localhost:3000", "not valid"],
    ["//localhost/", "not valid"],
    ["ftp://localhost/", "not valid"],
    ["file:///etc/passwd", "not valid"],
    ["javascript:alert(1)", "not valid"],
    ["http:/localhost/", "not valid"],
    ["http:localhost/", "not valid"],
    ["http:///localhost/", "not valid"],
    ["http://", "not valid"],
    ["http://?localhost", "not valid"],
    ["http://localhost:65536/", "not valid"],
    ["http://[fe80::1%25eth0]/", "not valid"],
    ["http://256.0.0.1/", "not valid"],
    ["http:\\\\localhost/", "backslash"],
    ["http://localhost\\@example.com/", "backslash"],
    ["http://localhost/a\\b", "backslash"],
    [" http://localhost/", "space"],
    ["http://localhost/ ", "space"],
    ["http://local\thost/", "space"],
    ["http://local\nhost/", "space"],
    ["ht\rtp://localhost/", "space"],
    ["http://localhost/a b", "space"],
    ["http://localhost/\u0000", "invisible"],
    ["http://local\u00adhost/", "invisible"],
    ["http://localhost/\u202e", "invisible"],
    ["http://localhost/\ud800", "invisible"],
    ["http://user@localhost/", "user name"],
    ["http://user:password@localhost/", "user name"],
    ["http://:password@localhost/", "user name"],
    ["http://@localhost/", "user name"],
    ["http://example.com@127.0.0.1/", "user name"],
    ["http://localhost/#part", "fragment"],
    ["http://localhost/#", "fragment"],
    ["http://localhost:0/", "port 0"],
    ["http://localhost./", "ends with a dot"],
    ["http://2130706433/", "Write 127.0.0.1 instead"],
    ["http://0x7f000001/", "Write 127.0.0.1 instead"],
    ["http://0x7f.1/", "Write 127.0.0.1 instead"],
    ["http://127.1/", "Write 127.0.0.1 instead"],
    ["http://0177.0.0.1:80/", "Write 127.0.0.1 instead"],
    ["http://127.0.0.1./", "Write 127.0.0.1 instead"],
    ["http://2130706433./", "Write 127.0.0.1 instead"],
    ["http://127.0.0.%31/", "Write 127.0.0.1 instead"],
    ["http://%31%32%37.0.0.1/", "Write 127.0.0.1 instead"],
    ["http://１２７.0.0.1/", "Write 127.0.0.1 instead"],
    ["http://127。0。0。1/", "Write 127.0.0.1 instead"],
    ["http://l%6fcalhost/", "Write localhost instead"],
    ["http://ｌocalhost/", "Write localhost instead"],
    ["http://bücher.localhost/", "Write xn--bcher-kva.localhost instead"],
    ["http://localhost:/", "Write localhost instead"],
    ["http://localhost:03000/", "Write localhost:3000 instead"],
    ["http://[0:0:0:0:0:0:0:1]/", "Write [::1] instead"],
    ["http://[::0.0.0.1]/", "Write [::1] instead"],
  ])("is refused by the loopback rule: %j", (text, reason) => {
    expect(refusal(text, "loopback")).toContain(reason);
  });

  test("has the same reason once the code has been optimized", () => {
    const reasons = new Set<string | undefined>();
    for (let n = 0; n < 30_000; n += 1)
      reasons.add(refusal("http://bücher.localhost/", "loopback"));
    expect(reasons.size).toBe(1);
  });

  test.each([
    ["http://example.com/", "does not use HTTPS"],
    ["http://localhost/", "does not use HTTPS"],
    ["https://localhost/", "this machine"],
    ["https://app.localhost:8443/", "this machine"],
    ["https://user@example.com/", "user name"],
    ["https://example.com./", "ends with a dot"],
    ["https://93.184.215.0x0e/", "Write 93.184.215.14 instead"],
    ["https://1572394766/", "Write 93.184.215.14 instead"],
    ["https://2130706433/", "loopback"],
  ])("is refused by the strict rule: %j", (text, reason) => {
    expect(refusal(text, "strict")).toContain(reason);
  });

  test("may have 2,048 characters, counted with percent-encoding", () => {
    const url = (length: number): string => "http://localhost/".padEnd(length, "a");
    expect(refusal(url(2_048), "loopback")).toBeUndefined();
    expect(refusal(url(2_049), "loopback")).toContain("2,048");
    expect(refusal(`http://localhost/${"é".repeat(400)}`, "loopback")).toContain("2,048");
    // Parsing removes the dot segments, so the parsed URL is short.
    expect(refusal(`http://localhost/${"./".repeat(2_000)}`, "loopback")).toContain("2,048");
  });

  test("is accepted again in its parsed form", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...rules),
        fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.webPath()),
        (rule, tail) => {
          const text = tail.startsWith("http") ? tail : `http://localhost:3000${tail}`;
          const first = checkUrl(text, rule);
          if ("url" in first) expect(refusal(first.url.href, rule)).toBeUndefined();
        },
      ),
    );
  });

  test("names the fix in every refusal", () => {
    for (const rule of rules) {
      for (const text of [
        "",
        "http://169.254.0.1/",
        "http://127.1/",
        "http://a@b/",
        "http://a/#",
      ]) {
        expect(refusal(text, rule)).toMatch(/\. (?:Remove|Use|Write) .+\.$/);
      }
    }
  });
});

/** Addresses of every class that the rules must distinguish. */
const addresses: readonly [address: string, allowedBy: UrlRule | "none", words: string][] = [
  ["127.0.0.1", "loopback", "a loopback"],
  ["127.255.255.255", "loopback", "a loopback"],
  ["::1", "loopback", "a loopback"],
  ["93.184.215.14", "strict", "a public"],
  ["1.1.1.1", "strict", "a public"],
  ["172.15.255.255", "strict", "a public"],
  ["172.32.0.0", "strict", "a public"],
  ["100.63.255.255", "strict", "a public"],
  ["100.128.0.0", "strict", "a public"],
  ["223.255.255.255", "strict", "a public"],
  ["2606:4700::1111", "strict", "a public"],
  ["2a00:1450::1", "strict", "a public"],
  ["10.0.0.1", "private", "a private"],
  ["172.16.0.1", "private", "a private"],
  ["172.31.255.255", "private", "a private"],
  ["192.168.1.1", "private", "a private"],
  ["100.64.0.1", "none", "a carrier-grade NAT"],
  ["100.127.255.255", "none", "a carrier-grade NAT"],
  ["169.254.169.254", "none", "a link-local"],
  ["fd00:ec2::254", "none", "the address of a cloud's metadata"],
  ["fd00:ec2::23", "none", "the address of a cloud's metadata"],
  ["fd20:ce::254", "none", "the address of a cloud's metadata"],
  ["fd20:ce::253", "private", "a private"],
  ["fd00:c1::a9fe:a9fe", "none", "the address of a cloud's metadata"],
  ["fd00:42::42", "none", "the address of a cloud's metadata"],
  ["0.0.0.0", "none", "an unspecified"],
  ["0.1.2.3", "none", "an unspecified"],
  ["255.255.255.255", "none", "a broadcast"],
  ["224.0.0.1", "none", "a multicast"],
  ["239.255.255.255", "none", "a multicast"],
  ["240.0.0.1", "none", "a reserved"],
  ["192.0.0.1", "none", "a reserved"],
  ["192.0.2.1", "none", "a reserved"],
  ["198.51.100.1", "none", "a reserved"],
  ["203.0.113.1", "none", "a reserved"],
  ["198.18.0.1", "none", "a reserved"],
  ["192.88.99.1", "none", "a reserved"],
  ["::", "none", "an unspecified"],
  ["::ffff:127.0.0.1", "none", "an IPv4-mapped"],
  ["::ffff:7f00:1", "none", "an IPv4-mapped"],
  ["::ffff:93.184.215.14", "none", "an IPv4-mapped"],
  ["::5db8:d70e", "none", "an IPv4-compatible"],
  ["::ffff:0:7f00:1", "none", "a reserved"],
  ["64:ff9b::7f00:1", "none", "a NAT64"],
  ["64:ff9b::5db8:d70e", "none", "a NAT64"],
  ["64:ff9b:1::1", "none", "a NAT64"],
  ["64:ff9b:1:ffff::1", "none", "a NAT64"],
  ["2002:7f00:1::", "none", "a 6to4"],
  ["2001::1", "none", "a Teredo"],
  ["fc00::1", "private", "a private"],
  ["fdff::1", "private", "a private"],
  ["fe80::1", "none", "a link-local"],
  ["fec0::1", "none", "a site-local"],
  ["ff02::1", "none", "a multicast"],
  ["2001:db8::1", "none", "a reserved"],
  ["3fff::1", "none", "a reserved"],
  ["100::1", "none", "a reserved"],
  ["2001:2::1", "none", "a reserved"],
  ["2001:20::1", "none", "a reserved"],
  ["5f00::1", "none", "a reserved"],
  ["4000::1", "none", "a reserved"],
  ["64:ff9a::1", "none", "a reserved"],
];

describe("an address", () => {
  for (const rule of rules) {
    test.each(addresses)(
      `%s is judged by the ${rule} rule, written or resolved`,
      async (...row) => {
        const [address, allowedBy, words] = row;
        const text = `https://${address.includes(":") ? parsed(`http://[${address}]/`).host : address}/`;
        const asName = await allowedAddresses(
          parsed("https://name.test/"),
          rule,
          resolvesTo(address),
          notOwn,
        );
        const asLiteral = await allowedAddresses(
          parsed(text),
          rule,
          () => Promise.reject(new Error("A literal address is not looked up.")),
          notOwn,
        );
        if (allowedBy === rule || (rule === "private" && allowedBy === "loopback")) {
          expect(refusal(text, rule)).toBeUndefined();
          expect(asName).toEqual({
            addresses: [{ address, family: address.includes(":") ? 6 : 4 }],
          });
          expect(asLiteral).toEqual(asName);
        } else {
          expect(refusal(text, rule)).toContain(` is ${words}`);
          expect(asName).toEqual({
            refused: expect.stringContaining(`${address}, which is ${words}`),
          });
          expect(asLiteral).toEqual({ refused: expect.stringContaining(` is ${words}`) });
        }
      },
    );
  }

  test.each(["fe80::1%eth0", "::1%lo", "127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "", "x"])(
    "is refused if a resolver returns %j",
    async (address) => {
      for (const rule of rules) {
        expect(
          await allowedAddresses(parsed("https://name.test/"), rule, resolvesTo(address), notOwn),
        ).toHaveProperty("refused");
      }
    },
  );
});

describe("the addresses of a name", () => {
  const url = parsed("http://name.test:3000/");

  test("are returned in the order of the resolver", async () => {
    const found = await allowedAddresses(
      url,
      "loopback",
      resolvesTo("::1", "127.0.0.2", "127.0.0.1"),
      notOwn,
    );
    expect(found).toEqual({
      addresses: [
        { address: "::1", family: 6 },
        { address: "127.0.0.2", family: 4 },
        { address: "127.0.0.1", family: 4 },
      ],
    });
  });

  test.each([
    ["loopback", ["127.0.0.1", "10.0.0.1"]],
    ["loopback", ["10.0.0.1", "127.0.0.1"]],
    ["private", ["10.0.0.1", "169.254.169.254"]],
    ["private", ["10.0.0.1", "93.184.215.14"]],
    ["strict", ["93.184.215.14", "127.0.0.1"]],
    ["strict", ["2606:4700::1111", "64:ff9b::7f00:1", "93.184.215.14"]],
  ] as const)("are refused by the %s rule if one of them is: %j", async (rule, list) => {
    expect(await allowedAddresses(url, rule, resolvesTo(...list), notOwn)).toHaveProperty(
      "refused",
    );
  });

  test.each([
    ["rejects", () => Promise.reject(new Error("getaddrinfo ENOTFOUND name.test"))],
    ["finds none", resolvesTo()],
  ] satisfies [string, Lookup][])(
    "are reported as unresolved if the look-up %s",
    async (_, lookup) => {
      expect(await allowedAddresses(url, "loopback", lookup, notOwn)).toEqual({
        unresolved:
          "The host name name.test does not resolve to an address. Use a loopback address such as http://localhost:3000/webhooks, or set A-21=private to deliver to private addresses such as those of containers, or A-21=strict to deliver to public HTTPS URLs.",
      });
      expect(await allowedAddresses(url, "strict", lookup, notOwn)).toEqual({
        unresolved: "The host name name.test does not resolve to an address. Check its spelling.",
      });
    },
  );

  test.each(["http://localhost/", "http://app.localhost:3000/", "https://LOCALHOST/"])(
    "are those of loopback without a look-up: %s",
    async (text) => {
      const lookup = () => Promise.reject(new Error("The name is not looked up."));
      expect(await allowedAddresses(parsed(text), "loopback", lookup, notOwn)).toEqual({
        addresses: [
          { address: "127.0.0.1", family: 4 },
          { address: "::1", family: 6 },
        ],
      });
      expect(await allowedAddresses(parsed(text), "strict", lookup, notOwn)).toHaveProperty(
        "refused",
      );
    },
  );

  test("include those of the sandbox only to be refused", async () => {
    const own = (address: string, port: number): boolean => address === "::1" && port === 3000;
    const check = (text: string, ...list: string[]): Promise<object> =>
      allowedAddresses(parsed(text), "loopback", resolvesTo(...list), own);
    const refused = { refused: expect.stringContaining("is the sandbox itself") };
    expect(await check("http://name.test:3000/", "127.0.0.1", "::1")).toEqual(refused);
    expect(await check("http://name.test:3000/", "0:0:0:0:0:0:0:1")).toEqual(refused);
    expect(await check("http://[::1]:3000/")).toEqual(refused);
    expect(await check("http://[::1]:3001/")).toHaveProperty("addresses");
  });

  test.each([
    ["http://127.0.0.1/", 80],
    ["https://127.0.0.1/", 443],
    ["http://127.0.0.1:443/", 443],
  ])("are compared with the sandbox's on the port of %s", async (text, expected) => {
    const ports: number[] = [];
    await allowedAddresses(parsed(text), "loopback", resolvesTo(), (_, port) => {
      ports.push(port);
      return false;
    });
    expect(ports).toEqual([expected]);
  });

  test("come from the system by default, where localhost is loopback", async () => {
    const found = await allowedAddresses(
      parsed("http://localhost/"),
      "loopback",
      systemLookup,
      notOwn,
    );
    expect(found).toHaveProperty("addresses");
  });
});
