import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { RemoteProblem, ServiceUnavailable } from '@sluice/client'
import { UsageError, parseDemoArguments } from './demo-arguments.ts'
import { explainError, explainSignIn } from './explain-errors.ts'
import { findInstallation } from './installation.ts'
import { inspectUploadFile } from './upload-file.ts'

let state: string
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'sluice-installation-'))
})
afterEach(() => rm(state, { recursive: true }))

const keep = (name: string, content: unknown) => writeFile(join(state, name), JSON.stringify(content))
const local = { identityUrl: 'http://localhost:4001', pipelineUrl: 'http://localhost:4002', admin: { username: 'ada' } }
const secrets = { admin: { username: 'ada', password: 'made here' } }

it('findInstallation reads the addresses and the password that npm start stored', async () => {
  await keep('local.json', local)
  await keep('secrets.json', secrets)
  expect(await findInstallation({}, state)).toEqual({
    identityUrl: 'http://localhost:4001',
    pipelineUrl: 'http://localhost:4002',
    username: 'ada',
    password: 'made here',
    passwordFrom: 'secrets.json',
  })
})

it('findInstallation prefers environment variables to the stored addresses and password', async () => {
  await keep('local.json', local)
  await keep('secrets.json', secrets)
  const environment = {
    IDENTITY_URL: 'https://id.example.org/',
    PIPELINE_URL: 'https://data.example.org',
    SLUICE_ADMIN_USERNAME: 'bo',
    SLUICE_ADMIN_PASSWORD: 'given',
  }
  expect(await findInstallation(environment, state)).toMatchObject({
    identityUrl: 'https://id.example.org',
    pipelineUrl: 'https://data.example.org',
    username: 'bo',
    password: 'given',
  })
})

it('findInstallation omits the stored password for another address or another user name', async () => {
  await keep('local.json', local)
  await keep('secrets.json', secrets)
  const otherAddress = await findInstallation({ IDENTITY_URL: 'http://id.example.org' }, state)
  const otherUser = await findInstallation({ SLUICE_ADMIN_USERNAME: 'bo' }, state)
  expect([otherAddress.password, otherUser.password]).toEqual([undefined, undefined])
})

it('findInstallation uses the default ports if local.json is invalid, and refuses an invalid URL', async () => {
  await writeFile(join(state, 'local.json'), '{"half')
  expect(await findInstallation({}, state)).toEqual({
    identityUrl: 'http://localhost:3001',
    pipelineUrl: 'http://localhost:3002',
    username: 'admin',
    password: undefined,
    passwordFrom: 'terminal',
  })
  await expect(findInstallation({ IDENTITY_URL: 'localhost:3001' }, state)).rejects.toThrow(UsageError)
})

it('parseDemoArguments returns the file, the number of rows and the name, with defaults', () => {
  expect(parseDemoArguments([])).toEqual({ file: undefined, rows: 200_000, name: undefined, help: false })
  expect(parseDemoArguments(['a.csv', '--name', ' My data '])).toMatchObject({ file: 'a.csv', name: 'My data' })
  expect(parseDemoArguments(['--rows', '1000'])).toMatchObject({ rows: 1000 })
})

it.each([
  [['a.csv', 'b.csv']],
  [['--rows', '1.5']],
  [['--rows', '-1']],
  [['--rows=0']],
  [['a.csv', '--rows', '5']],
  [['--name', ' ']],
  [['--colour']],
])('parseDemoArguments rejects %j', (given) => {
  expect(() => parseDemoArguments(given)).toThrow(UsageError)
})

it('inspectUploadFile rejects an empty file, a missing file and a folder', async () => {
  await writeFile(join(state, 'empty.csv'), '')
  await expect(inspectUploadFile(join(state, 'empty.csv'), 'x')).rejects.toThrow(/is empty/)
  await expect(inspectUploadFile(join(state, 'absent.csv'), 'x')).rejects.toThrow(/does not exist/)
  await expect(inspectUploadFile(state, 'x')).rejects.toThrow(/is not a file/)
})

it('explainSignIn and explainError say what failed and what to do, and return other errors unchanged', async () => {
  const installation = { ...(await findInstallation({}, state)), passwordFrom: 'SLUICE_ADMIN_PASSWORD' as const }
  const problem = (status: number, detail: string) =>
    new RemoteProblem({ type: 'urn:problem:x', title: 'No.', status, code: 'x', detail })
  const unreachable = new ServiceUnavailable('unreachable', 'http://a cannot be reached: connect ECONNREFUSED.')
  const messageOf = (error: unknown) => (error as Error).message

  expect(messageOf(explainSignIn(problem(401, 'No.'), installation))).toMatch(/Correct SLUICE_ADMIN_USERNAME/)
  expect(messageOf(explainSignIn(problem(404, 'No.'), installation))).toMatch(/Correct IDENTITY_URL/)
  expect(messageOf(explainSignIn(unreachable, installation))).toMatch(
    /\(connect ECONNREFUSED\)\. Run "npm start" first/,
  )
  expect(messageOf(explainError(problem(422, 'The file is empty.'), 'pipeline service', 'http://a'))).toBe(
    'The file is empty.',
  )
  const bug = new TypeError('a bug')
  expect(explainError(bug, 'pipeline service', 'http://a')).toBe(bug)
})
