import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

const LARGEST = 20e6
const KEPT = 3

/** Makes a log file's folder, and moves a file that has grown past 20 MB aside (name.log.1 … .3; the oldest goes). */
export const rotate = (file: string, largest = LARGEST): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) < largest) return
  for (let age = KEPT; age > 0; age--) {
    const younger = age === 1 ? file : `${file}.${age - 1}`
    if (existsSync(younger)) renameSync(younger, `${file}.${age}`)
  }
}
