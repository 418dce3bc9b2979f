import { availableParallelism } from 'node:os'
import { join } from 'node:path'

const here = (path) => join(import.meta.dirname, path)

/** The file that `npm test` reads its closing lines from; unset when jest is run by hand. */
const results = process.env.SLUICE_TEST_RESULTS

/** TypeScript is run by Node as it is, in plain processes: infra/test/jest/runtime.js says why. */
const project = {
  testMatch: ['**/*.test.ts'],
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  runtime: here('infra/test/jest/runtime.js'),
  testEnvironment: here('infra/test/jest/environment.js'),
}

/** The tests of all packages and apps: one pool of files, so that no core idles while another has files left. */
export default {
  projects: [
    {
      ...project,
      roots: [here('apps/pipeline')],
      globalSetup: here('apps/pipeline/test/shared-identity/start-identity-service.ts'),
      globalTeardown: here('apps/pipeline/test/shared-identity/stop-identity-service.ts'),
    },
    {
      ...project,
      roots: [here('apps/identity'), here('packages'), here('infra')],
      globalSetup: here('infra/test/jest/start-swift.js'),
      globalTeardown: here('infra/test/jest/stop-swift.js'),
    },
  ],
  testTimeout: 300_000,
  testSequencer: here('infra/test/jest/sequencer.js'),
  // More than there are cores: many files wait for processes, heartbeats and deadlines.
  maxWorkers: Math.ceil(2.5 * availableParallelism()),
  // Gives a worker time to write its compile cache before Jest kills it.
  workerGracefulExitTimeout: 10_000,
  passWithNoTests: true,
  reporters: ['default', ...(results ? [[here('infra/test/jest/reporter.ts'), { file: results }]] : [])],
}
