/** The same seed gives the same numbers, on every machine. */
export interface Random {
  /** A whole number from 0 to 2^32 - 1. */
  word(): number
  /** A whole number from 0 to below `end`. */
  below(end: number): number
}

/** A linear congruential generator; only its high bits are used, which are random enough for test data. */
export function random(seed: number): Random {
  let state = seed >>> 0
  const word = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state
  }
  return { word, below: (end) => Math.floor((word() / 2 ** 32) * end) }
}
