const LF: u8 = 10

/** Returns the number of line feeds between two positions. */
export function countLines(from: usize, to: usize): i32 {
  const lineFeeds = i8x16.splat(LF)
  let lines = 0
  let at = from
  for (; at + 16 <= to; at += 16) lines += <i32>popcnt<u32>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at), lineFeeds)))
  for (; at < to; at++) if (load<u8>(at) == LF) lines++
  return lines
}
