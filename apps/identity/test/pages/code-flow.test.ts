import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Browser } from 'puppeteer-core'
import { goodPassword, startService, type Service } from '../app-under-test.ts'
import { enrolSecondFactor } from '../enrol-second-factor.ts'
import { startApplication } from './relying-party.ts'
import { describeInBrowser, follow, startBrowser, textOf, visit } from './chromium-browser.ts'
import { originOf } from './form-browser.ts'

describeInBrowser('signing in to an application, without JavaScript', () => {
  let service: Service
  let application: Awaited<ReturnType<typeof startApplication>>
  let browser: Browser
  beforeAll(async () => {
    service = await startService()
    application = await startApplication(service)
    browser = await startBrowser({ 'localhost:3001': new URL(originOf(service)).host })
  })
  afterAll(async () => {
    await browser?.close()
    await application.stop()
    await service.stop()
  })

  it('signs in with password and consent, returns to the application, and signs out', async () => {
    const { username } = await application.party.user()
    const { page, requests, consoleMessages, close } = await visit(browser, { javaScript: false, width: 390 })
    await page.goto(`${application.origin}/sign-in`)
    expect(page.url()).toMatch(/^http:\/\/localhost:3001\/interaction\//)
    expect(await page.title()).toMatch(/^Sign in – Acme /)
    expect(await textOf(page)).toContain('to continue to Station Planner')

    await page.type('#username', username)
    await page.type('#password', 'not the password')
    await follow(page, 'button')
    expect(await page.title()).toMatch(/^Error: Sign in – Acme /)
    expect(await page.$eval('#username', ({ value }) => value)).toBe(username)
    expect(await page.$eval('#password', ({ value }) => value)).toBe('')

    await page.type('#password', goodPassword)
    await follow(page, 'button')
    expect(await page.title()).toMatch(/^Allow Station Planner\? – Acme /)
    expect(await textOf(page)).toContain(username)

    await follow(page, 'button[value=allow]')
    expect(new URL(page.url()).origin + new URL(page.url()).pathname).toBe(`${application.origin}/callback`)
    expect(await textOf(page)).toBe(`hello ${username}`)

    // The session still exists, so the page requests no password. It requests consent, because another local program
    // could pose as the application.
    await page.goto(`${application.origin}/sign-in`)
    expect(await textOf(page)).toContain('would like to act on your behalf')
    await follow(page, 'button[value=allow]')
    expect(await textOf(page)).toBe(`hello ${username}`)

    await page.goto(`${application.origin}/sign-out`)
    expect(page.url()).toBe(`${application.origin}/goodbye`)
    await page.goto(`${application.origin}/sign-in`)
    expect(await page.title()).toMatch(/^Sign in/)
    await close()
    // The console only reports responses other than 200, so the Content-Security-Policy blocked nothing.
    expect(consoleMessages.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([])
    expect(requests.filter(({ referer }) => referer?.includes('localhost:3001'))).toEqual([])
  })

  it('requires the code of the second factor or a recovery code', async () => {
    const person = await service.as(['ROLE_SEE_VIEW'], application.party.organisation)
    const { code, recoveryCodes } = await enrolSecondFactor(service, person)
    const { page, close } = await visit(browser, { javaScript: false, width: 390 })
    await page.goto(`${application.origin}/sign-in`)
    await page.type('#username', person.username)
    await page.type('#password', goodPassword)
    await follow(page, 'button')
    expect(await page.title()).toMatch(/^Confirm your identity – Acme /)
    await page.type('#code', '000000')
    await follow(page, 'button')
    expect(await page.title()).toMatch(/^Error: Confirm your identity/)
    await follow(page, '.aside a')
    expect(await textOf(page)).toContain('Recovery code')
    await follow(page, '.aside a')
    await page.type('#code', code())
    await follow(page, 'button')
    await follow(page, 'button[value=allow]')
    expect(await textOf(page)).toBe(`hello ${person.username}`)
    await page.goto(`${application.origin}/sign-out`)

    await page.goto(`${application.origin}/sign-in`)
    await page.type('#username', person.username)
    await page.type('#password', goodPassword)
    await follow(page, 'button')
    await follow(page, '.aside a')
    await page.type('#code', recoveryCodes[0]!)
    await follow(page, 'button')
    await follow(page, 'button[value=allow]')
    expect(await textOf(page)).toBe(`hello ${person.username}`)
    await close()
  })

  it('returns access_denied to the application if the user declines', async () => {
    const { username } = await application.party.user()
    const { page, close } = await visit(browser, { javaScript: false })
    await page.goto(`${application.origin}/sign-in`)
    await page.type('#username', username)
    await page.type('#password', goodPassword)
    await follow(page, 'button')
    await follow(page, 'button[value=deny]')
    expect(await textOf(page)).toBe('refused: access_denied')
    await close()
  })

  it('requires a confirmation for a sign-out without id_token_hint', async () => {
    const { username } = await application.party.user()
    const { page, consoleMessages, close } = await visit(browser, { javaScript: false, scheme: 'dark' })
    await page.goto(`${application.origin}/sign-in`)
    await page.type('#username', username)
    await page.type('#password', goodPassword)
    await follow(page, 'button')
    await follow(page, 'button[value=allow]')
    await page.goto(`${application.origin}/sign-out-and-ask`)
    expect(await textOf(page)).toContain('Station Planner asks whether you want to sign out')
    await follow(page, 'button[name=logout]')
    expect(page.url()).toBe(`${application.origin}/goodbye`)
    await close()
    expect(consoleMessages).toEqual([])
  })

  it('shows a page if the cookies of the sign-in are missing', async () => {
    const { page, close } = await visit(browser, { javaScript: false })
    await page.goto(`${application.origin}/sign-in`)
    const late = page.url()
    await page.deleteCookie(...(await page.cookies()))
    await page.goto(late)
    expect(await page.title()).toMatch(/^This sign-in is no longer valid – /)
    await close()
  })
})
