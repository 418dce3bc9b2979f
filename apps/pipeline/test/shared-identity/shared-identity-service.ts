import type { Running } from './start-identity-service.ts'

/** How test files reach the identity service that is there for all of them. */
export interface SharedIdentity {
  url: string
  port: number
  serviceSecret: string
  adminPassword: string
  /** The file that its programs' output goes to. */
  log: string
}

const variable = 'SLUICE_TEST_IDENTITY'

/** Said through the environment, which is what jest's workers inherit; kept where start and stop both find it. */
export const sharedIdentity = {
  announce: (shared: SharedIdentity) => void (process.env[variable] = JSON.stringify(shared)),
  find(): SharedIdentity {
    const said = process.env[variable]
    if (said) return JSON.parse(said) as SharedIdentity
    throw new Error('This test needs PostgreSQL and TEST_DATABASE_URL is not set: run it with "npm test".')
  },
  get running() {
    return (globalThis as { sluiceIdentity?: Running }).sluiceIdentity
  },
  set running(running: Running | undefined) {
    ;(globalThis as { sluiceIdentity?: Running | undefined }).sluiceIdentity = running
  },
}

/** A test's database keeps no process alive by itself; before the first test and after the last, nothing else does. */
export async function keptAlive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 1_000)
  return work.finally(() => clearInterval(timer))
}
