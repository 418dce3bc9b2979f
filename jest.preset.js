import { join } from 'node:path'

/** Where `npm test` collects the counts of all packages; unset when jest is run by hand. */
const counts = process.env.SLUICE_TEST_COUNTS

/** What every package's jest.config.js spreads: ES modules, TypeScript by swc, tests beside the code and in test/. */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'esnext', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
  testMatch: ['**/*.test.ts'],
  testTimeout: 300_000,
  // Packages run two at a time: together they fill the machine once.
  maxWorkers: '50%',
  // The modules of each finished test file stay in their worker's memory: without a limit to 1.8 GB, which then takes
  // longer to leave than jest waits for, and reads as a leak.
  workerIdleMemoryLimit: '1GB',
  passWithNoTests: true,
  reporters: [
    'default',
    ...(counts ? [[join(import.meta.dirname, 'infra/test/count-reporter.ts'), { folder: counts }]] : []),
  ],
}
