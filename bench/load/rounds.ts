import { execFileSync } from 'node:child_process'
import type { Contender } from './contenders/contender.ts'
import { runOn } from './database.ts'
import { type Content, contentOf, same } from './verify.ts'

export interface Figures {
  name: string
  /** Medians. */
  milliseconds: number
  /** The most of all rounds, in MiB. */
  memory: number
  fastest: number
  slowest: number
  /** It has loaded something else than the first contender did. */
  differs: boolean
}

/**
 * All contenders in turn, several times, forwards and backwards, so that whatever else the machine does meets them
 * alike. Each finds a disk with nothing left to write, and what it loaded first is held against what is expected: where nobody
 * says it, what the first contender loaded.
 */
export async function inTurns(
  contenders: Contender[],
  rounds: number,
  admin: string,
  expected?: Content,
): Promise<Figures[]> {
  const measured = new Map(
    contenders.map(({ name }) => [name, { times: [] as number[], memory: [] as number[], differs: false }]),
  )
  let content = expected
  for (let round = 0; round < rounds; round++)
    for (const contender of round % 2 ? contenders.toReversed() : contenders) {
      await contender.prepare?.()
      await calm(admin)
      const { milliseconds, memory } = await contender.load()
      const figures = measured.get(contender.name)!
      figures.times.push(milliseconds)
      figures.memory.push(memory)
      if (figures.times.length > 1 || !contender.table) continue
      const found = await contentOf(contender.table())
      content ??= found
      figures.differs = !same(found, content)
    }
  return [...measured].map(([name, { times, memory, differs }]) => ({
    name,
    differs,
    milliseconds: median(times),
    memory: Math.max(...memory),
    fastest: Math.min(...times),
    slowest: Math.max(...times),
  }))
}

/** What others left to be written is written first. */
export async function calm(admin: string): Promise<void> {
  await runOn(admin, 'checkpoint')
  execFileSync('sync')
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return sorted.length % 2 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
