import { recordBoolean } from './record-source-formats'
import { DOES_NOT_FIT } from './value-result-codes'

/** The bit that makes a character from A to Z lowercase, in each byte of a word. Digits have it too. */
const LOWERCASE_BITS: u64 = 0x2020202020
/** The length of `false`, the longest word. */
const MAX_WORD_BYTES: usize = 5

/**
 * Writes a boolean, and records in the column's state how it is printed. A column with an inferred type accepts only
 * `true` and `false`; a column with a declared type accepts all words that PostgreSQL accepts. Returns the length, or
 * DOES_NOT_FIT.
 */
export function writeBoolean(out: usize, from: usize, to: usize, inferred: bool, state: usize): i32 {
  const length = to - from
  if (length > MAX_WORD_BYTES) return DOES_NOT_FIT
  const bytesOfWord = ((<u64>1) << (<u64>length * 8)) - 1
  const word = load<u64>(from) & bytesOfWord
  const lowercaseWord = word | (LOWERCASE_BITS & bytesOfWord)
  const trueIndex = findTrueWord(lowercaseWord)
  const isTrue = trueIndex >= 0
  const wordIndex = isTrue ? trueIndex : findFalseWord(lowercaseWord)
  const isWord = wordIndex >= 0
  const isAccepted = isWord && (!inferred || wordIndex == TRUE_AND_FALSE)
  if (!isAccepted) return DOES_NOT_FIT
  const uppercaseBits = lowercaseWord ^ word
  recordBoolean(state, wordIndex, <i32>length, uppercaseBits)
  store<u8>(out, isTrue ? 1 : 0)
  return 1
}

/** The index of the words `true` and `false`. */
const TRUE_AND_FALSE: i32 = 0

// The words as integers: the first character is the lowest byte.
const TRUE: u64 = 0x65757274
const T: u64 = 0x74
const YES: u64 = 0x736579
const Y: u64 = 0x79
const ON: u64 = 0x6e6f
const ONE: u64 = 0x31
const FALSE: u64 = 0x65736c6166
const F: u64 = 0x66
const NO: u64 = 0x6f6e
const N: u64 = 0x6e
const OFF: u64 = 0x66666f
const ZERO: u64 = 0x30

/** Returns the index of a word that means true, or -1. Its opposite has the same index in `findFalseWord`. */
@inline function findTrueWord(word: u64): i32 {
  if (word == TRUE) return 0
  if (word == T) return 1
  if (word == YES) return 2
  if (word == Y) return 3
  if (word == ON) return 4
  return word == ONE ? 5 : -1
}

/** Returns the index of a word that means false, or -1. */
@inline function findFalseWord(word: u64): i32 {
  if (word == FALSE) return 0
  if (word == F) return 1
  if (word == NO) return 2
  if (word == N) return 3
  if (word == OFF) return 4
  return word == ZERO ? 5 : -1
}
