import { readFile } from 'node:fs/promises'
import { processTree } from './process-memory.ts'

/** Milliseconds of a tick of the kernel's clock on Linux. */
const tick = 10

/**
 * Returns the processor time in milliseconds that a process and its descendants have used so far, including descendants
 * that have ended; 0 without /proc.
 */
export async function readProcessorTime(pid: number): Promise<number> {
  const [own, ...descendants] = await Promise.all((await processTree(pid)).map(readTicks))
  const running = descendants.reduce((sum, { used }) => sum + used, 0)
  return own ? (own.used + own.ended + running) * tick : 0
}

/** Returns the ticks of a process, and those of its children that have ended. */
async function readTicks(pid: number): Promise<{ used: number; ended: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name in parentheses can contain spaces. The first field after it is the state, the third one of all.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number)
  return { used: user + system, ended: endedUser + endedSystem }
}

/** Returns the process id of the parent of a process; 0 without /proc. */
export async function readParentPid(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/PPid:\s+(\d+)/.exec(status)?.[1] ?? 0)
}
