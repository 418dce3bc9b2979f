/** `1 object`, `2,000 objects`: how many there are of what is said in the singular. */
export const countOf = (amount: number, what: string): string =>
  `${amount.toLocaleString('en')} ${what}${amount === 1 ? '' : 's'}`
