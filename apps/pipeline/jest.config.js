import { availableParallelism } from 'node:os'
import preset from '../../jest.preset.js'

/** Many of its tests wait, for workers to be missed and taken over: three at a time on two cores keep both busy. */
export default {
  ...preset,
  // A percentage above 100 would be taken for a number.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  globalSetup: '<rootDir>/test/shared-identity/start.ts',
  globalTeardown: '<rootDir>/test/shared-identity/stop.ts',
}
