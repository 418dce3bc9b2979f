import { existsSync } from 'node:fs'
import { describe } from '@jest/globals'
import puppeteer, { type Browser, type Page } from 'puppeteer-core'

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
)

export const chromiumIsThere = program !== undefined

/** Describes what is seen in a real browser; left out, and saying so, where there is none. */
export const describeInBrowser: (name: string, tests: () => void) => void = program
  ? describe
  : (name, tests) => describe.skip(`${name} (no Chromium here: apt-get install chromium)`, tests)

/**
 * A browser of its own. `elsewhere`: by what it is to reach a public address, such as `localhost:3001` at `127.0.0.1:4711`.
 * As root, and in containers, its sandbox cannot work.
 */
export const startBrowser = (elsewhere: Record<string, string> = {}): Promise<Browser> =>
  puppeteer.launch({
    executablePath: program!,
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--disable-background-networking',
      ...Object.entries(elsewhere).map(([name, at]) => `--host-resolver-rules=MAP ${name} ${at}`),
    ],
  })

interface Visit {
  javaScript: boolean
  scheme?: 'light' | 'dark'
  width?: number
  language?: string
}

/** A tab with cookies of its own, and all that it asked for and complained of. */
export async function visit(browser: Browser, { javaScript, scheme = 'light', width = 1280, language = 'en' }: Visit) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  const asked: { url: string; referer: string | undefined }[] = []
  const complaints: string[] = []
  page.on('request', (request) => asked.push({ url: request.url(), referer: request.headers()['referer'] }))
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.setJavaScriptEnabled(javaScript)
  await page.setExtraHTTPHeaders({ 'accept-language': language })
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
  await page.setViewport({ width, height: 844 })
  return { page, asked, complaints, close: () => context.close() }
}

/** Clicks what leads on, and waits until it has. */
export async function follow(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForNavigation(), page.click(selector)])
}

/** What a reader sees of it. */
export const textOf = async (page: Page): Promise<string> => page.$eval('body', (body) => body.innerText)
