/** `10^6 records`. */
export const records = (size: number): string => {
  const exponent = Math.floor(Math.log10(size));
  const factor = size / 10 ** exponent;
  return `${factor === 1 ? "" : `${factor} · `}10^${exponent} records`;
};
