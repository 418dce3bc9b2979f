import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { hasRole, type Role, allRoles } from '@sluice/contracts'
import { root } from '../paths.ts'

it('docs/people.md gives the first administrator every role except ROLE_SUPER_ADMIN', () => {
  const page = readFileSync(join(root, 'docs/people.md'), 'utf8')
  const [, list = ''] = /^ROLES='(.*?)'$/ms.exec(page) ?? []
  const given = JSON.parse(`[${list}]`) as Role[]
  expect(allRoles.filter((role) => !hasRole(given, role))).toEqual(['ROLE_SUPER_ADMIN'])
})
