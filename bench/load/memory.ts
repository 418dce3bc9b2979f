import { readdir, readFile, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { lifeOf } from './life.ts'

/** MiB that a process held at most since `forgetPeak`, by the kernel's count; 0 where the kernel does not say. */
export async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024
}

export async function forgetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => {})
}

/** The most that a started command and its children held together, looked at every 20 ms until it ends. */
export async function watchMemory(pid: number, ended: Promise<unknown>): Promise<number> {
  let most = 0
  for (const life = lifeOf(ended); !life.over; await pause(20)) {
    const all = await Promise.all((await family(pid)).map(peakMemory))
    most = Math.max(
      most,
      all.reduce((sum, each) => sum + each, 0),
    )
  }
  return most
}

async function family(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const children = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  )
  const direct = children.flatMap((text) => text.split(' ').filter(Boolean).map(Number))
  return [pid, ...(await Promise.all(direct.map(family))).flat()]
}
