import { defaultDelimitedLimits, type DelimitedLimits } from '../../src/delimited/limits.ts'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { inputFolder, readInPlace, type Whole } from './read-whole.ts'

export const comma: DelimitedOptions = { delimiter: 'COMMA', headerRow: true }

/** Reads texts and bytes as a load reads the file of a user. */
export function readGiven() {
  const folder = inputFolder()
  const read = (content: string | Uint8Array, dialect = comma, limits: Partial<DelimitedLimits> = {}) =>
    readInPlace(folder.write(content), dialect, { ...defaultDelimitedLimits, ...limits })
  return {
    /** What came of it: a problem is an answer. */
    outcome: read,
    /** What was read: a problem is thrown. */
    read(...given: Parameters<typeof read>): Whole {
      const whole = read(...given)
      if ('problem' in whole) throw new Error(whole.problem)
      return whole
    },
  }
}

/** Bytes, each given as itself or in a text. */
export const bytes = (...parts: (string | number)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))))
