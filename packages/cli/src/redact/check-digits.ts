/** Returns whether the last digit is the check digit of a card number (ISO/IEC 7812-1, annex B). */
export const isLuhn = (digits: string): boolean => luhnSum(digits) % 10 === 0;

/** Returns the check digit for the digits before it. */
export const luhnDigit = (digits: string): string =>
  String((10 - (luhnSum(`${digits}0`) % 10)) % 10);

function luhnSum(digits: string): number {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits.charAt(digits.length - 1 - index)) * (index % 2 === 0 ? 1 : 2);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum;
}

/** Returns the remainder of an IBAN without spaces, which is 1 if its check digits are right (ISO 13616). */
export function ibanRemainder(iban: string): number {
  const moved = iban.slice(4) + iban.slice(0, 4);
  let remainder = 0;
  for (const character of moved.toUpperCase()) {
    for (const digit of String(Number.parseInt(character, 36)))
      remainder = (remainder * 10 + Number(digit)) % 97;
  }
  return remainder;
}
