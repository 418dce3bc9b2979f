import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { installMissingNpmPackages } from './install-npm-packages.ts'

const before = process.env['SLUICE_INSTALL_PACKAGES']
let folder: string
beforeEach(async () => {
  process.env['SLUICE_INSTALL_PACKAGES'] = 'no'
  folder = await mkdtemp(join(tmpdir(), 'sluice-programs-'))
})
afterEach(async () => {
  jest.restoreAllMocks()
  if (before === undefined) delete process.env['SLUICE_INSTALL_PACKAGES']
  else process.env['SLUICE_INSTALL_PACKAGES'] = before
  await rm(folder, { recursive: true })
})

it('installMissingNpmPackages prints one line and creates no files if SLUICE_INSTALL_PACKAGES is "no"', async () => {
  const warn = jest.spyOn(console, 'warn').mockImplementation(() => {})
  await installMissingNpmPackages(['some-program@1.0.0'], folder)
  expect(warn.mock.calls).toEqual([
    ['Tests that need some-program@1.0.0 are skipped: SLUICE_INSTALL_PACKAGES is "no".'],
  ])
  expect(await readdir(folder)).toEqual([])
})
