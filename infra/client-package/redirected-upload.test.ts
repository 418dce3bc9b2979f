import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { build } from 'esbuild'
import type { Browser } from 'puppeteer-core'
import { describeInBrowser, startBrowser, visit } from '../../apps/identity/test/pages/chromium-browser.ts'
import { root } from '../paths.ts'

const script = `
  import { serviceClient, upload } from '@sluice/client'
  import { dataPipelines } from '@sluice/client/pipeline'
  window.uploadTo = (baseUrl) =>
    upload(serviceClient({ baseUrl, token: 'a-secret-token' }), dataPipelines.upload, {
      params: { uid: 'x' },
      body: new Blob(['a,b']),
      attempts: 1,
    }).then(() => 'accepted', (error) => error.message)`

describeInBrowser('an upload from a page that a redirect leads to another origin', () => {
  let browser: Browser
  let page: Awaited<ReturnType<typeof visit>>
  const servers: Server[] = []
  const receivedRequests: { method: string; authorization: string | undefined }[] = []
  let service: string
  let otherOrigin: string
  let status = 307
  let target = () => `${otherOrigin}/api/v1/any`

  async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
    const server = createServer((request, response) => {
      request.resume().on('end', () => answer(request, response))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    servers.push(server)
    return `http://localhost:${(server.address() as AddressInfo).port}`
  }

  beforeAll(async () => {
    const stdin = { contents: script, resolveDir: join(root, 'infra/client-package'), loader: 'js' as const }
    const { outputFiles } = await build({ stdin, bundle: true, format: 'esm', platform: 'browser', write: false })
    const accepted = '{"accepted":true}'
    // Allows requests of all origins, as a server that collects tokens would.
    otherOrigin = await serve(({ method = '', headers }, response) => {
      if (method !== 'OPTIONS') receivedRequests.push({ method, authorization: headers.authorization })
      response.writeHead(200, {
        'access-control-allow-origin': headers.origin ?? '*',
        'access-control-allow-headers': 'authorization, content-type, accept',
        'access-control-allow-methods': 'POST, PUT',
        'content-type': 'application/json',
      })
      response.end(accepted)
    })
    service = await serve(({ url = '' }, response) => {
      if (url === '/page.js')
        return response.writeHead(200, { 'content-type': 'text/javascript' }).end(outputFiles[0]!.text)
      if (url === '/moved') return response.writeHead(200, { 'content-type': 'application/json' }).end(accepted)
      if (url.startsWith('/api/')) return response.writeHead(status, { location: target() }).end()
      return response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><script type="module" src="/page.js"></script>')
    })
    browser = await startBrowser()
    page = await visit(browser, { javaScript: true })
    await page.page.goto(service)
    await page.page.waitForFunction('"uploadTo" in window')
  })
  afterAll(async () => {
    await browser?.close()
    for (const server of servers) server.close()
  })

  const upload = () => page.page.evaluate(`uploadTo(${JSON.stringify(service)})`)

  it.each([302, 307, 308])('is refused, and does not give the token to another origin: status %d', async (given) => {
    status = given
    expect(await upload()).toMatch(/^The response to POST .* is not one of this version of Sluice: a redirect\.$/)
    expect(receivedRequests).not.toEqual([])
    expect(receivedRequests.every(({ authorization }) => authorization === undefined)).toBe(true)
  })

  it('is refused within the origin, too', async () => {
    target = () => `${service}/moved`
    expect(await upload()).toMatch(/: a redirect\.$/)
  })
})
