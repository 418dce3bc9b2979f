import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import express from 'express'
import type { Browser } from 'puppeteer-core'
import { supportedLanguages } from '../../src/pages/choose-language.ts'
import { sendPage } from '../../src/pages/send-page.ts'
import { createStylesheetRoutes } from '../../src/pages/stylesheet.ts'
import { describeInBrowser, startBrowser, visit } from './chromium-browser.ts'
import { gallery } from './all-page-states.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** The axe rules for WCAG 2.2 AA and best practices. */
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

// For about a hundred pages on a busy machine.
jest.setTimeout(300_000)

const long = 'Донаудампфшиффахрт'.repeat(14)
const shelves = {
  ...Object.fromEntries(supportedLanguages.map((language) => [language, gallery(language)])),
  'long names': gallery('en', { organisation: long, application: long, user: { name: long, username: long } }),
  'right to left': gallery('en', {
    organisation: 'خدمة الأرصاد الجوية',
    application: 'مخطط',
    user: { name: 'ليلى', username: 'layla' },
  }),
}

describeInBrowser('every page', () => {
  let server: Server
  let browser: Browser
  let origin: string
  beforeAll(async () => {
    const app = express().use(createStylesheetRoutes())
    app.get('/:shelf/:name', (request, response) => {
      const { shelf, name } = request.params
      sendPage(response, 200, (shelves as Record<string, Record<string, string>>)[shelf]![name]!)
    })
    server = await new Promise<Server>((resolve) => {
      const listening: Server = app.listen(0, '127.0.0.1', () => resolve(listening))
    })
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await new Promise((resolve) => server.close(resolve))
  })

  const all = Object.entries(shelves).flatMap(([shelf, pages]) => Object.keys(pages).map((name) => `/${shelf}/${name}`))

  it.each(['light', 'dark'] as const)('has no axe violations: %s', async (scheme) => {
    const tab = await visit(browser, { javaScript: true, scheme, width: 390 })
    const found: string[] = []
    // The markup is the same in all languages.
    for (const path of all.filter((path) => path.startsWith('/en/'))) {
      await tab.page.goto(origin + path)
      await tab.page.evaluate(axe)
      const violations = await tab.page.evaluate(async (values) => {
        const { axe } = globalThis as unknown as { axe: { run(context: object, options: object): Promise<any> } }
        const results = await axe.run((globalThis as any).document, { runOnly: { type: 'tag', values } })
        return results.violations.map((violation: any) => `${violation.id}: ${violation.nodes[0].html}`)
      }, tags)
      found.push(...violations.map((violation: string) => `${path} ${violation}`))
    }
    await tab.close()
    expect(found).toEqual([])
    expect(tab.consoleMessages).toEqual([])
  })

  it('fits a screen of 320 pixels, and loads only itself and its stylesheet', async () => {
    const tab = await visit(browser, { javaScript: true, width: 320 })
    const wide: string[] = []
    for (const path of all) {
      await tab.page.goto(origin + path)
      const width = await tab.page.$eval('html', (html) => html.scrollWidth)
      if (width > 320) wide.push(`${path}: ${width}`)
    }
    await tab.close()
    expect(wide).toEqual([])
    const foreignRequests = tab.requests.filter(
      ({ url, referer }) =>
        Boolean(referer) ||
        !(url === 'data:,' || (/\/account\/style-|\/[a-z-]+$/.test(decodeURI(url)) && url.startsWith(origin))),
    )
    expect(foreignRequests).toEqual([])
  })

  it('has the tab order of the reading order and a visible focus', async () => {
    const tab = await visit(browser, { javaScript: true, width: 390 })
    await tab.page.goto(`${origin}/en/invitation`)
    const focused = () =>
      tab.page.evaluate(() => {
        const element = (globalThis as any).document.activeElement
        const { outlineStyle, outlineWidth } = (globalThis as any).getComputedStyle(element)
        return [element.name || element.type, outlineStyle, outlineWidth]
      })
    const order = []
    for (let tabs = 0; tabs < 4; tabs++) {
      await tab.page.keyboard.press('Tab')
      order.push(await focused())
    }
    await tab.close()
    expect(order).toEqual(['username', 'password', 'repeat', 'submit'].map((name) => [name, 'solid', '3px']))
  })

  it('focuses the error summary, whose links focus the fields', async () => {
    const tab = await visit(browser, { javaScript: true, width: 390 })
    await tab.page.goto(`${origin}/en/reset-failed`)
    // Chromium applies autofocus shortly after the page has loaded.
    await tab.page.waitForFunction(() => (globalThis as any).document.activeElement.className === 'summary')
    await tab.page.keyboard.press('Tab')
    await tab.page.keyboard.press('Enter')
    expect(await tab.page.evaluate(() => (globalThis as any).document.activeElement.id)).toBe('password')
    await tab.close()
  })
})
