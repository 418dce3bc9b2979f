import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Browser } from 'puppeteer-core'
import { startService, type Service } from '../app-under-test.ts'
import { describeInBrowser, follow, startBrowser, textOf, visit } from './chromium-browser.ts'
import { linkFor, originOf, tokenIn } from './form-browser.ts'

const password = 'seven otters fold the map'

describeInBrowser('in a browser without JavaScript', () => {
  let service: Service
  let browser: Browser
  let client: string
  beforeAll(async () => {
    service = await startService()
    client = await service.client({ name: 'Northwind Weather Service' })
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await service.stop()
  })

  it('accepts an invitation after rejected passwords, and signs in with the new password', async () => {
    const { uid, username } = await service.user({ client, status: 'INVITATION' })
    const path = await linkFor(service, uid, 'INVITATION')
    const { page, requests, consoleMessages, close } = await visit(browser, { javaScript: false, width: 390 })
    await page.goto(originOf(service) + path)
    expect(await page.title()).toBe('Welcome – Northwind Weather Service')
    expect(await textOf(page)).toContain('12 to 128 characters')

    await page.type('#password', 'short')
    await follow(page, 'button')
    expect(await page.title()).toMatch(/^Error: /)
    expect(await textOf(page)).toContain('Enter at least 12 characters.')
    expect(await page.$eval('#password', ({ value }) => value)).toBe('')
    expect(page.url()).toBe(`${originOf(service)}/account/invitation`)

    await page.type('#password', password)
    await page.type('#repeat', password)
    await follow(page, 'button')
    expect(page.url()).toBe(`${originOf(service)}/account/invitation-accepted`)
    expect(await textOf(page)).toContain('You can now sign in.')
    expect(await textOf(page)).toContain('Northwind Weather Service')
    await service.signIn(username, password)

    await page.goto(originOf(service) + path)
    expect(await textOf(page)).toContain('This link does not work')
    await close()
    expect(requests.filter(({ referer }) => referer?.includes(tokenIn(path)))).toEqual([])
    expect(requests.filter(({ url }) => url !== 'data:,' && !url.startsWith(originOf(service)))).toEqual([])
    // The console only reports responses other than 200.
    expect(consoleMessages.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([])
  })

  it('accepts an invitation of a user with single sign-on with a click', async () => {
    const { uid } = await service.user({ client, status: 'INVITATION', ssoAuth: true })
    const { page, close } = await visit(browser, { javaScript: false })
    await page.goto(originOf(service) + (await linkFor(service, uid, 'INVITATION')))
    await follow(page, 'button')
    expect(await textOf(page)).toContain('with your organisation’s account')
    await close()
  })

  it('resets a forgotten password, and the old password stops working', async () => {
    const { uid, username } = await service.user({ client })
    const { page, close } = await visit(browser, { javaScript: false, scheme: 'dark', language: 'de' })
    await page.goto(`${originOf(service)}/account/forgot-password`)
    expect(await page.$eval('html', ({ lang }) => lang)).toBe('de')
    await page.type('#username', username)
    await page.keyboard.press('Enter')
    await page.waitForSelector('.mark.success')
    expect(page.url()).toBe(`${originOf(service)}/account/forgot-password-sent`)

    await page.goto(originOf(service) + (await linkFor(service, uid, 'PASSWORD_RESET')))
    await page.type('#password', password)
    await page.type('#repeat', password)
    await follow(page, 'button')
    expect(await textOf(page)).toContain('Ihr Passwort wurde geändert')
    await service.signIn(username, password)
    await service.http.post('/api/v1/auth/login').send({ username, password: 'heron-sifts-41-pebbles' }).expect(401)
    await close()
  })

  it('rejects a form that another site sends', async () => {
    const { uid } = await service.user({ client })
    const path = await linkFor(service, uid, 'PASSWORD_RESET')
    const { page, close } = await visit(browser, { javaScript: false })
    await page.goto(originOf(service) + path)
    const csrf = await page.$eval('[name=csrf]', (input) => (input as unknown as { value: string }).value)
    // Even with this browser's token: a `data:` page is a different site.
    const evil = `<form method="post" action="${originOf(service)}/account/password">
      <input name="csrf" value="${csrf}"><input name="token" value="${tokenIn(path)}">
      <input name="password" value="${password}"><input name="repeat" value="${password}"><button>Win</button></form>`
    await page.goto(`data:text/html,${encodeURIComponent(evil)}`)
    await follow(page, 'button')
    expect(await textOf(page)).toContain('This form cannot be sent')
    await close()
  })
})
