import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SecondFactorRequired, serviceClient, signIn } from '@sluice/client'
import { account, auth, session as currentSession, users } from '@sluice/client/identity'
import { schemas } from '@sluice/client/pipeline'
import { build } from 'esbuild'
import { until } from '@sluice/testing/wait-until'
import type { Browser, ElementHandle, Page } from 'puppeteer-core'
import { describeInBrowser, startBrowser, visit } from '../../apps/identity/test/pages/chromium-browser.ts'
import { startGate, type Gate } from '../../apps/pipeline/test/api/interruptible-proxy.ts'
import { writeHealthData } from '../demo/health-data.ts'
import { runProgram } from '../docs-tests/run-program.ts'
import { type RunningStack, startStack } from '../docs-tests/running-stack.ts'
import { root } from '../paths.ts'
import { buildClientPackage } from './build-package.ts'

/** The folder of a project in which the package is installed from its tar file. */
let project: string
let stack: RunningStack
let site: Server
let origin: string

beforeAll(async () => {
  site = createServer().listen(0, '127.0.0.1')
  await once(site, 'listening')
  origin = `http://localhost:${(site.address() as AddressInfo).port}`
  ;[project, stack] = await Promise.all([installPackage(), startStack({ CORS_ORIGINS: origin })])
})
afterAll(async () => {
  site?.close()
  await stack?.[Symbol.asyncDispose]()
  await rm(project, { recursive: true, force: true })
})

async function run(program: string, args: string[], cwd = project): Promise<string> {
  const ended = await runProgram(program, args, { cwd, env: { ...process.env, NODE_OPTIONS: '' } })
  expect({ program, args, ...ended }).toMatchObject({ code: 0 })
  return ended.stdout
}

async function installPackage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-client-project-'))
  const built = join(folder, 'built')
  const installed = join(folder, 'node_modules/@sluice/client')
  await buildClientPackage(built)
  await run('npm', ['pack', '--offline', '--pack-destination', folder], built)
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', join(folder, 'sluice-client-0.1.0.tgz'), '-C', installed, '--strip-components=1'], folder)
  await rm(built, { recursive: true })
  for (const other of ['@types', 'tus-js-client'])
    await symlink(join(root, 'node_modules', other), join(folder, 'node_modules', other))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  return folder
}

/** Returns the TypeScript examples of the README with this fence: `ts` for Node.js, `ts browser` for browsers. */
async function readExamples(fence: string): Promise<string> {
  const readme = await readFile(join(root, 'packages/client/README.md'), 'utf8')
  const blocks = [...readme.matchAll(/^```(ts[^\n]*)\n(.*?)^```$/gms)].filter(([, info]) => info === fence)
  return blocks.map(([, , text]) => text).join('\n')
}

describe('the types of the installed package', () => {
  const strict = { strict: true, noEmit: true, exactOptionalPropertyTypes: true, target: 'es2022' }

  async function check(file: string, text: string, compilerOptions: object): Promise<string> {
    await writeFile(join(project, file), text)
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }))
    const tsc = join(root, 'node_modules/.bin/tsc')
    return (await runProgram(tsc, ['-p', project, '--pretty', 'false'], { cwd: project, env: process.env })).stdout
  }
  const forBrowsers = { ...strict, module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [] }
  const forNode = { ...strict, module: 'nodenext', lib: ['es2023'], types: ['node'], skipLibCheck: true }

  it('fit the examples for browsers with moduleResolution bundler, and the libraries of browsers alone', async () => {
    expect(await check('browser.ts', await readExamples('ts browser'), forBrowsers)).toBe('')
  })

  it('fit the examples for Node.js with moduleResolution nodenext, and the types of Node.js alone', async () => {
    expect(await check('node.ts', await readExamples('ts'), forNode)).toBe('')
  })

  it.each([
    ['bundler', forBrowsers],
    ['nodenext', forNode],
  ])('reject wrong parameters, bodies and fields with moduleResolution %s', async (_name, options) => {
    const wrong = `
      import { serviceClient } from '@sluice/client'
      import { schemas } from '@sluice/client/pipeline'
      const client = serviceClient({ baseUrl: 'http://localhost' })
      await client.call(schemas.read)
      await client.call(schemas.create, { body: { name: 1 } })
      const { colour } = await client.call(schemas.read, { params: { uid: 'x' } })
      export { colour }`
    const lines = (await check('wrong.ts', wrong, options)).match(/wrong\.ts\(\d+/g)
    expect([...new Set(lines)]).toEqual(['wrong.ts(5', 'wrong.ts(6', 'wrong.ts(7'])
  })
})

