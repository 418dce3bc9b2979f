import { bindFailure } from '../postgres/free-port.ts'
import { UserError } from '../user-error.ts'
import { describePortOwner } from './describe-port-owner.ts'
import type { Ports, Settings } from './settings.ts'

const OWNERS: Record<keyof Ports, string> = {
  IDENTITY_PORT: 'the identity service',
  PIPELINE_PORT: 'the pipeline service',
  WORKER_PORT: "the pipeline worker's health checks",
}

/** Throws UserError if a port is not available, before anything is started. */
export const assertPortsAvailable = async ({ ports, listenHost }: Settings): Promise<void> => {
  for (const [name, port] of Object.entries(ports) as [keyof Ports, number][]) {
    const owner = `Port ${port}, for ${OWNERS[name]},`
    // Also checks ::1: "localhost" may mean it, and another server there would be mistaken for Sluice.
    const failures = [await bindFailure(port, listenHost), await bindFailure(port, '::1')]
    const failure = failures.find((code) => code === 'EADDRINUSE' || code === 'EACCES') ?? failures[0]
    if (failure === 'EADDRINUSE') {
      const holder = describePortOwner(port)
      throw new UserError(
        `${owner} is in use${holder ? ` by ${holder}` : ''}: stop that, or choose another port with "${name}=${port + 100} npm start".`,
      )
    }
    if (failure === 'EACCES')
      throw new UserError(
        `${owner} is not allowed to you: choose one above 1023 with "${name}=${port + 8000} npm start".`,
      )
    if (failure) throw new UserError(`${owner} cannot be opened on ${listenHost} (${failure}): correct LISTEN_HOST.`)
  }
}
