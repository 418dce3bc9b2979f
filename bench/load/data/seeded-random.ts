/** A generator whose seed determines its numbers, on every machine. */
export interface SeededRandom {
  /** Returns an integer from 0 to 2^32 - 1. */
  word(): number
  /** Returns an integer from 0 to `end` - 1. */
  below(end: number): number
}

/** A linear congruential generator. Callers use its high bits, which are random enough for test data. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  const word = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state
  }
  return { word, below: (end) => Math.floor((word() / 2 ** 32) * end) }
}