describe('the examples of the README', () => {
  it('run in Node.js with the installed package, one after the other', async () => {
    await writeHealthData(join(project, 'reports.csv'), { rows: 1_000 })
    const program = (await readExamples('ts'))
      .replaceAll('http://localhost:3001', stack.identityUrl)
      .replaceAll('http://localhost:3002', stack.pipelineUrl)
      .replaceAll('the password that the start showed', stack.password)
    await writeFile(join(project, 'examples.ts'), program)
    const stdout = await run(process.execPath, ['examples.ts'])
    expect(stdout).toMatch(/^OK Loaded 1,000 rows /m)
    expect(stdout).toMatch(/^\/name /m)
    expect(stdout).toMatch(/^100 %$/m)
    expect(stdout).toMatch(/^period,region,district/m)
  })
})

describe('a session of the running identity service', () => {
  const password = 'a long password, with words'

  /** Creates a user of the administrator's organisation. */
  async function addUser(): Promise<{ identityUrl: string; username: string; password: string }> {
    const { identityUrl } = stack
    const admin = await signIn({ identityUrl, username: 'admin', password: stack.password })
    const identity = serviceClient({ baseUrl: identityUrl, token: admin.token })
    const { activeClient } = await identity.call(currentSession.read)
    const username = `grace-${Date.now()}`
    const fields = { name: 'Grace', username, email: `${username}@example.org`, ssoAuth: false }
    const { invitationLink } = await identity.call(users.invite, {
      body: { ...fields, startPage: 'DEFAULT', auths: ['ROLE_SEE_SCHEMA'], client: { id: activeClient.id } },
    })
    const token = new URL(invitationLink!).searchParams.get('token')!
    await identity.call(auth.acceptInvitation, { body: { token, password } })
    await admin.signOut()
    return { identityUrl, username, password }
  }

  it('continues with renewed tokens, and ends for all holders of its tokens', async () => {
    const user = await addUser()
    const session = await signIn(user)
    const identity = serviceClient({ baseUrl: user.identityUrl, token: session.token })
    const first = await session.token()
    const renewed = await Promise.all(Array.from({ length: 20 }, () => session.token(first)))
    expect(new Set(renewed).size).toBe(1)
    expect(renewed[0]).not.toBe(first)
    expect((await identity.call(currentSession.read)).user.username).toBe(user.username)

    await session.signOut()
    const withOldToken = serviceClient({ baseUrl: user.identityUrl, token: renewed[0]! })
    await expect(withOldToken.call(currentSession.read)).rejects.toMatchObject({ status: 401, code: 'unauthenticated' })
  })

  it('starts after the code of the second factor, even if the first code was wrong', async () => {
    const user = await addUser()
    const session = await signIn(user)
    const identity = serviceClient({ baseUrl: user.identityUrl, token: session.token })
    const { secret } = await identity.call(account.enrolSecondFactor, { body: { password } })
    const program = join(root, 'infra/docs-tests/one-time-code.mjs')
    const code = await run(process.execPath, [program, secret, '0'])
    const { recoveryCodes } = await identity.call(account.confirmSecondFactor, { body: { code } })
    await session.signOut()

    const required = await signIn(user).catch((error: unknown) => error)
    if (!(required instanceof SecondFactorRequired)) throw required
    expect(required.methods).toEqual(['TOTP', 'RECOVERY_CODE'])
    await expect(required.confirm('000000')).rejects.toMatchObject({ name: 'RemoteProblem', status: 401 })
    const confirmed = await required.confirm(recoveryCodes[0]!)
    const again = serviceClient({ baseUrl: user.identityUrl, token: confirmed.token })
    expect((await again.call(currentSession.read)).user.username).toBe(user.username)
  })

  it('says in a sentence why a password is refused', async () => {
    const { identityUrl } = stack
    const refused = signIn({ identityUrl, username: 'admin', password: 'not the password' })
    await expect(refused).rejects.toMatchObject({ name: 'RemoteProblem', status: 401, errors: [] })
    await expect(refused).rejects.toThrow(/\.$/)
  })
})

