import { UNFIT } from './value-result-codes'

/** Packs up to five letters, lower-cased, or digits into a number for fast comparison. */
@inline function word(from: usize, length: usize): u64 {
  let letters: u64 = 0
  for (let at: usize = 0; at < length; at++) letters = (letters << 8) | <u64>(load<u8>(from + at) | 32)
  return letters
}

const TRUE: u64 = 0x74727565
const FALSE: u64 = 0x66616c7365

/**
 * Writes a boolean. A column with an inferred type accepts only `true` and `false`; a column with a given type accepts
 * all of PostgreSQL's spellings.
 */
export function writeBoolean(out: usize, from: usize, to: usize, inferred: bool): i32 {
  const length = to - from
  if (length > 5) return UNFIT
  const letters = word(from, length)
  if (letters == TRUE || (!inferred && isYes(letters))) {
    store<u8>(out, 1)
    return 1
  }
  if (letters == FALSE || (!inferred && isNo(letters))) {
    store<u8>(out, 0)
    return 1
  }
  return UNFIT
}

/** True for t, y, yes, on and 1, packed by `word`. */
@inline function isYes(letters: u64): bool {
  return letters == 0x74 || letters == 0x79 || letters == 0x796573 || letters == 0x6f6e || letters == 0x31
}

/** True for f, n, no, off and 0, packed by `word`. */
@inline function isNo(letters: u64): bool {
  return letters == 0x66 || letters == 0x6e || letters == 0x6e6f || letters == 0x6f6666 || letters == 0x30
}
