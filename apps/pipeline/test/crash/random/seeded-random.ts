import { createHash } from 'node:crypto'

/** Chance that can be had again: the same seed gives the same throws. */
export interface Dice {
  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number
  chance(share: number): boolean
  pick<T>(list: readonly [T, ...T[]]): T
  /** Returns a separate generator, which draws by other generators do not change. */
  branch(name: string): Dice
}

export function dice(seed: string): Dice {
  let state = createHash('sha256').update(seed).digest().readUInt32LE()
  /** Mulberry32: from 0 to below 1. */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    between,
    chance: (share) => next() < share,
    pick: (list) => list[between(0, list.length - 1)]!,
    branch: (name) => dice(`${seed}/${name}`),
  }
}
