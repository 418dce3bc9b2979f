/** What every package's jest.config.js spreads: ES modules, TypeScript by swc, tests beside the code and in test/. */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'esnext', parser: { syntax: 'typescript' } }, module: { type: 'es6' } }],
  },
  testMatch: ['**/*.test.ts'],
}
