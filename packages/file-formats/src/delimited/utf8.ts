/** The first byte that is not part of a character, as `byte 0xE9`; the last one where all are. */
export function badByte(bytes: Uint8Array, from: number, next: number): string {
  let at = from
  while (at < next) {
    const length = characterLength(bytes, at, next)
    if (length === 0) break
    at += length
  }
  return `byte 0x${bytes[Math.min(at, next - 1)]!.toString(16).toUpperCase().padStart(2, '0')}`
}

/** Bytes of the well-formed character at `at`, or 0: table 3-7 of the Unicode standard. */
function characterLength(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at]!
  if (lead < 0x80) return 1
  const length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0
  if (length === 0 || at + length > end) return 0
  const second = bytes[at + 1]!
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
  if (second < low || second > high) return 0
  for (let i = 2; i < length; i++) if ((bytes[at + i]! & 0xc0) !== 0x80) return 0
  return length
}
