import { expect, it } from '@jest/globals'
import { findBadFileNames } from './file-names.ts'

it('findBadFileNames returns files and folders with a generic name such as utils, and files not in kebab case', () => {
  const bad = [
    'apps/a/src/utils/x.ts',
    'apps/a/src/helpers.ts',
    'apps/a/src/index.ts',
    'packages/a/src/lib/x.sql',
    'infra/FooBar.ts',
  ]
  const good = [
    'packages/a/src/index.ts',
    'apps/a/src/identity-service.ts',
    'apps/a/migrations/0001_first_tables.sql',
    'README.md',
    'jest.config.js',
  ]
  expect(findBadFileNames([...bad, ...good])).toEqual(bad)
})
