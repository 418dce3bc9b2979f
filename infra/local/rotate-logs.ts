import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const MAX_BYTES = 20e6
const KEPT_FILES = 3

/** Creates the folder of a log file. Renames a file of more than 20 MB (name.log.1 … .3) and deletes the oldest. */
export const rotateLog = (file: string, maxBytes = MAX_BYTES): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) < maxBytes) return
  for (let age = KEPT_FILES; age > 0; age--) {
    const newer = age === 1 ? file : `${file}.${age - 1}`
    if (existsSync(newer)) renameSync(newer, `${file}.${age}`)
  }
}
