import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * Describes the process that listens on a TCP port of this machine, as far as this user can see it: `process 4711 (node
 * server.js)`.
 */
export const describePortOwner = (port: number): string | undefined => {
  const pid = process.platform === 'linux' ? findPidInProc(port) : findPidWithLsof(port)
  if (!pid) return undefined
  const command = commandOf(pid)
  return command ? `process ${pid} (${command.slice(0, 80)})` : `process ${pid}`
}

/**
 * On Linux: finds the socket's inode in the kernel's table, then the process that has it open. Needs no other program.
 */
const findPidInProc = (port: number): string | undefined => {
  const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => listeners(`/proc/net/${table}`, port)))
  if (sockets.size === 0) return undefined
  return readdirSync('/proc').find((pid) => /^\d+$/.test(pid) && descriptors(pid).some((target) => sockets.has(target)))
}

const LISTENING = '0A'

const listeners = (table: string, port: number): string[] => {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return attempt(() => readFileSync(table, 'utf8'), '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(suffix) && state === LISTENING)
    .map((columns) => `socket:[${columns[9]}]`)
}

const descriptors = (pid: string): string[] =>
  attempt(() => readdirSync(`/proc/${pid}/fd`), []).map((fd) =>
    attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`), ''),
  )

const findPidWithLsof = (port: number): string | undefined =>
  spawnSync('lsof', ['-nP', '-t', `-iTCP:${port}`, '-sTCP:LISTEN'], { encoding: 'utf8' }).stdout?.split('\n')[0] ||
  undefined

const commandOf = (pid: string): string =>
  process.platform === 'linux'
    ? attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '')
        .replaceAll('\0', ' ')
        .trim()
    : (spawnSync('ps', ['-o', 'command=', '-p', pid], { encoding: 'utf8' }).stdout ?? '').trim()

/** Processes may end during the search, and other users' processes cannot be read. */
const attempt = <T>(read: () => T, otherwise: T): T => {
  try {
    return read()
  } catch {
    return otherwise
  }
}
