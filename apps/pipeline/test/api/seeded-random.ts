/** Returns generators that make the same choices on every machine (mulberry32). */
export function seededRandom(seed: number) {
  let state = seed
  /** A whole number from 0 up to `below`, exclusive. */
  const random = (below: number): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
  return {
    random,
    oneOf: <T>(from: readonly T[]): T => from[random(from.length)]!,
    /** About a third of the items. */
    some: <T>(from: readonly T[]): T[] => from.filter(() => random(3) === 0),
  }
}
