import type { Contender } from '../load/contenders/contender.ts'
import type { Parts as LoadParts } from '../load/measures/measure.ts'
import { type Figures, inTurns } from '../load/rounds.ts'
import { type Content } from '../load/verify.ts'
import type { Raw } from './raw.ts'

export interface Parts extends Omit<LoadParts, 'sizes'> {
  /** Records of each system, of a kilobyte and more. */
  rows: number
  /** Of files, objects and databases. */
  megabytes: number
  /** Of a folder in a store. */
  objects: number
}

/** One source: what it is asked for, and how long that takes beside its raw download. */
export interface Line {
  type: string
  what: string
  rows: number
  bytes: number
  raw: Figures
  own: Figures
}

interface Comparison {
  type: string
  what: string
  raw: Raw
  own: Contender
  expected: Content
}

/** In turns, and held against what the source is known to have. */
export async function compare(parts: Parts, { type, what, raw, own, expected }: Comparison): Promise<Line> {
  const [first, second] = await inTurns([raw, own], parts.rounds, parts.peers, expected)
  return { type, what, rows: Number(expected.rows), bytes: raw.bytes(), raw: first!, own: second! }
}
