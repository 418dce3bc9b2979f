import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger, main, Redaction, StartProblem, stopOnSignal } from '../src/index.ts'

/** A program with three shutdown steps. Its argument decides what the second step does, or that it does not start. */
const [mode] = process.argv.slice(2)

await main(async () => {
  if (mode === 'refuses') throw new StartProblem('The moon is in the wrong phase: wait a week.')
  const logger = createLogger({ name: 'test', level: 'info', redaction: new Redaction() })
  const keepAlive = setInterval(() => {}, 1_000)
  const step = (name: string, stop: () => Promise<unknown>) => ({
    name,
    stop: async () => {
      process.stdout.write(`${name}\n`)
      await stop()
    },
  })
  const steps = [
    step('first', () => sleep(50)),
    step('second', async () => {
      if (mode === 'fails') throw new Error('stuck')
      if (mode === 'hangs') await sleep(60_000)
    }),
    step('third', async () => clearInterval(keepAlive)),
  ]
  stopOnSignal(logger, steps, mode === 'hangs' ? 300 : 20_000)
  process.stdout.write('ready\n')
})
