/**
 * Turns bytes of one encoding into UTF-8. What is broken stays broken: it becomes bytes that UTF-8 does not allow, so that
 * its record is rejected like any other that is not valid, and never a replacement character.
 * What it answers is its caller's until the next call.
 */
export interface Decoder {
  decode(bytes: Buffer): Buffer
  /** What was still waiting for more. */
  end(): Buffer
}

/** A byte that no UTF-8 has. */
export const broken = 0xff