/** Returns a policy that allows the page its own scripts and requests to both services, but no eval. */
const contentSecurityPolicy = (pipelineUrl: string) =>
  `default-src 'none'; script-src 'self'; connect-src 'self' ${stack.identityUrl} ${pipelineUrl}; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'`

describeInBrowser('a page of another origin, without eval', () => {
  let browser: Browser
  /** A proxy between the pages and the pipeline service. The tests interrupt it. */
  let gate: Gate

  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: [join(import.meta.dirname, 'browser-page.js')],
      bundle: true,
      format: 'esm',
      platform: 'browser',
      write: false,
    })
    gate = await startGate(Number(new URL(stack.pipelineUrl).port))
    const { identityUrl } = stack
    const pipelineUrl = `http://127.0.0.1:${gate.port}`
    const files: Record<string, [type: string, text: string]> = {
      '/': ['text/html', await readFile(join(import.meta.dirname, 'index.html'), 'utf8')],
      '/page.js': ['text/javascript', outputFiles[0]!.text],
      '/addresses.json': ['application/json', JSON.stringify({ identityUrl, pipelineUrl })],
    }
    site.on('request', ({ url = '' }, response) => {
      const [type, text] = files[url] ?? ['text/plain', '']
      response.writeHead(files[url] ? 200 : 404, {
        'content-type': type,
        'content-security-policy': contentSecurityPolicy(pipelineUrl),
      })
      response.end(text)
    })
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await gate?.shut()
  })

  /** Submits a form. A click could miss the button, because growing lists above the form move it. */
  const submit = (page: Page, form: '#sign-in' | '#load') =>
    page.$eval(form, (element) => (element as unknown as { requestSubmit(): void }).requestSubmit())

  async function addSchemas(names: string[]): Promise<void> {
    const session = await signIn({ identityUrl: stack.identityUrl, username: 'admin', password: stack.password })
    const pipeline = serviceClient({ baseUrl: stack.pipelineUrl, token: session.token })
    for (const name of names) {
      const body = { name, permanent: false, providerSchema: 'SQL_DATABASE_D' as const }
      await pipeline.call(schemas.create, { body })
    }
    await session.signOut()
  }

  it('signs in, lists page by page, uploads with progress, follows the run, and shows the problems', async () => {
    const names = ['a_first', 'a_fourth', 'a_second', 'a_third', 'b_fifth']
    await addSchemas(names)
    const file = join(project, 'facilities.csv')
    await writeHealthData(file, { rows: 40_000 })
    const { page, requests, consoleMessages, close } = await visit(browser, { javaScript: true })
    const texts = (list: string) => page.$$eval(`${list} li`, (all) => all.map(({ textContent }) => textContent))
    const textOf = (selector: string) => page.$eval(selector, ({ textContent }) => textContent)
    const waitForText = (selector: string) => until(async () => (await textOf(selector)) !== '')

    await page.goto(origin)
    await page.type('[name=username]', 'admin')
    await page.type('[name=password]', 'not the password')
    await submit(page, '#sign-in')
    await waitForText('#error')
    expect(await textOf('#error')).toMatch(/password/)

    await page.$eval('[name=password]', (input) => (input.value = ''))
    await page.type('[name=password]', stack.password)
    await submit(page, '#sign-in')
    await page.waitForSelector('#sign-in[aria-busy=false]')
    const found = await texts('#schemas')
    expect(found.filter((name) => names.includes(name))).toEqual(names)
    expect(requests.filter(({ url }) => /\/schemas\?.*after=/.test(url)).length).toBeGreaterThanOrEqual(2)

    const network = { upload: 4 * 1024 * 1024, download: -1, latency: 0 }
    await page.emulateNetworkConditions(network)
    const input = (await page.$('[name=file]')) as ElementHandle<any>
    await input.uploadFile(file)
    await submit(page, '#load')
    await waitForText('#outcome')
    expect(await textOf('#error')).toBe('')
    expect(await textOf('#outcome')).toMatch(/^OK: Loaded 40,000 rows /)
    const { length: size } = await readFile(file)
    const sent = (await texts('#sent')).map((text) => Number(text.split(' ')[0]))
    expect(sent.length).toBeGreaterThan(3)
    expect(sent).toEqual(sent.toSorted((a, b) => a - b))
    expect((await texts('#sent')).at(-1)).toBe(`${size} of ${size}`)
    expect((await texts('#log')).length).toBeGreaterThan(0)

    // The same name again: a conflict that names the field. The session has ended, so the page signs in first.
    await submit(page, '#sign-in')
    await page.waitForSelector('#sign-in[aria-busy=false]')
    await submit(page, '#load')
    await waitForText('#error')
    expect(await textOf('#error')).toMatch(/has this name.* \(\/name\)$/)

    await close()
    // Chromium also reports failed requests. Violations of the policy would be reported too.
    expect(consoleMessages.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([])
  })

  it('continues an upload in the middle of the file after its connection was cut', async () => {
    await addSchemas(['c_sixth'])
    const file = join(project, 'cut.csv')
    await writeHealthData(file, { rows: 40_000 })
    const { page, requests, consoleMessages, close } = await visit(browser, { javaScript: true })
    const textOf = (selector: string) => page.$eval(selector, ({ textContent }) => textContent)
    const sent = async () =>
      (await page.$$eval('#sent li', (all) => all.map(({ textContent }) => textContent))).map((text) =>
        Number.parseInt(text, 10),
      )
    await page.goto(origin)
    await page.type('[name=username]', 'admin')
    await page.type('[name=password]', stack.password)
    await submit(page, '#sign-in')
    await page.waitForSelector('#schemas li')
    await ((await page.$('[name=file]')) as ElementHandle<any>).uploadFile(file)
    await page.$eval('[name=resumable]', (box) => ((box as unknown as { checked: boolean }).checked = true))
    const network = { upload: 1024 * 1024, download: -1, latency: 0 }
    await page.emulateNetworkConditions(network)
    await submit(page, '#load')
    await until(async () => ((await sent()).at(-1) ?? 0) > 500_000 || (await textOf('#error')) !== '')
    expect(await textOf('#error')).toBe('')
    await gate.shut()
    const before = (await sent()).length
    await gate.open()
    await until(async () => `${await textOf('#outcome')}${await textOf('#error')}` !== '')
    expect([await textOf('#error'), await textOf('#outcome')]).toEqual([
      '',
      expect.stringMatching(/^OK: Loaded 40,000 rows /),
    ])

    const { length: size } = await readFile(file)
    expect((await sent())[before]).toBeGreaterThan(0)
    expect((await sent()).at(-1)).toBe(size)
    const [, ...later] = requests
      .filter(({ method, url }) => method !== 'OPTIONS' && /\/(file|uploads)\b/.test(url))
      .map(({ method, url }) => `${method} ${/\/(file|uploads)\b/.exec(url)![1]}`)
    expect(later.filter((sent) => sent === 'PATCH uploads').length).toBeGreaterThanOrEqual(2)
    expect(new Set(later)).toEqual(new Set(['PATCH uploads', 'HEAD uploads', 'GET uploads']))
    expect(await page.evaluate('Object.keys(localStorage).length')).toBe(0)
    await close()
    expect(consoleMessages.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([])
  })

  it('names the setting CORS_ORIGINS when the service does not allow the page', async () => {
    const { page, close } = await visit(browser, { javaScript: true })
    await page.goto(origin.replace('localhost', '127.0.0.1'))
    await page.type('[name=username]', 'admin')
    await page.type('[name=password]', stack.password)
    await submit(page, '#sign-in')
    const error = () => page.$eval('#error', ({ textContent }) => textContent)
    await until(async () => (await error()) !== '')
    expect(await error()).toContain(`add ${origin.replace('localhost', '127.0.0.1')} to its setting CORS_ORIGINS`)
    await close()
  })
})
