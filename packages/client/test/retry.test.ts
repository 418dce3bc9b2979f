import { expect, it } from '@jest/globals'
import { auth, userGroups } from '../src/generated/identity.ts'
import { serviceClient } from '../src/index.ts'
import { hang, json, problem, reset, scriptedServer } from './scripted-server.ts'

const body = { paging: {} }
const refresh = { body: { refreshToken: 'x'.repeat(30) } }

const clientOf = (baseUrl: string) => serviceClient({ baseUrl, token: () => undefined, timeout: 500 })

it.each([
  ['503', problem(503, 'unavailable')],
  ['a reset', reset],
] as const)('a read is sent again after %s', async (_what, trouble) => {
  await using server = await scriptedServer(trouble, json(200, []))
  expect(await clientOf(server.url).call(userGroups.search, { body })).toEqual([])
  expect(server.asked).toHaveLength(2)
})

it('a read is sent at most twice', async () => {
  await using server = await scriptedServer(reset)
  await expect(clientOf(server.url).call(userGroups.search, { body })).rejects.toMatchObject({ reason: 'unreachable' })
  expect(server.asked).toHaveLength(2)
})

it('a read is not sent again after a timeout', async () => {
  await using server = await scriptedServer(hang)
  await expect(clientOf(server.url).call(userGroups.search, { body })).rejects.toMatchObject({ reason: 'timed-out' })
  expect(server.asked).toHaveLength(1)
})

it('a write is not sent again after an overload, a reset or a timeout', async () => {
  await using server = await scriptedServer(problem(503, 'unavailable'), reset, hang)
  const client = clientOf(server.url)
  for (const reason of ['overloaded', 'unreachable', 'timed-out'])
    await expect(client.call(auth.refresh, refresh)).rejects.toMatchObject({ reason })
  expect(server.asked).toHaveLength(3)
})

it('a read is not sent again after a 500', async () => {
  await using server = await scriptedServer(problem(500, 'internal'))
  await expect(clientOf(server.url).call(userGroups.search, { body })).rejects.toMatchObject({ status: 500 })
  expect(server.asked).toHaveLength(1)
})

it('a call rejects with the reason of its signal if it is aborted between two attempts', async () => {
  await using server = await scriptedServer(problem(503, 'unavailable'))
  const caller = new AbortController()
  const call = clientOf(server.url).call(userGroups.search, { body, signal: caller.signal })
  const reason = new Error('the browser went away')
  while (server.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  setTimeout(() => caller.abort(reason), 50)
  await expect(call).rejects.toBe(reason)
  expect(server.asked).toHaveLength(1)
})
