import { setTimeout as delay } from 'node:timers/promises'
import { databases, services, type Stack } from './compose-project.ts'

/** Waits until a condition holds. Throws with its last objection when it has not after so many seconds. */
const until = async (objection: () => Promise<string | undefined>, seconds: number): Promise<void> => {
  const end = performance.now() + seconds * 1000
  for (;;) {
    const said = await objection()
    if (said === undefined) return
    if (performance.now() > end) throw new Error(`after ${seconds} s: ${said}`)
    await delay(500)
  }
}

/** Waits until every container is healthy and every service reports that it is ready. */
export const waitUntilHealthy = (stack: Stack, seconds = 90): Promise<void> =>
  until(async () => {
    const containers = await stack.containers()
    for (const service of [...databases, ...services]) {
      const health = containers.get(service)?.State.Health?.Status
      if (health !== 'healthy') return `${service} is ${health}`
    }
    for (const service of services) {
      const answer = await stack.execute(service, 'node', 'infra/images/health-check.ts').then(() => undefined, String)
      if (answer !== undefined) return `${service} is not ready: ${answer}`
    }
    return undefined
  }, seconds)

/**
 * Ends a container's first process as a crash would (the engine counts `docker kill` as a wish to stop, and would not
 * restart), and waits until the engine has started it again. Works from inside the engine's machine, so also where
 * that is a virtual one.
 */
export const crash = async (stack: Stack, service: string): Promise<void> => {
  const before = (await stack.containers()).get(service)?.State
  if (before?.Status !== 'running') throw new Error(`${service} does not run`)
  const alone = [
    '--rm',
    '--pid=host',
    '--userns=host',
    '--network=none',
    '--user=0',
    '--cap-drop=ALL',
    '--cap-add=KILL',
  ]
  await stack.docker(['run', ...alone, stack.image('secrets'), 'node', '-e', `process.kill(${before.Pid}, 'SIGKILL')`])
  await until(async () => {
    const now = (await stack.containers()).get(service)?.State
    return now?.Status === 'running' && now.StartedAt !== before.StartedAt
      ? undefined
      : `${service} is not started again`
  }, 60)
}

/** How often the engine has restarted each service. */
export const restarts = async (stack: Stack): Promise<Record<string, number>> => {
  const containers = await stack.containers()
  return Object.fromEntries(services.map((service) => [service, containers.get(service)?.RestartCount ?? 0]))
}
