import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { watchMemory } from '../process-memory.ts'
import type { LoadCost } from './loader.ts'

/** Runs a shell command to its end. Throws with the end of its error output if it fails. */
export async function measureCommand(command: string, env: NodeJS.ProcessEnv = {}): Promise<LoadCost> {
  const startedAt = performance.now()
  const child = spawn('bash', ['-o', 'pipefail', '-c', command], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errorOutput = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorOutput = (errorOutput + text).slice(-2000)))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const memory = await watchMemory(child.pid!, ended)
  if ((await ended) !== 0) throw new Error(`${command.slice(0, 200)} failed: ${errorOutput}`)
  return { milliseconds: performance.now() - startedAt, memory }
}

export const isInstalled = (program: string): boolean =>
  process.env['PATH']!.split(':').some((folder) => existsSync(`${folder}/${program}`))
