import { recordBoolean } from './source-formats'
import { UNFIT } from './value-result-codes'

/** The bit that capitals lack, in each byte of a word. Small letters and digits have it. */
const SMALL_LETTERS: u64 = 0x2020202020

/**
 * Writes a boolean, and records in the column's state how it is printed. An inferred column accepts only `true` and `false`; a given one
 * accepts all of PostgreSQL's spellings.
 */
export function writeBoolean(out: usize, from: usize, to: usize, inferred: bool, state: usize): i32 {
  const length = to - from
  if (length > 5) return UNFIT
  const mask = ((<u64>1) << (<u64>length * 8)) - 1
  const word = load<u64>(from) & mask
  const letters = word | (SMALL_LETTERS & mask)
  const yes = pairOfYes(letters)
  const pair = yes < 0 ? pairOfNo(letters) : yes
  if (pair < 0 || (inferred && pair != 0)) return UNFIT
  recordBoolean(state, pair, <i32>length, letters ^ word)
  store<u8>(out, yes < 0 ? 0 : 1)
  return 1
}

/** Returns the index of true, t, yes, y, on or 1, or -1. The first letter is the lowest byte. */
@inline function pairOfYes(letters: u64): i32 {
  if (letters == 0x65757274) return 0
  if (letters == 0x74) return 1
  if (letters == 0x736579) return 2
  if (letters == 0x79) return 3
  if (letters == 0x6e6f) return 4
  return letters == 0x31 ? 5 : -1
}

/** Returns the index of false, f, no, n, off or 0, or -1. */
@inline function pairOfNo(letters: u64): i32 {
  if (letters == 0x65736c6166) return 0
  if (letters == 0x66) return 1
  if (letters == 0x6f6e) return 2
  if (letters == 0x6e) return 3
  if (letters == 0x66666f) return 4
  return letters == 0x30 ? 5 : -1
}
