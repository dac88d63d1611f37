/** The kind of value that the name of a member, a header or a parameter promises. */
export type Kind =
  | "account"
  | "address"
  | "birth"
  | "chosen"
  | "domain"
  | "email"
  | "ip"
  | "name"
  | "person"
  | "phone"
  | "place"
  | "region"
  | "secret"
  | "text";

/** Returns the words of a name in lower case: `firstName`, `first_name` and `First-Name` are `first`, `name`. */
export function wordsOf(name: string): readonly string[] {
  // All values in an object ask for the words of its name.
  if (name.length > 500) return tooLong;
  const known = wordsByName.get(name);
  if (known) return known;
  const words = name
    .normalize("NFKC")
    .replaceAll(/\p{Cf}/gu, "")
    .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  if (wordsByName.size >= mostKnown) wordsByName.clear();
  wordsByName.set(name, words);
  return words;
}

/** The words of a text that is too long for a name. Its values are replaced. */
const tooLong: readonly string[] = ["long", "secret"];

const mostKnown = 10_000;
const wordsByName = new Map<string, readonly string[]>();

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Names whose values handlers and schemas depend on. */
const structural = setOf(
  "brand category channel code env environment error_code gateway interval level method outcome plan platform priority protocol provider reason region result role scheme scope severity source stage tier unit type event event_type event_name type_name object action status topic kind version api_version mode currency locale language timezone country country_code content_type user_agent idempotency_key",
);

/** Last words of names whose values describe another value: `email_verified`, `token_type`, `cvc_check`. */
const describing = setOf(
  "at on date time timestamp expires expiry expiration ttl type kind status count total size length version verified confirmed enabled required valid id ids uuid guid algorithm alg format locale currency language class url uri link href check checks mode state strength provider encoding source carrier",
);

/** The words that make a name sensitive. The first row with one of the words decides. */
const rows: readonly (readonly [Kind, ReadonlySet<string>])[] = [
  ["birth", setOf("birth birthday birthdate birthmonth birthyear born dob")],
  [
    "account",
    setOf(
      "iban bic cardnumber accountnumber last4 iin cvc cvv ssn passport taxid vatin vatid ein tin itin nino cpf cnpj curp nif",
    ),
  ],
  [
    "secret",
    setOf(
      "token tokens secret secrets key keys password passwords passwd pwd passphrase pass passcode pin otp totp mnemonic salt authorization auth cookie cookies session sessionid credential credentials signature sig bearer jwt csrf xsrf nonce apikey accesskey accesstoken refreshtoken authtoken idtoken clientsecret privatekey secretkey webhooksecret",
    ),
  ],
  ["secret", setOf("gravatar idfa idfv gaid aaid udid mac imei imsi iccid")],
  ["ip", setOf("ip ips ipaddress ipv remoteaddr addr")],
  ["email", setOf("email emails mail mails emailaddress mailto")],
  [
    "phone",
    setOf(
      "phone phones phonenumber mobile mobilenumber cell cellphone telephone tel fax msisdn whatsapp caller callee",
    ),
  ],
  [
    "place",
    setOf(
      "lat latitude lng lon longitude latlng latlon coordinate coordinates gps geo geopoint geolocation",
    ),
  ],
  [
    "address",
    setOf(
      "address addresses street streetaddress city town zip zipcode postcode postal postalcode suburb district county province neighborhood neighbourhood location locations",
    ),
  ],
  ["domain", setOf("domain domains domainname host hosts hostname")],
  [
    "name",
    setOf(
      "name names firstname lastname middlename surname fullname givenname familyname username login nickname nick displayname screenname forename handle initials cardholder",
    ),
  ],
  [
    "person",
    setOf(
      "user users author authors owner owners sender senders recipient recipients assignee assignees creator creators contact contacts customer customers employee employees patient patients member members attendee attendees participant participants guest guests passenger passengers actor actors reporter reporters reviewer reviewers signer signers holder holders beneficiary beneficiaries payee payer alias aliases company organization organisation employer",
    ),
  ],
  [
    "text",
    setOf("subject text html body content comment comments note notes memo bio snippet preview"),
  ],
];

/** Names that are sensitive only in this form, alone or as the last two or three words of a name. */
const exact = new Map<string, Kind>([
  ...of("account", "card pan last_four account_number routing_number sort_code card_number"),
  ...of("account", "last4_digits last_four_digits tax_id tax_number vat_id vat_number"),
  ...of("account", "id_number document_number license_number licence_number driver_license"),
  ...of("account", "drivers_license driving_licence national_id national_identity_number"),
  ...of("account", "identity_number identification_number social_security_number passport_number"),
  ...of("address", "line1 line2 line3 line_1 line_2 line_3 house_number building_number"),
  ...of("phone", "wa_id from_number to_number contact_number caller_id"),
  ...of("secret", "verification_code confirmation_code activation_code security_code invite_code"),
  ...of("secret", "sms_code reset_code login_code auth_code access_code mfa_code user_code"),
  ...of("secret", "device_code two_factor_code one_time_code recovery_code recovery_codes"),
  ...of("secret", "backup_code backup_codes device_id device_uuid advertising_id ad_id"),
  ...of("secret", "mac_address hardware_id push_id"),
  ...of("person", "created_by updated_by modified_by deleted_by approved_by requested_by"),
  ...of("person", "submitted_by reported_by reviewed_by signed_by invited_by closed_by"),
  ...of("person", "cancelled_by canceled_by assigned_to assigned_by"),
  // As a number, it is an amount, which stays.
  ...of("person", "vat"),
]);

function of(kind: Kind, names: string): readonly (readonly [string, Kind])[] {
  return names.split(" ").map((name) => [name, kind]);
}

