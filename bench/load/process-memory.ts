import { readdir, readFile, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { trackCompletion } from '../track-completion.ts'

/** Returns the peak memory of a process in MiB since `resetPeakMemory`, by the kernel's count; 0 without /proc. */
export async function readPeakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024
}

export async function resetPeakMemory(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => {})
}

/** Returns the peak memory of a process and its descendants in MiB, sampled every 20 ms until `ended` resolves. */
export async function watchMemory(pid: number, ended: Promise<unknown>): Promise<number> {
  let peak = 0
  for (const completion = trackCompletion(ended); !completion.done; await pause(20)) {
    const all = await Promise.all((await processTree(pid)).map(readPeakMemory))
    peak = Math.max(
      peak,
      all.reduce((sum, each) => sum + each, 0),
    )
  }
  return peak
}

export async function processTree(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const children = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  )
  const direct = children.flatMap((text) => text.split(' ').filter(Boolean).map(Number))
  return [pid, ...(await Promise.all(direct.map(processTree))).flat()]
}
