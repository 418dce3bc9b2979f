import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger, main, Redaction, StartProblem, stopOnSignal } from '../src/index.ts'

/** A program to be stopped: says what it does, and stops in the way that its argument names. */
const [how] = process.argv.slice(2)

await main(async () => {
  if (how === 'refuses') throw new StartProblem('The moon is in the wrong phase: wait a week.')
  const logger = createLogger({ name: 'test', level: 'info', redaction: new Redaction() })
  const life = setInterval(() => {}, 1_000)
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
      if (how === 'fails') throw new Error('stuck')
      if (how === 'hangs') await sleep(60_000)
    }),
    step('third', async () => clearInterval(life)),
  ]
  stopOnSignal(logger, steps, how === 'hangs' ? 300 : 20_000)
  process.stdout.write('ready\n')
})
