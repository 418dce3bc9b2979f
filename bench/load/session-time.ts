import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { executeSql } from './database.ts'
import { processTree } from './process-memory.ts'
import { findServerPid } from './server-process.ts'

/** Processor time of PostgreSQL in milliseconds. */
export interface ServerTime {
  sessions: number
  /** Time of the processes that write the log and the pages. */
  background: number
}

/** Averages the processor time of PostgreSQL over several loads. */
export interface SessionMeter {
  /**
   * Measures a load until all its pages are written. `load` returns the milliseconds of the sessions that it has
   * closed.
   */
  measure(load: () => Promise<number>): Promise<void>
  /** Returns the average of the loads, without the work of the sessions of an idle installation. */
  average(): ServerTime
}

/** Milliseconds after the end of a run in which its sessions still work. */
const cleanUpMs = 500
/** Milliseconds for which the idle server is measured before each load. */
const idleMs = 1_000

/** Autovacuum should be off, because this meter does not include processes that have ended. */
export async function sessionMeter(url: string): Promise<SessionMeter> {
  const server = await findServerPid(url)
  const total = { sessions: 0, background: 0, elapsed: 0 }
  const idle = { sessions: 0, elapsed: 0 }
  let loads = 0
  return {
    async measure(load) {
      await executeSql(url, 'checkpoint')
      const beforeIdle = await readSnapshot(server)
      await pause(idleMs)
      const before = await readSnapshot(server)
      const closedSessions = await load()
      await pause(cleanUpMs)
      const after = await readSnapshot(server)
      await executeSql(url, 'checkpoint')
      const written = await readSnapshot(server)
      idle.sessions += sumGrowth(beforeIdle.sessions, before.sessions)
      idle.elapsed += before.at - beforeIdle.at
      total.sessions += sumGrowth(before.sessions, after.sessions) + closedSessions
      total.background += sumGrowth(before.background, written.background)
      total.elapsed += after.at - before.at
      loads += 1
    },
    average: () => ({
      sessions: (total.sessions - (idle.sessions / idle.elapsed) * total.elapsed) / loads,
      background: total.background / loads,
    }),
  }
}

/** Milliseconds that each process of a server has used so far, by its process id. */
interface Snapshot {
  at: number
  sessions: ReadonlyMap<number, number>
  background: ReadonlyMap<number, number>
}

const backgroundTitle = /^postgres: (checkpointer|background writer|walwriter|io worker|autovacuum|logical replication)/

async function readSnapshot(server: number): Promise<Snapshot> {
  const [sessions, background] = [new Map<number, number>(), new Map<number, number>()]
  for (const pid of (await processTree(server)).slice(1)) {
    const title = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    const times = backgroundTitle.test(title) ? background : sessions
    times.set(pid, await processMilliseconds(pid))
  }
  return { at: performance.now(), sessions, background }
}

/** Reads the time that the kernel counts in nanoseconds. `readProcessorTime` has a resolution of ten milliseconds. */
async function processMilliseconds(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '0')
  return Number(text.split(' ')[0]) / 1e6
}

const sumGrowth = (before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number =>
  [...after].reduce((sum, [pid, used]) => sum + used - (before.get(pid) ?? 0), 0)
