import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * Describes the process that listens on a TCP port of this machine, as far as this user can see it: `process 4711 (node
 * server.js)`.
 */
export const describePortOwner = (port: number): string | undefined => {
  const pid = process.platform === 'linux' ? findPidInProc(port) : findPidWithLsof(port)
  if (!pid) return undefined
  const command = readCommand(pid)
  return command ? `process ${pid} (${command.slice(0, 80)})` : `process ${pid}`
}

/** Linux: finds the inode of the socket in /proc/net, then the process that has the inode open. */
const findPidInProc = (port: number): string | undefined => {
  const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => findListeningSockets(`/proc/net/${table}`, port)))
  if (sockets.size === 0) return undefined
  return readdirSync('/proc').find(
    (pid) => /^\d+$/.test(pid) && readDescriptors(pid).some((target) => sockets.has(target)),
  )
}

/** The state of a listening socket in /proc/net/tcp. */
const LISTENING = '0A'

const findListeningSockets = (table: string, port: number): string[] => {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readOrDefault(() => readFileSync(table, 'utf8'), '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(suffix) && state === LISTENING)
    .map((columns) => `socket:[${columns[9]}]`)
}

const readDescriptors = (pid: string): string[] =>
  readOrDefault(() => readdirSync(`/proc/${pid}/fd`), []).map((fd) =>
    readOrDefault(() => readlinkSync(`/proc/${pid}/fd/${fd}`), ''),
  )

const findPidWithLsof = (port: number): string | undefined =>
  spawnSync('lsof', ['-nP', '-t', `-iTCP:${port}`, '-sTCP:LISTEN'], { encoding: 'utf8' }).stdout?.split('\n')[0] ||
  undefined

const readCommand = (pid: string): string =>
  process.platform === 'linux'
    ? readOrDefault(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '')
        .replaceAll('\0', ' ')
        .trim()
    : (spawnSync('ps', ['-o', 'command=', '-p', pid], { encoding: 'utf8' }).stdout ?? '').trim()

/** Returns `otherwise` if `read` throws, because the process has ended or belongs to another user. */
const readOrDefault = <T>(read: () => T, otherwise: T): T => {
  try {
    return read()
  } catch {
    return otherwise
  }
}
