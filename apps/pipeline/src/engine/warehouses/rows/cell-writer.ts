/** Memory that is written into; whoever writes has made sure of the room. */
export interface Grown {
  bytes: Buffer
  at: number
}

/** Why a value cannot be kept, to stand behind a colon. */
export class MisfitCell extends Error {
  override readonly name = 'MisfitCell'
}

/** Moves one value: big-endian, as PostgreSQL sends it, to little-endian. */
export type CellWriter = (from: DataView, at: number, length: number, out: Grown) => void
