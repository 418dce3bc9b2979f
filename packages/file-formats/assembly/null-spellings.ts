import { NULLS } from './memory-layout'

let count: i32 = 0
/** A mask of spelling lengths. Bit n is set if a spelling has n bytes; the last bit stands for 63 or more. */
let lengths: u64 = 0

/**
 * Applies the spellings of null that the host (the calling JavaScript) wrote to NULLS, each as a byte with its length
 * and then its bytes.
 */
export function setNulls(spellings: i32): void {
  count = spellings
  lengths = 0
  let at = NULLS
  for (let i = 0; i < spellings; i++) {
    const length = load<u8>(at)
    lengths |= (<u64>1) << (length < 63 ? <u64>length : 63)
    at += <usize>length + 1
  }
}

/** True if the field is empty or a spelling of null. */
@inline export function isNull(from: usize, to: usize): bool {
  return from == to || isSpelledNull(from, to)
}

/**
 * Returns true if the text is a spelling of null. The host calls it before it unescapes a field, because spellings are
 * compared with the text as written.
 */
export function spellsNull(from: usize, to: usize): bool {
  return isSpelledNull(from, to)
}

@inline export function isSpelledNull(from: usize, to: usize): bool {
  if (lengths == 0) return false
  const length = to - from
  return ((lengths >>> (length < 63 ? <u64>length : 63)) & 1) != 0 && isSpelling(from, to)
}

function isSpelling(from: usize, to: usize): bool {
  const length = to - from
  let at = NULLS
  for (let i = 0; i < count; i++) {
    const bytes = <usize>load<u8>(at)
    if (bytes == length && memory.compare(from, at + 1, length) == 0) return true
    at += bytes + 1
  }
  return false
}
