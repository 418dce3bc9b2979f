import { defaultDelimitedLimits, type DelimitedLimits } from '../../src/delimited/limits.ts'
import type { DelimitedOptions } from '../../src/delimited/dialect/delimited-options.ts'
import { inputFolder, readInPlace, type Whole } from './read-whole-file.ts'

export const comma: DelimitedOptions = { delimiter: 'COMMA', headerRow: true }

/** Returns functions that read texts and bytes as a load reads the file of a user. */
export function createFileReader() {
  const folder = inputFolder()
  const read = (content: string | Uint8Array, dialect = comma, limits: Partial<DelimitedLimits> = {}) =>
    readInPlace(folder.write(content), dialect, { ...defaultDelimitedLimits, ...limits })
  return {
    /** Returns the contents or the problem of a file. */
    outcome: read,
    /** Returns the contents of a file. Throws an error if the file has a problem. */
    read(...args: Parameters<typeof read>): Whole {
      const whole = read(...args)
      if ('problem' in whole) throw new Error(whole.problem)
      return whole
    },
  }
}

/** Returns the bytes of texts and of single bytes, one after the other. */
export const bytes = (...parts: (string | number)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))))
