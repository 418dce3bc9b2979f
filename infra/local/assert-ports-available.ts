import { bindFailure } from '../postgres/free-port.ts'
import { UserError } from '../user-error.ts'
import { describePortOwner } from './describe-port-owner.ts'
import type { Ports, Settings } from './settings.ts'

const PORT_USES: Record<keyof Ports, string> = {
  IDENTITY_PORT: 'the identity service',
  PIPELINE_PORT: 'the pipeline service',
  WORKER_PORT: "the pipeline worker's health checks",
}

/** Throws UserError if a port is not available, before anything is started. */
export const assertPortsAvailable = async ({ ports, listenHost }: Settings): Promise<void> => {
  for (const [name, port] of Object.entries(ports) as [keyof Ports, number][]) {
    const portText = `Port ${port}, for ${PORT_USES[name]},`
    // "localhost" may mean ::1, and another server there would be mistaken for Sluice.
    const failures = [await bindFailure(port, listenHost), await bindFailure(port, '::1')]
    const failure = failures.find((code) => code === 'EADDRINUSE' || code === 'EACCES') ?? failures[0]
    if (failure === 'EADDRINUSE') {
      const owner = describePortOwner(port)
      throw new UserError(
        `${portText} is in use${owner ? ` by ${owner}` : ''}. Stop that, or choose another port with "${name}=${port + 100} npm start".`,
      )
    }
    if (failure === 'EACCES')
      throw new UserError(`${portText} needs root. Choose a port above 1023 with "${name}=${port + 8000} npm start".`)
    if (failure) throw new UserError(`${portText} cannot be opened on ${listenHost} (${failure}). Correct LISTEN_HOST.`)
  }
}
