import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../paths.ts'
import { selectedParts } from './selected-packages.ts'

const workspaces = [
  { name: '@sluice/http-server', folder: 'packages/http-server' },
  { name: '@sluice/identity', folder: 'apps/identity' },
]
const identity = { folder: 'apps/identity', workspace: '@sluice/identity' }

describe('npm run check -- <package>', () => {
  it.each(['identity', 'apps/identity', './apps/identity/', '@sluice/identity'])(
    'finds a package by the name %s',
    (name) => {
      expect(selectedParts([name], workspaces)).toEqual([identity])
    },
  )

  it('selects several packages, and folders of the repository root', () => {
    expect(selectedParts(['identity', 'infra'], workspaces)).toEqual([identity, { folder: 'infra' }])
  })

  it('selects nothing without a name', () => {
    expect(selectedParts([], workspaces)).toEqual([])
  })

  it('ends with status 1 and lists the known names when a name is unknown', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'infra/check/run-checks.ts'), 'identify'], {
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', FORCE_COLOR: undefined },
    })
    expect(status).toBe(1)
    expect(stderr).toMatch(
      /^✗ The package "identify" does not exist\. Use \w.*, identity, pipeline, infra or bench\.\n$/,
    )
  })
})
