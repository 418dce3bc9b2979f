import { afterAll, beforeAll, expect, it } from '@jest/globals'
import * as client from 'openid-client'
import type { Browser } from 'puppeteer-core'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { commandLine } from '../openid-provider/built-in-clients.ts'
import { describeInBrowser, follow, startBrowser, textOf, visit } from './chromium-browser.ts'
import { originOf } from './form-browser.ts'

describeInBrowser('approving a program on another device, without JavaScript', () => {
  let service: Service
  let cli: Awaited<ReturnType<typeof commandLine>>
  let browser: Browser
  beforeAll(async () => {
    service = await startService()
    cli = await commandLine(service)
    browser = await startBrowser({ 'localhost:3001': new URL(originOf(service)).host })
  })
  afterAll(async () => {
    await browser?.close()
    await service.stop()
  })

  const request = () => client.initiateDeviceAuthorization(cli.config, { scope: 'openid ROLE_SEE_VIEW' })
  const poll = (device: client.DeviceAuthorizationResponse) =>
    client.pollDeviceAuthorizationGrant(cli.config, { ...device, interval: 0.1 })
  const someone = async (organisation: string) =>
    service.user({ client: await service.client({ name: organisation }), roles: ['ROLE_SEE_VIEW'] })

  it.each([
    ['a phone', 390],
    ['a desktop computer', 1280],
  ])('enters a wrong code and the right one, confirms, signs in and consents on %s', async (screen, width) => {
    const organisation = `Northwind on ${screen}`
    const { username } = await someone(organisation)
    const device = await request()
    const { page, requests, consoleMessages, close } = await visit(browser, { javaScript: false, width })
    await page.goto(device.verification_uri)
    expect(await page.title()).toBe('Sign in on another device – Sluice')
    await page.type('#user_code', 'BBBB-BBBB')
    await follow(page, 'button')
    expect(await page.title()).toMatch(/^Error: Sign in on another device/)
    await page.type('#user_code', device.user_code.toLowerCase())
    await follow(page, 'button')
    expect(await page.title()).toMatch(/^Did you request this sign-in\?/)
    expect(await textOf(page)).toContain(device.user_code)
    await follow(page, 'button[name=confirm]')
    expect(await textOf(page)).toContain('to continue to Sluice command line')
    await page.type('#username', username)
    await page.type('#password', goodPassword)
    await follow(page, '[name=password] ~ button, form button')
    expect(await page.title()).toBe(`Allow Sluice command line? – ${organisation}`)
    await follow(page, 'button[value=allow]')
    expect(await page.title()).toMatch(/^The sign-in is complete/)
    const { access_token } = await poll(device)
    await service.withToken(access_token).get('/session').expect(200)
    await close()
    // The console only reports responses other than 200, so the Content-Security-Policy blocked nothing.
    expect(consoleMessages.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([])
    expect(requests.filter(({ referer }) => Boolean(referer))).toEqual([])
  })

  it('refuses the sign-in on the page of a link', async () => {
    const device = await request()
    const { page, close } = await visit(browser, { javaScript: false, width: 390, scheme: 'dark' })
    await page.goto(device.verification_uri_complete!)
    expect(await page.$eval('#user_code', ({ value }) => value)).toBe(device.user_code)
    await follow(page, 'button')
    await follow(page, 'button[name=abort]')
    expect(await page.title()).toMatch(/^Nothing was allowed/)
    await expect(poll(device)).rejects.toMatchObject({ error: 'access_denied' })
    await close()
  })

  it('refuses a form that another site sends, with the token of this browser', async () => {
    const device = await request()
    const { page, close } = await visit(browser, { javaScript: false })
    await page.goto(device.verification_uri)
    const xsrf = await page.$eval('[name=xsrf]', (input) => (input as unknown as { value: string }).value)
    const evil = `<form method="post" action="${device.verification_uri}">
      <input name="xsrf" value="${xsrf}"><input name="user_code" value="${device.user_code}">
      <input name="confirm" value="yes"><button>Win</button></form>`
    await page.goto(`data:text/html,${encodeURIComponent(evil)}`)
    await follow(page, 'button')
    expect(await textOf(page)).toContain('This form cannot be sent')
    await close()
  })
})
