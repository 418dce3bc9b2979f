import { readFileSync } from 'node:fs'

/** Linux counts the times in /proc in hundredths of a second, whatever its own clock does (USER_HZ). */
const ticksPerSecond = 100

/**
 * Seconds of processor time, user and system, of all child processes that have ended and their ended children: tests,
 * test servers, and the programs that both started. Undefined on systems without /proc.
 */
export const readChildProcessorSeconds = (): number | undefined => {
  try {
    // The name in parentheses may hold spaces; after it come the fields from the third on (proc(5)).
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)!.split(' ')
    return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond
  } catch {
    return undefined
  }
}
