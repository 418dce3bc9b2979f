import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { hasNested, isInstalled } from './install.mjs'

const lock = {
  packages: {
    '': { version: '0.1.0' },
    'apps/a': { version: '0.1.0' },
    'node_modules/a': { resolved: 'apps/a', link: true },
    'node_modules/pg': { version: '8.0.0' },
    'node_modules/for-macs': { version: '1.0.0', optional: true },
  },
}
const record = (pg: string, others: object = {}): string =>
  JSON.stringify({
    packages: {
      'apps/a': { version: '0.1.0' },
      'node_modules/a': { link: true },
      'node_modules/pg': { version: pg },
      ...others,
    },
  })

describe('a node_modules', () => {
  it('is complete with every package in its version; builds for other machines may be missing', () => {
    expect(isInstalled(lock, undefined, record('8.0.0'))).toBe(true)
  })

  it('is not, with another version, without a package, and without npm’s record', () => {
    expect(isInstalled(lock, undefined, record('7.9.0'))).toBe(false)
    expect(
      isInstalled(
        { packages: { ...lock.packages, 'node_modules/new': { version: '1.0.0' } } },
        undefined,
        record('8.0.0'),
      ),
    ).toBe(false)
    expect(isInstalled(lock, undefined, '{"packages":{}}')).toBe(false)
  })

  it('is not, when only that of the root was copied from another checkout', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-nested-'))
    const packages = {
      'node_modules/pg': {},
      'packages/http/node_modules/ipaddr.js': {},
      'apps/a/node_modules/b': { optional: true },
    }
    expect(hasNested(packages, folder)).toBe(false)
    mkdirSync(join(folder, 'packages/http/node_modules/ipaddr.js'), { recursive: true })
    expect(hasNested(packages, folder)).toBe(true)
    rmSync(folder, { recursive: true })
  })

  it('is not, when it was installed on another kind of machine', () => {
    expect(isInstalled(lock, 'hash plan9-mips\n', record('8.0.0'))).toBe(false)
  })
})
