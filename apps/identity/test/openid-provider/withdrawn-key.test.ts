import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { publishedKeys, tokenVerifier } from '@sluice/http-server'
import { goodPassword } from '../app-under-test.ts'
import { lastOtherAnswerMs } from '@sluice/testing/last-stale-response'
import { sendRequest, startInstallation, type Installation } from '../start-real-processes.ts'

let installation: Installation
beforeAll(async () => {
  installation = await startInstallation({ pipeline: true })
})
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]()
})

it('tokens of a withdrawn key are refused by all services within 70 seconds', async () => {
  const [identity = ''] = installation.identity
  const login = { username: 'admin', password: goodPassword }
  const { accessToken } = (await sendRequest(identity, 'POST', '/auth/login', { body: login })).body
  const pipelines = async () =>
    (await sendRequest(installation.pipeline, 'GET', '/data-pipelines', { token: accessToken })).status
  const verify = tokenVerifier(identity, publishedKeys(identity, { refreshMs: 200 }))
  expect(await pipelines()).toBe(200)
  await verify(accessToken)

  await installation.command('identity/bin/rotate-keys.ts', '--at-once', '--forget-previous')
  const since = Date.now()
  const verifierStatus = () =>
    verify(accessToken).then(
      () => 200,
      (problem: { status: number }) => problem.status,
    )
  await lastOtherAnswerMs(verifierStatus, 401, since)
  expect(await lastOtherAnswerMs(pipelines, 401, since)).toBeLessThan(70_000)
})
