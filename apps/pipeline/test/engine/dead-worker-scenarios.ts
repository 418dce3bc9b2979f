import { count, finished, inTheMiddle, publications, stagingTables } from './large-load.ts'
import type { Stack } from './stack.ts'
import { spawnWorker, until } from './worker-process.ts'

type Middle = Awaited<ReturnType<typeof inTheMiddle>>

async function seen(stack: Stack, { pipeline, run, client }: Middle) {
  return {
    run: await stack.state(run),
    rows: await count(client, pipeline),
    publications: await publications(client, run),
    staging: await stagingTables(client),
  }
}

/** A worker is killed, and another one started. */
export async function killInTheMiddle(stack: Stack) {
  await using first = await spawnWorker(stack.environment)
  const middle = await inTheMiddle(stack)
  await using _ = middle.client
  first.signal('SIGKILL')
  const killedAt = Date.now()
  await first.ended
  const after = await seen(stack, middle)
  await using second = await spawnWorker(stack.environment)
  await finished(stack, middle.run)
  const seconds = (Date.now() - killedAt) / 1000
  return { after, atLast: await seen(stack, middle), seconds, output: second.output() }
}

/** A worker is stopped until another one has published its run, and then wakes up. */
export async function stallInTheMiddle(stack: Stack) {
  await using first = await spawnWorker(stack.environment)
  const middle = await inTheMiddle(stack)
  await using _ = middle.client
  first.signal('SIGSTOP')
  await using second = await spawnWorker(stack.environment)
  await finished(stack, middle.run)
  first.signal('SIGCONT')
  await until(() => first.output().includes('"ending":"LOST"'))
  await until(async () => (await stagingTables(middle.client)) === 0)
  return { atLast: await seen(stack, middle), output: second.output() }
}
