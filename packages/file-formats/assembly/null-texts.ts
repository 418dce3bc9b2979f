import { NULL_TEXTS } from './memory-layout'

let textCount: i32 = 0
/** The lengths of the texts as a mask: bit n is set if a text has n bytes. Bit 63 stands for 63 bytes or more. */
let lengthMask: u64 = 0

/**
 * Makes the first `count` texts in NULL_TEXTS the texts that mean null. The host (the calling JavaScript) has written
 * them there, each as a byte with its length and then its bytes. Their lengths are also kept as a mask, with which
 * `meansNull` excludes most fields.
 */
export function setNullTexts(count: i32): void {
  textCount = count
  lengthMask = 0
  let at = NULL_TEXTS
  for (let i = 0; i < count; i++) {
    const length = load<u8>(at)
    lengthMask |= lengthBit(<u64>length)
    at += <usize>length + 1
  }
}

@inline function lengthBit(length: u64): u64 {
  return (<u64>1) << (length < 63 ? length : 63)
}

/** True if the field is empty or a text that means null. */
@inline export function isNull(from: usize, to: usize): bool {
  return from == to || meansNull(from, to)
}

/**
 * True if a field is a text that means null. The host calls it before it unescapes a field, because these texts are
 * compared with the field as written.
 */
export function isNullText(from: usize, to: usize): bool {
  return meansNull(from, to)
}

/** True if a field is a text that means null. Compares the lengths first, which excludes nearly all fields. */
@inline export function meansNull(from: usize, to: usize): bool {
  if (lengthMask == 0) return false
  const hasSameLength = (lengthMask & lengthBit(<u64>(to - from))) != 0
  return hasSameLength && isInNullTexts(from, to)
}

/** True if a field is equal to one of the texts in NULL_TEXTS, each of which is stored after a byte with its length. */
function isInNullTexts(from: usize, to: usize): bool {
  const fieldLength = to - from
  let at = NULL_TEXTS
  for (let i = 0; i < textCount; i++) {
    const textLength = <usize>load<u8>(at)
    const text = at + 1
    if (textLength == fieldLength && memory.compare(from, text, fieldLength) == 0) return true
    at = text + textLength
  }
  return false
}
