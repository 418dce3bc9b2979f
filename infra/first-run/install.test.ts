import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { isInstalled } from './install.mjs'

const lock = {
  packages: {
    '': { version: '0.1.0' },
    'apps/a': { version: '0.1.0' },
    'node_modules/a': { resolved: 'apps/a', link: true },
    'node_modules/pg': { version: '8.0.0' },
    'node_modules/for-macs': { version: '1.0.0', optional: true },
    'packages/http-server/node_modules/ipaddr.js': { version: '2.0.0' },
  },
}
const installed = {
  'apps/a': { version: '0.1.0' },
  'node_modules/a': { link: true },
  'node_modules/pg': { version: '8.0.0' },
  'packages/http-server/node_modules/ipaddr.js': { version: '2.0.0' },
}

describe('isInstalled', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-install-'))
    mkdirSync(join(folder, 'node_modules'))
    writeRecord(JSON.stringify({ packages: installed }))
    for (const path of Object.keys(installed)) {
      mkdirSync(join(folder, path), { recursive: true })
      writeFileSync(join(folder, path, 'package.json'), '{}')
    }
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const recordFile = () => join(folder, 'node_modules/.package-lock.json')
  const writeRecord = (record: string) => writeFileSync(recordFile(), record)

  it('returns true if every package has its version and only optional packages are missing', () => {
    expect(isInstalled(lock, undefined, folder)).toBe(true)
  })

  it.each([
    ['another version', JSON.stringify({ packages: { ...installed, 'node_modules/pg': { version: '7.9.0' } } })],
    ['no packages', '{"packages":{}}'],
    ['truncated JSON', '{"packages":{"node_mod'],
  ])("returns false if npm's record of the installation has %s", (_, record) => {
    writeRecord(record)
    expect(isInstalled(lock, undefined, folder)).toBe(false)
  })

  it('returns false if the lock file has a package that is not installed', () => {
    const packages = { ...lock.packages, 'node_modules/new': { version: '1.0.0' } }
    expect(isInstalled({ packages }, undefined, folder)).toBe(false)
  })

  it.each([
    [
      `npm's record of the installation, which an interrupted "npm ci" does not write`,
      'node_modules/.package-lock.json',
    ],
    ['a package, which an interrupted "npm install" leaves out', 'node_modules/pg'],
    ['the files of a package', 'node_modules/pg/package.json'],
    [
      'a package of a workspace, which a copy of the root does not contain',
      'packages/http-server/node_modules/ipaddr.js',
    ],
  ])('returns false without %s', (_, path) => {
    rmSync(join(folder, path), { recursive: true })
    expect(isInstalled(lock, undefined, folder)).toBe(false)
  })

  it('returns false if the packages were installed on another platform or architecture', () => {
    expect(isInstalled(lock, 'hash plan9-mips\n', folder)).toBe(false)
  })
})
