import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { identityOperations, type OperationSignature } from '@sluice/contracts'
import { openapi } from '@sluice/http-server'
import { servedOperations } from '../src/api/operations.ts'
import type { Service } from './app-under-test.ts'
import { startServiceBesideProviders } from './federated/federated-sign-in-setup.ts'
import { validRequests, type ValidRequests } from './valid-requests/valid-requests.ts'

let service: Service
let good: ValidRequests
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startServiceBesideProviders()
  admin = await service.as(['ROLE_SUPER_ADMIN'])
  good = validRequests({ service, admin })
})
afterAll(() => service.stop())

const document = openapi(servedOperations, { title: 'Identity', version: '1', description: '' })
const described = ({ path, method }: OperationSignature) => document.paths[path.replaceAll(/:(\w+)/g, '{$1}')][method]
const withId = Object.values(identityOperations)
  .flatMap((noun): OperationSignature[] => Object.values(noun))
  .filter(({ path, guard, effect }) => path.includes(':uid') && guard !== 'service' && effect === 'write')

it.each(withId.map((signature): [string, OperationSignature] => [signature.id, signature]))(
  '%s documents If-Match exactly if it accepts the header',
  async (id, signature) => {
    const { uid = '', params = {}, query = '', body, by = admin } = await good[id]!()
    const path = signature.path.replaceAll(/:(\w+)/g, (_all, name: string) => (name === 'uid' ? uid : params[name]!))
    const { status } = await by[signature.method](`${path}${query}`).set('if-match', '"987654"').send(body)
    const declared = described(signature).parameters.some(({ name }: { name: string }) => name === 'If-Match')
    expect([status === 412, status < 500]).toEqual([declared, true])
  },
)

it('operations that redirect a browser document their 302 response', () => {
  for (const { responses } of [
    described(identityOperations.auth.finishSso),
    described(identityOperations.auth.startSso),
  ])
    expect(responses[302].headers).toHaveProperty('Location')
  expect(described(identityOperations.auth.finishSso).responses).toHaveProperty('200')
  expect(described(identityOperations.auth.login).responses).not.toHaveProperty('302')
})