/** Words that are sensitive before these last words too, although those describe other values. */
const beforeDescribing: readonly (readonly [ReadonlySet<string>, last: ReadonlySet<string>])[] = [
  [setOf("birth born"), setOf("at on date time timestamp")],
  [setOf("session passport ssn gravatar"), setOf("id ids uuid token key hash")],
];

/** Parts of an address that are codes or states elsewhere. They count within an address, and within these. */
const regional = setOf("country country_code country_name region region_code state state_code");
const withAddress = setOf("shipping billing mailing residence");

/** Kinds that apply to everything in an object or a list under the name. */
const inherited: ReadonlySet<Kind> = new Set<Kind>([
  "address",
  "birth",
  "chosen",
  "name",
  "phone",
  "place",
  "secret",
]);

export interface NameRules {
  /** Returns the kind of a value by the names of the members around it, or undefined if they promise nothing. */
  readonly kindOf: (names: readonly string[]) => Kind | undefined;
  /** Returns whether code depends on the value of this member, such as `type` or `status`. */
  readonly isStructural: (name: string | undefined) => boolean;
}

/**
 * Creates the rules by name.
 *
 * @param chosen further names, in any spelling: `customerRef` is `customer_ref`
 */
export function nameRules(chosen: readonly string[]): NameRules {
  const own = new Set(chosen.map(joined));
  const known = new Map<string, Known>();
  const knownOf = (name: string): Known => {
    const found = known.get(name);
    if (found) return found;
    if (known.size >= mostKnown) known.clear();
    const made = {
      kind: own.has(joined(name)) ? "chosen" : kindOfName(name),
      isAroundAddress: withAddress.has(wordsOf(name).at(-1) ?? ""),
    } as const;
    known.set(name, made);
    return made;
  };
  return {
    kindOf(names) {
      const last = names.at(-1);
      if (last === undefined) return undefined;
      const { kind } = knownOf(last);
      if (kind === "chosen") return kind;
      const parents = names.slice(0, -1).map(knownOf);
      const around = parents.map((one) => one.kind);
      if (around.includes("chosen")) return "chosen";
      const within = kindWithin(last, names.at(-2));
      if (within !== undefined) return within;
      const isInAddress = parents.some(
        (one) => one.isAroundAddress || one.kind === "address" || one.kind === "place",
      );
      if (isInAddress && regional.has(joined(last))) return "region";
      if (around.includes("birth") && !isStructuralName(last)) return kind ?? "birth";
      if (kind !== undefined || isStructuralName(last) || isDescribing(last)) return kind;
      return around.findLast((one) => one !== undefined && inherited.has(one));
    },
    isStructural: (name) =>
      name !== undefined && !own.has(joined(name)) && (isStructuralName(name) || isId(name)),
  };
}

/** The meaning of a single name. */
interface Known {
  readonly kind: Kind | undefined;
  /** Whether it is a name such as `shipping`, around the parts of an address. */
  readonly isAroundAddress: boolean;
}

const joined = (name: string) => wordsOf(name).join("_");

const isStructuralName = (name: string) => structural.has(joined(name));

const isDescribing = (name: string) => describing.has(wordsOf(name).at(-1) ?? "");

/** Returns whether a member is an id by its name. */
export const isId = (name: string): boolean =>
  /^(?:ids?|uuid|guid)$/.test(wordsOf(name).at(-1) ?? "");

/** Returns the kind of `{ "card": { "number": … } }`, as of `card_number`, if no word of the two has one alone. */
function kindWithin(last: string, parent: string | undefined): Kind | undefined {
  if (parent === undefined || !/^(?:number|code|codes|id)$/.test(joined(last))) return undefined;
  const words = [...wordsOf(parent), ...wordsOf(last)];
  const isAccount = last !== "id" && kindOfName(parent) === "account";
  return preciseKindOf(words) ?? (isAccount ? "account" : undefined);
}

const preciseKindOf = (words: readonly string[]): Kind | undefined =>
  [words, words.slice(-3), words.slice(-2)]
    .map((some) => exact.get(some.join("_")))
    .find((kind) => kind !== undefined);

function kindOfName(name: string): Kind | undefined {
  const words = wordsOf(name);
  const last = words.at(-1) ?? "";
  if (structural.has(words.join("_"))) return undefined;
  const precise = preciseKindOf(words);
  if (precise !== undefined) return precise;
  const bare = words.map((word) => word.replace(/\d+$/, ""));
  if (isRegional(words)) return "region";
  const isSensitive = beforeDescribing.some(
    ([before, lasts]) => lasts.has(last) && words.some((word) => before.has(word)),
  );
  if (isDescribing(name) && !isSensitive) return undefined;
  return rows.find(([kind, row]) =>
    kind === "person"
      ? row.has(bare.at(-1) ?? "")
      : words.some((word, index) => row.has(word) || row.has(bare[index] ?? "")),
  )?.[0];
}

/** Returns whether a name is that of a part of an address: `address_state`, `billing_country_code`. */
const isRegional = (words: readonly string[]): boolean =>
  words.slice(0, -1).some((word) => word === "address" || withAddress.has(word)) &&
  (regional.has(words.at(-1) ?? "") || regional.has(words.slice(-2).join("_")));

/** Returns whether a word belongs to the vocabulary of names, so that it identifies nobody. */
export const isVocabulary = (word: string): boolean =>
  describing.has(word) ||
  structural.has(word) ||
  common.has(word) ||
  exactWords.has(word) ||
  rows.some(([, row]) => row.has(word));

const exactWords = new Set(Array.from(exact.keys()).flatMap((name) => name.split("_")));

const common = setOf(
  "active admin and customer data default delivered draft email error event events failed false first from info invoice last message metadata none null number order orders paid payload payment pending price product processed queued resource resources root sent service shipped success system test to true unknown user users value values verified webhook webhooks",
);
