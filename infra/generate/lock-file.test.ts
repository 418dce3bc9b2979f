import { expect, it } from '@jest/globals'
import { addMissingPlatforms, type LockFile } from './lock-file.ts'

it('addMissingPlatforms adds the platform packages that npm omitted, and keeps the other entries unchanged', () => {
  const optionalDependencies = {
    '@x/linux-x64-gnu': '1.2.3',
    '@x/linux-arm-musleabihf': '1.2.3',
    '@x/windows-64': '1.2.3',
    other: '^1',
  }
  const present = { version: '1.2.3', optional: true, integrity: 'sha512-…' }
  const lock: LockFile = {
    packages: { 'node_modules/x': { dev: true, optionalDependencies }, 'node_modules/@x/linux-x64-gnu': present },
  }
  expect(addMissingPlatforms(lock)).toEqual(['@x/linux-arm-musleabihf', '@x/windows-64'])
  expect(lock.packages['node_modules/@x/linux-arm-musleabihf']).toEqual({
    version: '1.2.3',
    cpu: ['arm'],
    dev: true,
    libc: ['musl'],
    optional: true,
    os: ['linux'],
  })
  expect(lock.packages['node_modules/@x/windows-64']).toMatchObject({ cpu: ['x64'], os: ['win32'] })
  expect(lock.packages['node_modules/@x/linux-x64-gnu']).toBe(present)
  expect(addMissingPlatforms(lock)).toEqual([])
})
