import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { installMissingDebianPackages } from './install-debian-packages.ts'

const before = process.env['SLUICE_INSTALL_PACKAGES']
beforeEach(() => void (process.env['SLUICE_INSTALL_PACKAGES'] = 'no'))
afterEach(() => {
  jest.restoreAllMocks()
  if (before === undefined) delete process.env['SLUICE_INSTALL_PACKAGES']
  else process.env['SLUICE_INSTALL_PACKAGES'] = before
})

it('installMissingDebianPackages prints one line about the skipped tests if SLUICE_INSTALL_PACKAGES is "no"', async () => {
  const warn = jest.spyOn(console, 'warn').mockImplementation(() => {})
  await installMissingDebianPackages(['no-such-package-of-debian'])
  expect(warn.mock.calls).toEqual([
    ['Tests that need no-such-package-of-debian are skipped: SLUICE_INSTALL_PACKAGES is "no".'],
  ])
})

it('installMissingDebianPackages prints nothing if no package is missing', async () => {
  const warn = jest.spyOn(console, 'warn').mockImplementation(() => {})
  await installMissingDebianPackages([])
  expect(warn).not.toHaveBeenCalled()
})
