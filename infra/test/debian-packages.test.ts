import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { installMissingPackages } from './debian-packages.ts'

const before = process.env['SLUICE_INSTALL_PACKAGES']
beforeEach(() => void (process.env['SLUICE_INSTALL_PACKAGES'] = 'no'))
afterEach(() => {
  jest.restoreAllMocks()
  if (before === undefined) delete process.env['SLUICE_INSTALL_PACKAGES']
  else process.env['SLUICE_INSTALL_PACKAGES'] = before
})

it('says in one line which tests are left out, and why', async () => {
  const said = jest.spyOn(console, 'warn').mockImplementation(() => {})
  await installMissingPackages(['no-such-package-of-debian'])
  expect(said.mock.calls).toEqual([
    ['Tests that need no-such-package-of-debian are skipped: SLUICE_INSTALL_PACKAGES is "no".'],
  ])
})

it('says nothing where nothing is missing', async () => {
  const said = jest.spyOn(console, 'warn').mockImplementation(() => {})
  await installMissingPackages([])
  expect(said).not.toHaveBeenCalled()
})
