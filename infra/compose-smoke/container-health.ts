import { setTimeout as delay } from 'node:timers/promises'
import { databases, services, type Stack } from './compose-project.ts'

/** Waits until `findObstacle` returns undefined. Throws with the last obstacle after the timeout. */
const waitUntilNone = async (findObstacle: () => Promise<string | undefined>, seconds: number): Promise<void> => {
  const end = performance.now() + seconds * 1000
  for (;;) {
    const obstacle = await findObstacle()
    if (obstacle === undefined) return
    if (performance.now() > end) throw new Error(`after ${seconds} s: ${obstacle}`)
    await delay(500)
  }
}

/** Waits until every container is healthy and every service reports that it is ready. */
export const waitUntilHealthy = (stack: Stack, seconds = 90): Promise<void> =>
  waitUntilNone(async () => {
    const containers = await stack.containers()
    for (const service of [...databases, ...services]) {
      const health = containers.get(service)?.State.Health?.Status
      if (health !== 'healthy') return `${service} is ${health}`
    }
    for (const service of services) {
      const failure = await stack.execute(service, 'node', 'infra/images/health-check.ts').then(() => undefined, String)
      if (failure !== undefined) return `${service} is not ready: ${failure}`
    }
    return undefined
  }, seconds)

/**
 * Kills the first process of a container and waits until the engine has restarted it. After `docker kill` the engine
 * would not restart it. A privileged container sends the signal, because the engine may run in a virtual machine.
 */
export const crashContainer = async (stack: Stack, service: string): Promise<void> => {
  const before = (await stack.containers()).get(service)?.State
  if (before?.Status !== 'running') throw new Error(`${service} does not run`)
  const options = [
    '--rm',
    '--pid=host',
    '--userns=host',
    '--network=none',
    '--user=0',
    '--cap-drop=ALL',
    '--cap-add=KILL',
  ]
  await stack.docker([
    'run',
    ...options,
    stack.image('secrets'),
    'node',
    '-e',
    `process.kill(${before.Pid}, 'SIGKILL')`,
  ])
  await waitUntilNone(async () => {
    const now = (await stack.containers()).get(service)?.State
    return now?.Status === 'running' && now.StartedAt !== before.StartedAt ? undefined : `${service} was not restarted`
  }, 60)
}

/** Returns how often the engine has restarted each service. */
export const readRestartCounts = async (stack: Stack): Promise<Record<string, number>> => {
  const containers = await stack.containers()
  return Object.fromEntries(services.map((service) => [service, containers.get(service)?.RestartCount ?? 0]))
}
