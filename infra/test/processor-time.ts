import { readFileSync } from 'node:fs'

/** The unit of times in /proc is a hundredth of a second (USER_HZ). */
const ticksPerSecond = 100

/**
 * Returns the user and system time in seconds of all ended child processes and their ended children: tests, test
 * servers and the programs that they started. Returns undefined without /proc.
 */
export const readChildProcessorSeconds = (): number | undefined => {
  try {
    // The name in parentheses may contain spaces. The third field follows it (proc(5)).
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)!.split(' ')
    return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond
  } catch {
    return undefined
  }
}
