import { bindFailure } from '../postgres/free-port.ts'
import { Refusal } from '../refusal.ts'
import { portHolder } from './port-holder.ts'
import type { Ports, Settings } from './settings.ts'

const OWNERS: Record<keyof Ports, string> = {
  IDENTITY_PORT: 'the identity service',
  PIPELINE_PORT: 'the pipeline service',
  WORKER_PORT: "the pipeline worker's health checks",
}

/** Throws Refusal when one of the ports cannot be had, before anything is started. */
export const requirePorts = async ({ ports, listenHost }: Settings): Promise<void> => {
  for (const [name, port] of Object.entries(ports) as [keyof Ports, number][]) {
    const owner = `Port ${port}, for ${OWNERS[name]},`
    // Also ::1, which "localhost" may mean: what listens there would be taken for ours.
    const failures = [await bindFailure(port, listenHost), await bindFailure(port, '::1')]
    const failure = failures.find((code) => code === 'EADDRINUSE' || code === 'EACCES') ?? failures[0]
    if (failure === 'EADDRINUSE') {
      const holder = portHolder(port)
      throw new Refusal(
        `${owner} is in use${holder ? ` by ${holder}` : ''}: stop that, or choose another port with "${name}=${port + 100} npm start".`,
      )
    }
    if (failure === 'EACCES')
      throw new Refusal(
        `${owner} is not allowed to you: choose one above 1023 with "${name}=${port + 8000} npm start".`,
      )
    if (failure) throw new Refusal(`${owner} cannot be opened on ${listenHost} (${failure}): correct LISTEN_HOST.`)
  }
}
