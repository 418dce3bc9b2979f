import { randomBytes } from 'node:crypto'
import { serviceClient, signIn } from '@sluice/client'
import { identityOperations } from '@sluice/contracts'
import type { Installation } from '../load/installation.ts'

const { auth, clients, users } = identityOperations
const password = 'a password that only measures'

/** The data with which another process signs in for an organisation. */
export interface OrganisationLogin {
  identityUrl: string
  pipelineUrl: string
  username: string
  /** Id of its schema. */
  schema: string
}

/** An organisation with one administrator, who is signed in, and a schema. */
export interface Organisation extends AsyncDisposable {
  login: OrganisationLogin
  schema: string
  /** Sends a request to a path below /api/v1. Resolves after the body has arrived. */
  call(method: string, path: string, init?: RequestInit): Promise<{ status: number; body: any }>
  /** Sends a GET request and resolves before the body has arrived. */
  download(path: string, init?: RequestInit): Promise<Response>
}

const roles = [
  'ROLE_MANAGE_SCHEMA',
  'ROLE_MANAGE_DATA_PIPELINE',
  'ROLE_VIEW_DATA_ALL_DATA_PIPELINE',
  'ROLE_MANAGE_VIEW',
  'ROLE_MANAGE_WORKFLOW',
] as const

export async function createOrganisation({ pipelineUrl, environment, token }: Installation): Promise<Organisation> {
  const identityUrl = `http://127.0.0.1:${environment['IDENTITY_PORT']}`
  const admin = serviceClient({ baseUrl: identityUrl, token, timeout: 60_000 })
  const code = randomBytes(6).toString('hex')
  const contact = { primaryContact: {}, technicalContact: {}, billingContact: {} }
  const switches = { managerEnabled: true, routesEnabled: true, pipelinesEnabled: true, enterpriseEnabled: false }
  const client = await admin.call(clients.create, {
    body: { name: code, code, billingCode: 'B-1', domain: 'REGULAR', disabled: false, ...contact, ...switches },
  })
  const username = `u${code}`
  const invited = await admin.call(users.invite, {
    body: {
      name: 'Grace',
      username,
      email: `${username}@example.org`,
      ssoAuth: false,
      startPage: 'DEFAULT',
      auths: [...roles],
      client: { id: client.id },
    },
  })
  // Without a mail server, the response contains the invitation link.
  const link = new URL(invited.invitationLink!).searchParams.get('token')!
  await admin.call(auth.acceptInvitation, { body: { token: link, password } })
  const organisation = await signInOrganisation({ identityUrl, pipelineUrl, username, schema: '' })
  const schema = { name: `s${code}`, permanent: false, providerSchema: 'SQL_DATABASE_D' }
  const created = await organisation.call('POST', '/schemas', json(schema))
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
  return { ...organisation, schema: created.body.id, login: { ...organisation.login, schema: created.body.id } }
}

export async function signInOrganisation(login: OrganisationLogin): Promise<Organisation> {
  const { identityUrl, pipelineUrl, username, schema } = login
  const session = await signIn({ identityUrl, username, password })
  const send = async (method: string, path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${await session.token()}`, ...(init.headers as Record<string, string>) }
    return fetch(`${pipelineUrl}/api/v1${path}`, { ...init, method, headers })
  }
  const call: Organisation['call'] = async (method, path, init) => {
    const response = await send(method, path, init)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    return { status: response.status, body: isJson && text ? JSON.parse(text) : text }
  }
  const download: Organisation['download'] = (path, init) => send('GET', path, init)
  return { login, schema, call, download, [Symbol.asyncDispose]: () => session.signOut() }
}

export const json = (body: unknown): RequestInit => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
})

/** Creates a pipeline, uploads its file and returns its id. */
export async function createPipeline(
  { call, schema }: Organisation,
  content: string | Buffer,
  statements: readonly string[] = [],
): Promise<string> {
  const name = `p${randomBytes(6).toString('hex')}`
  const transformation = { sqlStatements: statements.map((statement) => ({ statement })) }
  const created = await call(
    'POST',
    '/data-pipelines',
    json({
      name,
      type: 'CSV_UPLOAD',
      disabled: false,
      runTrigger: 'NEVER',
      dataWarehouseTarget: { schema: { id: schema }, tableName: name },
      ...(statements.length > 0 && { transformation }),
    }),
  )
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
  const headers = { 'content-type': 'text/csv' }
  const uploaded = await call('POST', `/data-pipelines/${created.body.id}/file`, { body: content as string, headers })
  if (uploaded.status !== 200) throw new Error(JSON.stringify(uploaded.body))
  return created.body.id
}

export async function createView({ call, schema }: Organisation, query: string, changes: object = {}): Promise<string> {
  const name = `v${randomBytes(6).toString('hex')}`
  const body = { name, schema: { id: schema }, query, materialized: false, disabled: false, runTrigger: 'NEVER' }
  const created = await call('POST', '/views', json({ ...body, ...changes }))
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
  return created.body.id
}
