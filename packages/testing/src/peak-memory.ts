import { existsSync, readFileSync } from 'node:fs'

/**
 * The most memory that this process has had so far, in bytes. On Linux by the kernel's count of this very program: what
 * `resourceUsage` says there may be that of the process that started it.
 */
export function peakMemory(): number {
  const status = '/proc/self/status'
  if (!existsSync(status)) return process.resourceUsage().maxRSS * 1024
  const [, kibibytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(status, 'utf8'))!
  return Number(kibibytes) * 1024
}
