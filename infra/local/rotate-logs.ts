import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const LARGEST = 20e6
const KEPT = 3

/** Creates the folder of a log file. Renames a file of more than 20 MB (name.log.1 … .3) and deletes the oldest. */
export const rotate = (file: string, largest = LARGEST): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) < largest) return
  for (let age = KEPT; age > 0; age--) {
    const younger = age === 1 ? file : `${file}.${age - 1}`
    if (existsSync(younger)) renameSync(younger, `${file}.${age}`)
  }
}
