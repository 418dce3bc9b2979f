import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Repeats a check until its result is truthy. The pause between checks grows from 20 to 150 ms, so that long waits use
 * little CPU time. `every` sets a constant pause in milliseconds.
 */
export async function until<T>(
  ask: () => T | Promise<T>,
  { within = 240_000, every }: { within?: number; every?: number } = {},
): Promise<Exclude<T, false | null | undefined>> {
  const end = Date.now() + within
  for (let pause = 20; ; pause = Math.min(150, pause * 1.25)) {
    const answer = await ask()
    if (answer) return answer as Exclude<T, false | null | undefined>
    if (Date.now() > end) throw new Error(`Did not come about within ${within} ms: ${String(ask)}`)
    await sleep(every ?? pause)
  }
}
